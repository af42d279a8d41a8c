import { oauth } from "portolan/auth/client";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { Person } from "./kit/person.ts";
import { reasonOf, Site } from "./kit/site.ts";
import { connectTo, startWorld, textOf } from "./kit/world.ts";

describe("T40: a URL that a server names", () => {
  test.each([
    "http://169.254.169.254",
    "http://10.0.0.1",
    "https://192.168.1.1",
    "https://metadata.google.internal",
    "https://[fd00::1]",
    "https://[::ffff:10.0.0.1]",
    "http://auth.example.com",
    "ftp://auth.example.com",
    "file:///etc/passwd",
    "https://user:secret@auth.example.com",
  ])("is not fetched as authorization server when it is %s", async (issuer) => {
    const { server, person, connect } = await startWorld();
    server.site.instead.set(server.metadataPath, () => ({
      body: { resource: server.resource, authorization_servers: [issuer] },
    }));
    const reason = await reasonOf(connect());
    expect([reason.code, reason.message]).toEqual(["address-refused", expect.stringMatching(/is refused|credentials/)]);
    expect(reason.message).not.toContain("secret@");
    expect(person.visits).toEqual([]);
  });

  test.each([
    ["registration_endpoint", "http://10.0.0.1/register"],
    ["token_endpoint", "http://auth.example.com/token"],
    ["token_endpoint", "https://10.0.0.1/token"],
  ])("is not fetched as %s when it is %s", async (member, address) => {
    const { authority, connect } = await startWorld();
    authority.metadata[member] = address;
    expect((await reasonOf(connect())).code).toBe("address-refused");
    expect(authority.asked("token")).toEqual([]);
  });

  test("may not be on this machine if the server is not", async () => {
    const { authority, server, person } = await startWorld();
    const address = "https://mcp.example.com/mcp";
    const reached: string[] = [];
    // The public name of the server leads to this machine; URLs that it names go where they say.
    const fetchIt = (async (url: string | URL, init?: RequestInit) => {
      const { origin, pathname } = new URL(url);
      reached.push(origin);
      return fetch(`${server.origin}${pathname}`, init);
    }) as typeof fetch;
    const body = { resource: address, authorization_servers: [authority.issuer] };
    server.site.instead.set(server.metadataPath, () => ({ body }));
    server.site.instead.set("/mcp", () => ({ status: 401, headers: { "www-authenticate": "Bearer" } }));
    const auth = oauth({ redirect: person, policy: { fetch: fetchIt } });
    const reason = await reasonOf(connect(http(address, { auth, fetch: fetchIt }), { era: "stateless" }));
    expect([reason.code, reason.message]).toEqual([
      "address-refused",
      expect.stringContaining("http is allowed only for"),
    ]);
    expect(new Set(reached)).toEqual(new Set(["https://mcp.example.com"]));
    expect(authority.site.asked).toEqual([]);
  });
});

describe("T41: a sign-in page", () => {
  test.each([
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///bin/sh",
    "vscode://evil",
    "http://auth.example.com/authorize",
    "https://user:pass@auth.example.com/authorize",
    "https://10.0.0.1/authorize",
  ])("is not opened when its URL is %s", async (address) => {
    const { authority, person, connect } = await startWorld();
    authority.metadata["authorization_endpoint"] = address;
    const reason = await reasonOf(connect());
    expect(reason.code).toBe("address-refused");
    expect([person.visits, person.open]).toEqual([[], 0]);
  });

  test("is opened with its own query, which cannot replace our parameters", async () => {
    const { authority, person, connect } = await startWorld();
    authority.metadata["authorization_endpoint"] =
      `${authority.issuer}/authorize?tenant=1&state=evil&redirect_uri=evil`;
    await connect();
    const query = person.visits[0]!.searchParams;
    expect(query.get("tenant")).toBe("1");
    expect([query.getAll("state").length, query.getAll("redirect_uri")]).toEqual([1, [person.redirectUri]]);
    expect(query.get("state")).not.toBe("evil");
  });
});

describe("T43: a mix-up attack", () => {
  test("with an honest page and a dishonest token endpoint fails by the issuer", async () => {
    const honest = await TestAuthority.start();
    honest.clients.set("client-1", { redirectUris: [] });
    const { authority: evil, connect } = await startWorld();
    evil.metadata["authorization_endpoint"] = `${honest.issuer}/authorize`;
    const reason = await reasonOf(connect());
    expect(reason.message).toContain(`Sign-in at ${evil.issuer} failed`);
    expect(honest.asked("authorize")).toHaveLength(1);
    expect(evil.asked("token")).toEqual([]);
  });
});

describe("T45: a token", () => {
  const watched = { "x-api-key": "custom-secret" };

  test.each([301, 302, 303, 307, 308])(
    "does not follow a %i to another origin, and neither do headers of the user",
    async (status) => {
      const elsewhere = await Site.start();
      const { server, auth } = await startWorld();
      const client = await connectTo(server.url, "stateless", { auth, headers: watched });
      server.site.instead.set("/mcp", () => ({ status, headers: { location: `${elsewhere.origin}/mcp` } }));
      const reason = await reasonOf(client.callTool("whoami"));
      expect(reason.message).toContain(`a redirect to ${elsewhere.origin}/mcp that is not followed`);
      expect(elsewhere.asked).toEqual([]);
    },
  );

  test.each([307, 308])("follows a %i within its origin", async (status) => {
    const { server, auth } = await startWorld();
    const client = await connectTo(server.url, "stateless", { auth });
    const { serve } = server.site;
    server.site.instead.set("/mcp", () => ({ status, headers: { location: "/mcp/" } }));
    server.site.serve = (asked, request, response) => {
      if (asked.path === "/mcp/") request.url = "/mcp";
      serve(asked, request, response);
    };
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect(server.site.askedFor("/mcp/")[0]?.headers.authorization).toMatch(/^Bearer /);
  });

  test("is not sent to the message endpoint of an HTTP+SSE server on another origin", async () => {
    const elsewhere = await Site.start();
    const { server, auth } = await startWorld({ way: "HTTP+SSE" });
    const { serve } = server.site;
    server.site.serve = (asked, request, response) => {
      if (asked.path !== "/sse" || !asked.headers.authorization) return serve(asked, request, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${elsewhere.origin}/messages\n\n`);
    };
    const reason = await reasonOf(connectTo(server.url, "HTTP+SSE", { auth, headers: watched }));
    expect(reason.message).toContain(`${elsewhere.origin}/messages, which has another origin`);
    expect(elsewhere.asked).toEqual([]);
  });

  test("and a code are not sent on when a token endpoint redirects", async () => {
    const elsewhere = await Site.start();
    const { authority, connect } = await startWorld();
    authority.answer("token", { status: 307, headers: { location: `${elsewhere.origin}/token` } });
    expect((await reasonOf(connect())).message).toContain("redirects a POST");
    expect(elsewhere.asked).toEqual([]);
  });

  test("of one server is not sent to another one with the same authority, nor in a URL", async () => {
    const { server, authority, connect } = await startWorld();
    const client = await connect();
    await client.callTool("whoami");
    const [token = ""] = authority.accessTokens;
    const addresses = [...server.site.asked, ...authority.site.asked].map(({ path, query }) => `${path}?${query}`);
    expect(addresses.join("\n")).not.toContain(token);
  });
});

describe("T48: a login", () => {
  test("has a new state of 256 random bits each time", async () => {
    const states = new Set<string>();
    const world = await startWorld();
    for (let times = 0; times < 5; times += 1) {
      const person = new Person();
      await oauth({ redirect: person }).login(world.server.url);
      states.add(person.visits[0]!.searchParams.get("state") ?? "");
    }
    expect(states.size).toBe(5);
    for (const state of states) expect(Buffer.from(state, "base64url").length).toBeGreaterThanOrEqual(32);
  });
});

test("texts of other parties are shown on one line, short, and without control characters", async () => {
  const { authority, connect } = await startWorld();
  const description = `first\r\n\u001b[31msecond\u202e${"x".repeat(5_000)}`;
  authority.answer("token", { status: 400, body: { error: "invalid_grant", error_description: description } });
  const { message } = await reasonOf(connect());
  expect(message).toContain("invalid_grant: first");
  for (const bad of ["\r", "\n", "\u001b", "\u202e"]) expect(message).not.toContain(bad);
  expect(message.length).toBeLessThan(500);
});

test("a token that cannot be a header value is not sent", async () => {
  const { authority, server, connect } = await startWorld();
  const body = { access_token: "x\r\nX-Injected: yes", token_type: "Bearer", expires_in: 60 };
  authority.answer("token", { body });
  const reason = await reasonOf(connect());
  expect(reason.message).toContain("issued a token that cannot be sent in a header");
  expect(reason.message).not.toContain("X-Injected");
  expect(server.site.asked.some(({ headers }) => "x-injected" in headers)).toBe(false);
});
