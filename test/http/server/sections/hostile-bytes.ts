import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize, toRequest } from "../../kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import { RawHttp } from "../../raw-http.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const json = "Content-Type: application/json\r\n";

/** Sends raw bytes and resolves to everything received until the server closes the connection. */
async function exchange(port: number, text: string): Promise<string> {
  const raw = await RawHttp.open(port);
  raw.write(text);
  await raw.closed;
  return raw.received;
}

/** Returns a function that posts a body as a client of the revision does, in a session if there is one. */
async function poster(url: string, revision: "2025-11-25" | string) {
  const session = isStateless(revision as "2026-07-28") ? undefined : await begin(url, "2025-11-25");
  return (body: string) => send(url, { headers: session?.headers ?? toHeaders("tools/list"), body });
}

export const hostileBytes: readonly HttpRequirement[] = [
  {
    row: "T09",
    says: "a repeated header is refused",
    async test() {
      const { url } = await start(createFixture().server);
      for (const name of ["mcp-method", "mcp-name", "mcp-protocol-version"]) {
        const good = toHeaders("tools/call", "echo")[name];
        for (const twice of [
          [good, good],
          [good, "other"],
          ["other", good],
        ]) {
          const answer = await new StatelessPeer(url).call("echo", { text: "hi" }, 1, { [name]: twice as string[] });
          expect([name, answer.status, (await answer.json()).error?.code]).toEqual([name, 400, -32020]);
        }
      }
    },
  },
  {
    row: "T10",
    says: "text of a verifier cannot inject headers or break the answer",
    async test(revision) {
      const why = 'no "quotes"\r\nSet-Cookie: a=b';
      const { url } = await start(createFixture().server, { verify: () => ({ status: 401, why }) });
      const answer = await send(url, { body: toInitialize(revision) });
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([401, undefined]);
      expect((await answer.json()).error?.message).toBe(why);
    },
  },
  {
    row: "T10",
    says: "a challenge with a line break is answered 500 and injects no header",
    async test(revision) {
      const headers = { "www-authenticate": "Bearer\r\nSet-Cookie: a=b" };
      const { url } = await start(createFixture().server, { verify: () => ({ status: 401, why: "no", headers }) });
      const answer = await send(url, { body: toInitialize(revision) });
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([500, undefined]);
    },
  },
  {
    row: "T11",
    says: "two lengths, a length with chunks, and invalid line ends are refused",
    async test() {
      const { port } = await start(createFixture().server);
      const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${json}`;
      for (const lengths of [
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length: 2\nX: y\r\n",
        "Content-Length : 2\r\n",
      ]) {
        expect([lengths, await exchange(port, `${head}${lengths}\r\n{}`)]).toEqual([
          lengths,
          expect.stringMatching(/^HTTP\/1\.1 400/),
        ]);
      }
    },
  },
  {
    row: "T12",
    says: "a body above the limit is refused with 413, with or without a content-length",
    async test(revision) {
      const { url, port } = await start(createFixture().server, { limits: { bodyBytes: 1_000 } });
      const body = JSON.stringify(toInitialize(revision, { experimental: { x: "x".repeat(2_000) } }));
      const answer = await send(url, { headers: plainHeaders, body });
      expect([answer.status, answer.headers.connection]).toEqual([413, expect.stringMatching(/^close/)]);
      expect((await answer.json()).error?.code).toBe(-32600);
      const raw = await RawHttp.open(port);
      raw.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${json}Transfer-Encoding: chunked\r\n\r\n`);
      raw.write(`7d0\r\n${"x".repeat(2_000)}\r\n`);
      expect(await raw.until(/\r\n\r\n.*\}/s)).toMatch(/^HTTP\/1\.1 413/);
      raw.destroy();
      expect((await send(url, { headers: plainHeaders, body: toInitialize("2025-11-25") })).status).toBe(200);
    },
  },
  {
    row: "T12",
    says: "a 413 has exactly one Connection: close header",
    async test(revision) {
      const { url } = await start(createFixture().server, { limits: { bodyBytes: 10 } });
      expect((await send(url, { body: toInitialize(revision) })).headers.connection).toBe("close");
    },
  },
  {
    row: "T13",
    says: "a compressed body is refused with 415",
    async test(revision) {
      const { url } = await start(createFixture().server);
      for (const encoding of ["gzip", "br", "deflate", "identity, gzip", "GZIP"]) {
        const headers = { ...plainHeaders, "content-encoding": encoding };
        expect((await send(url, { headers, body: toInitialize(revision) })).status).toBe(415);
      }
      const headers = { ...plainHeaders, "content-encoding": "identity" };
      expect((await send(url, { headers, body: toInitialize("2025-11-25") })).status).toBe(200);
    },
  },
  {
    row: "T14",
    says: "ids that are neither strings nor safe integers are refused",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const post = await poster(url, revision);
      for (const id of ["1.5", "9007199254740993", "1e400", "null", "true", "{}", "[1]"]) {
        const params = JSON.stringify({ _meta: toMeta() });
        const answer = await post(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`);
        expect([id, answer.status]).toEqual([id, 400]);
        const { error, ...rest } = await answer.json();
        expect([id, error?.code, "id" in rest]).toEqual([id, -32600, false]);
      }
    },
  },
  {
    row: "T14",
    says: "deeply nested JSON is answered, and the server continues",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const deep = "[".repeat(100_000) + "]".repeat(100_000);
      const params = `{"name":"echo","arguments":{"text":${deep}},"_meta":${JSON.stringify(toMeta())}}`;
      const body = `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${params}}`;
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/call", "echo");
      const answer = await send(url, { headers, body });
      expect((await answer.json()).id).toBe("deep");
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "T15",
    says: "headers and bodies that do not arrive are answered 408",
    async test() {
      const { port } = await start(createFixture().server, { limits: { headersMs: 50, bodyMs: 50 } });
      expect(await exchange(port, "POST /mcp HTTP/1.1\r\nHost: local")).toMatch(/^HTTP\/1\.1 408/);
      const slow = `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: 100\r\n\r\n{"json`;
      expect(await exchange(port, slow)).toMatch(/^HTTP\/1\.1 408/);
    },
  },
  {
    row: "T20",
    says: "errors of handlers and verifiers are reported and not revealed to the client",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await open(url, revision);
      expect(await (await peer.call("fail")).text()).not.toContain("hunter2");
      expect(fixture.reported.join()).toContain("hunter2");
      const verify = () => {
        throw new Error("database at 10.0.0.1 is down");
      };
      const broken = await start(fixture.server, { verify });
      const answer = await send(broken.url, { body: toInitialize(revision) });
      expect([answer.status, answer.headers["content-type"]]).toEqual([500, "application/json"]);
      const { error } = await answer.json();
      expect([error?.code, error?.message.includes("10.0.0.1")]).toEqual([-32603, false]);
      expect(fixture.reported.join()).toContain("10.0.0.1");
    },
  },
  {
    row: "T20",
    says: "every refusal is JSON, also at unknown paths",
    async test(revision) {
      const { url } = await start(createFixture().server, { verify: byUser });
      for (const path of ["/", "/mcp/", "/mcp/x", "/%2e%2e/etc", "//mcp"]) {
        const answer = await send(new URL(url).origin + path, { body: toInitialize(revision) });
        expect([path, answer.status, answer.headers["content-type"]]).toEqual([path, 404, "application/json"]);
        expect((await answer.json()).error?.code).toEqual(expect.any(Number));
      }
    },
  },
  {
    row: "T21",
    says: "no body crashes the server",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      const headers = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list");
      const odd = [
        "",
        " ",
        "null",
        "1",
        '"x"',
        "[]",
        "[1]",
        "[[]]",
        "{}",
        "{",
        "\ufeff{}",
        '{"jsonrpc":"1.0","id":1,"method":"x"}',
      ];
      const more = ['{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","method":""}'];
      for (const body of [...odd, ...more]) {
        const { status } = await send(url, { headers, body });
        expect([body, status === 202 || (status >= 400 && status < 500)]).toEqual([body, true]);
      }
      const bytes = await send(url, { headers, body: Buffer.from([0x22, 0xff, 0xfe, 0x22]) });
      expect([400, 413]).toContain(bytes.status);
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "T24",
    says: "member names are case-sensitive",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const post = await poster(url, revision);
      for (const body of [
        '{"jsonrpc":"2.0","id":1,"METHOD":"tools/list"}',
        '{"JSONRPC":"2.0","id":1,"method":"tools/list"}',
      ]) {
        expect((await post(body)).status).toBe(400);
      }
    },
  },
  {
    row: "T25",
    says: "names of Object.prototype are unknown tools, and such arguments do not pollute objects",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await open(url, revision);
      for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
        expect((await (await peer.call(name)).json()).error?.code).toBe(-32602);
      }
      const args = JSON.parse('{"__proto__":{"polluted":true},"text":"hi"}') as JsonObject;
      expect(textOf(await (await peer.call("echo", args)).json())).toBe("hi");
      expect("polluted" in {}).toBe(false);
    },
  },
  {
    row: "T27",
    says: "a batch of more than 100 members is refused as a whole",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const batch = (size: number) => Array.from({ length: size }, (_, id) => toRequest("ping", {}, id));
      expect((await peer.post(batch(100))).status).toBe(200);
      const answer = await peer.post(batch(101));
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600]);
    },
  },
];
