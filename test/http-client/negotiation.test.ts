import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { answerHandshake, closing, discovery, reasonOf, resultOf, sendJson, startRaw, textOf } from "./kit.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("negotiates with a stateless server in one request", async () => {
  const server = await startRaw(({ message }, response) => sendJson(response, 200, resultOf(message, discovery())));
  const client = closing(await connect(server.url));
  expect(client.server).toMatchObject({ era: "stateless", version: "2026-07-28" });
  expect(server.seen.map(({ message }) => message.method)).toEqual(["server/discover"]);
});

describe.each(["auto", "stateless", "2026-07-28"])(
  "era %s: a refusal of a version that the server lists as supported",
  (era) => {
    const refuse = (id: unknown) => ({
      jsonrpc: "2.0",
      id,
      error: { code: -32022, message: "no", data: { supported: ["2026-07-28"], requested: "2026-07-28" } },
    });

    test("leads to one retry", async () => {
      const server = await startRaw(({ message }, response) => {
        if (server.seen.length === 1) sendJson(response, 400, refuse(message.id));
        else sendJson(response, 200, resultOf(message, discovery()));
      });
      const client = closing(await connect(server.url, { era }));
      expect(client.server).toMatchObject({ era: "stateless", version: "2026-07-28" });
      expect(server.seen).toHaveLength(2);
    });

    test("rejects when it comes again", async () => {
      const server = await startRaw(({ message }, response) => sendJson(response, 400, refuse(message.id)));
      expect(await reasonOf(connect(server.url, { era }))).toMatchObject({ code: "version-mismatch" });
      expect(server.seen).toHaveLength(2);
    });
  },
);

describe.each([400, 404, 405, 406, 415])("%i to the probe", (status) => {
  test.each([
    ["no body", ""],
    ["a page", "<h1>Not here</h1>"],
    ["JSON that is not JSON-RPC", '{"detail":"Not Found"}'],
  ])("with %s leads to the handshake", async (_, body) => {
    const server = await startRaw((seen, response) => {
      if (seen.message?.method === "server/discover") response.writeHead(status).end(body);
      else if (!answerHandshake(seen, response))
        sendJson(response, 200, resultOf(seen.message, { content: [{ type: "text", text: "hi" }] }));
    });
    const client = closing(await connect(server.url));
    expect(client.server).toMatchObject({ era: "stateful", version: "2025-11-25", info: { name: "raw" } });
    expect(textOf(await client.callTool("x"))).toBe("hi");
    const [, greeting, ...others] = server.seen;
    for (const name of ["mcp-protocol-version", "mcp-method"]) expect(greeting!.headers).not.toHaveProperty(name);
    for (const { headers } of others) expect(headers["mcp-protocol-version"]).toBe("2025-11-25");
  });
});

test.each([401, 403])("%i to the probe rejects without a handshake", async (status) => {
  const server = await startRaw((_, response) => response.writeHead(status).end());
  expect(await reasonOf(connect(server.url))).toMatchObject({ code: "unauthorized", status });
  expect(server.seen).toHaveLength(1);
});

test.each([408, 413, 429, 500, 502, 503, 504])("%i to the probe rejects without a handshake", async (status) => {
  const server = await startRaw((_, response) => response.writeHead(status).end("busy"));
  const reason = await reasonOf(connect(server.url));
  expect(reason).toMatchObject({ code: "http-status", status });
  expect(reason.message).toContain(`POST ${server.url} answered ${status}`);
  expect(server.seen).toHaveLength(1);
});

test("a server that does not answer rejects with a timeout, without a handshake", async () => {
  const server = await startRaw(() => {});
  const reason = await reasonOf(connect(server.url, { connectMs: 300, probeMs: 50 }));
  expect(reason).toMatchObject({ code: "timeout" });
  expect(server.seen).toHaveLength(1);
});

test("a refused connection rejects without a handshake", async () => {
  const server = await startRaw(() => {});
  await server.stop();
  expect((await reasonOf(connect(server.url))).message).toContain(`POST ${server.url} failed`);
});

test("era stateless prevents a handshake", async () => {
  const server = await startRaw((_, response) => response.writeHead(404).end());
  await reasonOf(connect(server.url, { era: "stateless" }));
  expect(server.seen).toHaveLength(1);
});

test("in a browser a failed probe leads to the handshake, because CORS may hide a refusal", async () => {
  vi.stubGlobal("document", {});
  const server = await startRaw((seen, response) => answerHandshake(seen, response));
  const browserFetch: typeof fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    if (headers.has("mcp-method")) throw new TypeError("Failed to fetch");
    return fetch(input, init);
  };
  const client = closing(await connect(http(server.url, { fetch: browserFetch })));
  expect(client.server.era).toBe("stateful");
});

test("the error of an unusable server names everything that was tried", async () => {
  const server = await startRaw((_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("Nope"));
  const { message } = await reasonOf(connect(server.url));
  expect(message).toBe(
    `POST ${server.url} answered 404: Nope; the server does not support HTTP+SSE either: GET ${server.url} answered 404: Nope`,
  );
  expect(server.seen.map(({ method }) => method)).toEqual(["POST", "POST", "GET"]);
});

test.each([true, false])(
  "a wrong path that is answered with a JSON-RPC error is named, legacySse: %s",
  async (isAuto) => {
    const body = { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "Not found" } };
    const server = await startRaw((_, response) => sendJson(response, 404, body));
    const reason = await reasonOf(connect(http(server.url, { legacySse: isAuto ? "auto" : false })));
    expect(reason).toMatchObject({ code: "http-status" });
    expect(reason.message).toContain(`POST ${server.url} answered 404: Not found`);
  },
);

test("a 403 with an explanation shows it and is no demand for a login", async () => {
  const server = await startRaw((_, response) => {
    response.writeHead(403, { "content-type": "text/plain" }).end("Host not allowed: evil.example");
  });
  const reason = await reasonOf(connect(server.url));
  expect(reason).toMatchObject({ code: "http-status", status: 403 });
  expect(reason.message).toBe(`POST ${server.url} answered 403: Host not allowed: evil.example`);
});

test.each([
  ["ftp://127.0.0.1/", "an http or https address"],
  ["not an address", "an http or https address"],
  ["http://user:secret@127.0.0.1/", "without user name and password"],
])("rejects the address %s", async (address, why) => {
  const reason = await reasonOf(connect(address));
  expect(reason).toMatchObject({ code: "invalid-argument" });
  expect(reason.message).toContain(why);
  expect(reason.message).not.toContain("secret");
});
