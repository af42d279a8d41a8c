import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start, toRequest } from "../http/kit.ts";
import { StatelessPeer, toHeaders, toMeta } from "../http/peer.ts";
import { RawHttp } from "../http/raw-http.ts";

const call = { name: "hold", arguments: { key: "a" }, _meta: toMeta() };
const body = JSON.stringify(toRequest("tools/call", call));
const head = Object.entries(toHeaders("tools/call", "hold"))
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");
const opening = `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${head}`;

/** A server, and a connection to it. */
async function knock(limits = {}) {
  const fixture = createFixture();
  const { url, port } = await start(fixture.server, { limits });
  const isAlive = async () => (await new StatelessPeer(url).textOf("echo", { text: "alive" })) === "alive";
  return { fixture, raw: await RawHttp.open(port), isAlive };
}

/** Sends text one byte after the other, for ever, until the server has enough. */
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
  test("without a length is read to its end, however small its pieces are", async () => {
    const { fixture, raw } = await knock();
    raw.write(`${opening}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of Buffer.from(body)) raw.write("1\r\n", Uint8Array.of(byte), "\r\n");
    raw.write("0\r\n\r\n");
    await fixture.noted("holding a");
    fixture.release("a");
    expect(await raw.until(/released a/)).toMatch(/^HTTP\/1\.1 200/);
    raw.destroy();
  });

  test("without a length and an end is given up with 408, and calls nothing", async () => {
    const { fixture, raw, isAlive } = await knock({ bodyMs: 100 });
    raw.write(`${opening}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("that is shorter than its length says is given up with 408, and calls nothing", async () => {
    const { fixture, raw, isAlive } = await knock({ bodyMs: 100 });
    raw.write(`${opening}Content-Length: ${body.length + 1}\r\n\r\n${body}`);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("whose client goes before its end calls nothing", async () => {
    const { fixture, raw, isAlive } = await knock();
    raw.write(`${opening}Content-Length: ${body.length + 1}\r\n\r\n${body}`);
    raw.socket.end();
    await raw.closed;
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test("that is longer than its length says is read as far as that, and what follows is no request", async () => {
    const { fixture, raw, isAlive } = await knock();
    raw.write(`${opening}Content-Length: ${body.length - 1}\r\n\r\n${body}`);
    await raw.closed;
    const statuses = [...raw.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(new Set(statuses)).toEqual(new Set(["400"]));
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });

  test.each(["-1", "1e3", "0x10", "99999999999999999999999", "+5", "5,5"])(
    "whose length is %s is refused",
    async (length) => {
      const { fixture, raw, isAlive } = await knock();
      raw.write(`${opening}Content-Length: ${length}\r\n\r\n${body}`);
      await raw.closed;
      expect(raw.received).toMatch(/^HTTP\/1\.1 4\d\d/);
      expect([await isAlive(), fixture.journal]).toEqual([true, []]);
    },
  );

  test("that drips is given up although something always comes", async () => {
    const { fixture, raw, isAlive } = await knock({ bodyMs: 100 });
    raw.write(`${opening}Content-Length: 4000000\r\n\r\n`);
    await drip(raw, body);
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 408/);
    raw.destroy();
    expect([await isAlive(), fixture.journal]).toEqual([true, []]);
  });
});

describe("headers", () => {
  test("that drip are given up although something always comes", async () => {
    const { raw, isAlive } = await knock({ headersMs: 100 });
    raw.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    await drip(raw, "X-Slow: yes\r\n");
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 (408|431)/);
    raw.destroy();
    expect(await isAlive()).toBe(true);
  });

  test("that are too many are refused with 431", async () => {
    const { raw, isAlive } = await knock();
    raw.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    for (let at = 0; at < 100; at += 1) raw.write(`X-${at}: ${"x".repeat(1_000)}\r\n`);
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 431/);
    expect(await isAlive()).toBe(true);
  });

  test("that come slowly from many clients hold nobody else up", async () => {
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
