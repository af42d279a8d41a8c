import { describe, expect, test, vi } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { send, start, toRequest } from "../http/kit.ts";
import { StatelessPeer, toHeaders, toMeta } from "../http/peer.ts";
import { RawHttp } from "../http/raw-http.ts";

const call = { name: "hold", arguments: { key: "a" }, _meta: toMeta() };
const body = JSON.stringify(toRequest("tools/call", call));
const head = Object.entries(toHeaders("tools/call", "hold"))
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");
const opening = `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${head}`;

/** Starts a server and connects to it. */
async function startAndConnect(limits = {}) {
  const fixture = createFixture();
  const { url, port } = await start(fixture.server, { limits });
  const isAlive = async () => (await new StatelessPeer(url).textOf("echo", { text: "alive" })) === "alive";
  return { fixture, raw: await RawHttp.open(port), isAlive };
}

/** Sends text byte by byte, repeatedly, until the server answers or closes. */
async function drip(raw: RawHttp, text: string): Promise<void> {
  let isOver = false;
  raw.closed.then(() => {
    isOver = true;
  });
  for (let at = 0; !isOver && !raw.received.includes("\r\n\r\n"); at += 1) {
    raw.write(text[at % text.length] ?? "");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a body", () => {
  test("without a length is read completely, even in chunks of one byte", async () => {
    const { fixture, raw } = await startAndConnect();
    raw.write(`${opening}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of Buffer.from(body)) raw.write("1\r\n", Uint8Array.of(byte), "\r\n");
    raw.write("0\r\n\r\n");
    await fixture.noted("holding a");
    fixture.release("a");
    expect(await raw.until(/released a/)).toMatch(/^HTTP\/1\.1 200/);
    raw.destroy();
  });

  test("without a length that does not end is answered 408 and calls no tool", async () => {
    const { fixture, raw, isAlive } = await startAndConnect({ bodyMs: 100 });
    raw.write(`${opening}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("that is shorter than its length is answered 408 and calls no tool", async () => {
    const { fixture, raw, isAlive } = await startAndConnect({ bodyMs: 100 });
    raw.write(`${opening}Content-Length: ${body.length + 1}\r\n\r\n${body}`);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("whose client disconnects before its end calls no tool", async () => {
    const { fixture, raw, isAlive } = await startAndConnect();
    raw.write(`${opening}Content-Length: ${body.length + 1}\r\n\r\n${body}`);
    raw.socket.end();
    await raw.closed;
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("that is longer than its length is cut at its length, and the rest is refused", async () => {
    const { fixture, raw, isAlive } = await startAndConnect();
    raw.write(`${opening}Content-Length: ${body.length - 1}\r\n\r\n${body}`);
    await raw.closed;
    const statuses = [...raw.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(new Set(statuses)).toEqual(new Set(["400"]));
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test.each(["-1", "1e3", "0x10", "99999999999999999999999", "+5", "5,5"])(
    "whose length is %s is refused",
    async (length) => {
      const { fixture, raw, isAlive } = await startAndConnect();
      raw.write(`${opening}Content-Length: ${length}\r\n\r\n${body}`);
      await raw.closed;
      expect(raw.received).toMatch(/^HTTP\/1\.1 4\d\d/);
      expect([await isAlive(), fixture.journal]).toEqual([true, []]);
    },
  );

  test("that arrives byte by byte is answered 408 in time", async () => {
    const { fixture, raw, isAlive } = await startAndConnect({ bodyMs: 100 });
    raw.write(`${opening}Content-Length: 4000000\r\n\r\n`);
    await drip(raw, body);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });
});

describe("headers", () => {
  test("that arrive byte by byte are answered 408 or 431 in time", async () => {
    const { raw, isAlive } = await startAndConnect({ headersMs: 100 });
    raw.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    await drip(raw, "X-Slow: yes\r\n");
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 (408|431)/);
    raw.destroy();
    expect(await isAlive()).toBe(true);
  });

  test("that are too large are refused with 431", async () => {
    const { raw, isAlive } = await startAndConnect();
    raw.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    for (let at = 0; at < 100; at += 1) raw.write(`X-${at}: ${"x".repeat(1_000)}\r\n`);
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 431/);
    expect(await isAlive()).toBe(true);
  });

  test("that arrive slowly from 200 clients do not delay other clients", async () => {
    const fixture = createFixture();
    const { url, port } = await start(fixture.server);
    const slow = await Promise.all(Array.from({ length: 200 }, () => RawHttp.open(port)));
    for (const raw of slow) raw.write("POST /mcp HTTP/1.1\r\nHost: local");
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    const peer = new StatelessPeer(url);
    expect(await Promise.all(texts.map((text) => peer.textOf("echo", { text })))).toEqual(texts);
    expect(slow.map(({ received }) => received)).toEqual(slow.map(() => ""));
    for (const raw of slow) raw.destroy();
  });
});

describe("a body that is no single message", () => {
  const part = { jsonrpc: "2.0", method: "notifications/initialized" };
  const broken = `{"jsonrpc":"2.0","id":7,"params":["${"x".repeat(1_000)}"`;

  test.each([
    ["broken JSON", `${broken},`, 400],
    ["a batch", JSON.stringify([part, part]), 400],
    ["a number", "5", 400],
  ])("is parsed once if it is %s", async (_, text, status) => {
    const { url } = await start(createFixture().server);
    const parse = vi.spyOn(JSON, "parse");
    const answer = await send(url, { body: text });
    const times = parse.mock.calls.filter(([parsed]) => parsed === text).length;
    parse.mockRestore();
    expect([answer.status, times]).toEqual([status, 1]);
  });

  test("is searched for its id in the first 64 KiB only", async () => {
    const { url } = await start(createFixture().server);
    const filler = "x".repeat(64 * 1024);
    const idOf = async (text: string) => (await (await send(url, { body: text })).json()).id;
    expect(await idOf(`{"id":7,"params":"${filler}",`)).toBe(7);
    expect(await idOf(`{"params":"${filler}","id":7,`)).toBeUndefined();
  });
});
