import { oauth } from "portolan/auth/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { comeBack, comeBackWith, deny } from "./kit/person.ts";
import { hour, reasonOf, Site } from "./kit/site.ts";
import { connectTo, startWorld, textOf, type WorldOptions, ways } from "./kit/world.ts";

test.each(ways)("a person signs in when a server of %s asks, once for all calls", async (way) => {
  const { authority, person, events, connect } = await startWorld({ way });
  const client = await connect();
  expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
  await client.callTool("whoami");
  expect(person.visits).toHaveLength(1);
  expect(person.open).toBe(0);
  expect(authority.asked("token")).toHaveLength(1);
  expect(events.map(({ kind }) => kind)).toEqual(["registered", "visiting", "signed-in"]);
});

test("login() signs in before the first call, with the scopes of the server", async () => {
  const { auth, server, person, connect } = await startWorld({ protect: { scopes: ["read"] } });
  await auth.login(server.url);
  expect(person.visits.map((page) => page.searchParams.get("scope"))).toEqual(["read"]);
  await connect();
  expect(person.visits).toHaveLength(1);
});

test.each(ways)(
  "a server of %s that needs no token gets none, even if there is one for another server",
  async (way) => {
    const { auth, person, authority, connect } = await startWorld({ way });
    await connect();
    const definition = createServer({ name: "open", version: "1" }).tool("hello", { run: () => "hello" });
    const serving = serveHttp(definition, { httpSse: true });
    onTestFinished(() => serving.close(0));
    const site = await Site.start(false);
    site.serve = (_, request, response) => serving.node(request, response);
    const url = `${site.origin}${way === "HTTP+SSE" ? "/sse" : "/mcp"}`;
    const client = await connectTo(url, way, { auth });
    expect(textOf(await client.callTool("hello"))).toBe("hello");
    expect(site.asked.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
    expect(site.asked.filter(({ path }) => path.startsWith("/.well-known"))).toEqual([]);
    expect([person.visits.length, authority.asked("token").length]).toEqual([1, 1]);
  },
);

test("T46: the resource is in the authorization request, the token request and the renewal", async () => {
  const { authority, server, clock, connect } = await startWorld();
  const client = await connect();
  clock.pass(2 * hour);
  await client.callTool("whoami");
  expect(authority.asked("authorize").map(({ query }) => query.get("resource"))).toEqual([server.resource]);
  expect(authority.asked("token").map(({ form }) => [form.get("grant_type"), form.get("resource")])).toEqual([
    ["authorization_code", server.resource],
    ["refresh_token", server.resource],
  ]);
});

describe("PKCE", () => {
  test("T42: uses S256, with another verifier for every login", async () => {
    const one = await startWorld();
    await one.connect();
    const two = await startWorld();
    await two.connect();
    const queries = [one, two].map(({ person }) => person.visits[0]!.searchParams);
    expect(queries.map((query) => query.get("code_challenge_method"))).toEqual(["S256", "S256"]);
    expect(new Set(queries.map((query) => query.get("code_challenge"))).size).toBe(2);
    const [form] = one.authority.grants("authorization_code");
    expect(form?.get("code_verifier")).toMatch(/^[\w.~-]{43,128}$/);
  });

  test.each<[string, unknown]>([
    ["does not mention it", undefined],
    ["supports only plain", ["plain"]],
    ["supports no method", []],
  ])("T42: refuses an authorization server that %s", async (_, methods) => {
    const { authority, person, connect } = await startWorld();
    authority.metadata["code_challenge_methods_supported"] = methods;
    const reason = await reasonOf(connect());
    expect([reason.code, reason.message]).toEqual(["unauthorized", expect.stringContaining("pkceAssumedFor")]);
    expect([person.visits, authority.asked("register")]).toEqual([[], []]);
  });

  test("may be assumed for an issuer, unless the issuer denies it", async () => {
    const vouched = async (methods: unknown) => {
      const world = await startWorld();
      world.authority.metadata["code_challenge_methods_supported"] = methods;
      const auth = oauth({ redirect: world.person, pkceAssumedFor: [world.authority.issuer] });
      return world.connect({}, { auth });
    };
    await vouched(undefined);
    expect((await reasonOf(vouched(["plain"]))).message).toContain("PKCE");
  });
});

describe("the callback of a login", () => {
  test.each<[string, Parameters<typeof comeBackWith>[0]]>([
    ["names another issuer", (answer) => answer.set("iss", "https://evil.example.com")],
    ["names the issuer with a slash", (answer) => answer.set("iss", `${answer.get("iss")}/`)],
    ["names no issuer where one is promised", (answer) => answer.delete("iss")],
    ["names two issuers", (answer) => answer.append("iss", answer.get("iss") ?? "")],
    ["has another state", (answer) => answer.set("state", "another")],
    ["has no state", (answer) => answer.delete("state")],
    ["has no code", (answer) => answer.delete("code")],
    ["comes to another path", (_, callback) => Object.assign(callback, { pathname: "/other" })],
    ["comes to another port", (_, callback) => Object.assign(callback, { port: "3001" })],
  ])("T43, T48: is refused when it %s, and its code is not used", async (_, change) => {
    const { authority, person, connect } = await startWorld();
    person.does = comeBackWith(change);
    const reason = await reasonOf(connect());
    expect([reason.code, reason.message]).toEqual(["unauthorized", expect.stringMatching(/Sign-in at \S+ failed/)]);
    expect(authority.asked("token")).toEqual([]);
    expect(person.visits).toHaveLength(1);
    expect(person.open).toBe(0);
  });

  test("T43: has its issuer checked even if it is an error", async () => {
    const { person, connect } = await startWorld();
    person.does = comeBackWith((answer) => {
      answer.delete("code");
      answer.set("error", "access_denied");
      answer.set("error_description", "call 555-EVIL");
      answer.set("iss", "https://evil.example.com");
    });
    const reason = await reasonOf(connect());
    expect(reason.message).not.toContain("555-EVIL");
    expect(reason.error).toBeUndefined();
  });

  test("needs no issuer where none is promised, but a wrong one is refused", async () => {
    const { authority, person, connect } = await startWorld();
    delete authority.metadata["authorization_response_iss_parameter_supported"];
    person.does = comeBackWith((answer) => answer.set("iss", "https://evil.example.com"));
    await reasonOf(connect());
    expect(authority.asked("token")).toEqual([]);
    person.does = comeBackWith((answer) => answer.delete("iss"));
    await connect();
  });

  test.each(ways)("may be a denial, which a client of %s reports without asking again", async (way) => {
    const { person, authority, server, connect } = await startWorld({ way });
    person.does = deny;
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("access_denied");
    expect(reason.code).toBe("unauthorized");
    expect(person.visits).toHaveLength(1);
    expect([authority.asked("token"), authority.asked("register").length]).toEqual([[], 1]);
    expect(server.site.asked.length).toBeLessThanOrEqual(3);
    person.does = comeBack;
    await connect();
    expect(authority.asked("register")).toHaveLength(1);
  });

  test("may be a denial, which a client that detects the era gets once", async () => {
    const { person, authority, server, connect } = await startWorld();
    person.does = deny;
    const reason = await reasonOf(connect({ era: "auto" }));
    expect([reason.code, reason.message]).toEqual(["unauthorized", expect.stringContaining("access_denied")]);
    expect([person.visits.length, server.site.askedFor("/mcp").length]).toEqual([1, 1]);
    expect(authority.asked("token")).toEqual([]);
  });
});

describe("scopes", () => {
  const asked = async (options: WorldOptions, metadata: object = {}) => {
    const world = await startWorld(options);
    Object.assign(world.authority.metadata, metadata);
    await world.connect();
    return world.authority.asked("authorize")[0]?.query.get("scope");
  };

  test("are those of the challenge", async () => {
    expect(await asked({ protect: { scopes: ["read"], about: { scopes_supported: ["read", "more"] } } })).toBe("read");
  });

  test("are those of the server's metadata if the challenge names none", async () => {
    const world = await startWorld();
    const { server, authority } = world;
    server.site.instead.set(server.metadataPath, () => ({
      body: { resource: server.resource, authorization_servers: [authority.issuer], scopes_supported: ["a", "b"] },
    }));
    await world.connect();
    expect(authority.asked("authorize")[0]?.query.get("scope")).toBe("a b");
  });

  test("are left out if none are named", async () => {
    expect(await asked({}, { scopes_supported: ["read", "write"] })).toBeNull();
  });

  test("include those of the program", async () => {
    expect(await asked({ protect: { scopes: ["read"] }, oauth: { scopes: ["profile"] } })).toBe("read profile");
  });

  test("include offline_access and ask for consent if the authorization server has that scope", async () => {
    const world = await startWorld({ protect: { scopes: ["read"] } });
    world.authority.metadata["scopes_supported"] = ["read", "offline_access"];
    await world.connect();
    const query = world.authority.asked("authorize")[0]?.query;
    expect([query?.get("scope"), query?.get("prompt")]).toEqual(["read offline_access", "consent"]);
  });

  test("do not include offline_access if only the server lists it, or the program does not want it", async () => {
    expect(await asked({ protect: { scopes: ["read"], about: { scopes_supported: ["offline_access"] } } })).toBe(
      "read",
    );
    const offered = { scopes_supported: ["offline_access"] };
    expect(await asked({ protect: { scopes: ["read"] }, oauth: { offline: false } }, offered)).toBe("read");
  });
});
