import { RpcError } from "portolan";
import { createServer } from "portolan/server";
import type { ServeHttpOptions } from "portolan/server/http";
import { expect, test, vi } from "vitest";
import { createFixture } from "./fixture.ts";
import { type Answer, type Headers, plainHeaders, send, start, toInitialize, toRequest } from "./kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf } from "./peer.ts";
import { byUser } from "./users.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
const ada: Headers = { authorization: "ada" };
const grace: Headers = { authorization: "grace" };

/** The status of a response, its Retry-After header and the code of its error. */
async function refusalOf(answer: Answer): Promise<unknown[]> {
  return [answer.status, Number(answer.headers["retry-after"]) > 0, (await answer.response()).error?.code];
}

const refusedByCaller = [429, true, -31429];
const refusedByProcess = [503, true, -31429];

test.each(eras)("calls in flight are limited for each caller and for all of them (%s)", async (era) => {
  const fixture = createFixture();
  const limits = { callsPerCaller: 2, calls: 3 };
  const { url } = await start(fixture.server, { verify: byUser, limits });
  const [first, second] = [await open(url, era, { headers: ada }), await open(url, era, { headers: grace })];
  const held: Promise<Answer>[] = [];
  const hold = async (peer: typeof first, key: string) => {
    held.push(peer.call("hold", { key }, key));
    await fixture.noted(`holding ${key}`);
  };
  await hold(first, "a");
  await hold(first, "b");
  expect(await refusalOf(await first.call("echo", { text: "c" }))).toEqual(refusedByCaller);
  await hold(second, "d");
  expect(await refusalOf(await second.call("echo", { text: "e" }))).toEqual(refusedByProcess);
  fixture.release("a");
  expect(textOf(await (await held[0]!).response())).toBe("released a");
  expect(await second.textOf("echo", { text: "f" })).toBe("f");
  for (const key of ["b", "d"]) fixture.release(key);
  await Promise.all(held);
});

test.each(eras)("tool calls and completions are limited by the minute for each caller (%s)", async (era) => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  try {
    const server = createServer({ name: "rates", version: "1.0.0" })
      .tool("echo", { run: () => "echo" })
      .prompt("greet", { arguments: { name: { complete: ["Ada"] } }, get: () => "Hello" });
    const limits = { callsPerMinute: 2, completionsPerMinute: 1 };
    const { url } = await start(server, { verify: byUser, limits });
    const [first, second] = [await open(url, era, { headers: ada }), await open(url, era, { headers: grace })];
    const complete = { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "" } };
    expect([await first.textOf("echo"), await first.textOf("echo")]).toEqual(["echo", "echo"]);
    expect(await refusalOf(await first.call("echo"))).toEqual(refusedByCaller);
    expect((await first.request("completion/complete", complete)).status).toBe(200);
    expect(await refusalOf(await first.request("completion/complete", complete))).toEqual(refusedByCaller);
    expect(await second.textOf("echo")).toBe("echo");
    vi.setSystemTime(Date.now() + 60_000);
    expect(await first.textOf("echo")).toBe("echo");
  } finally {
    vi.useRealTimers();
  }
});

test("every request of a batch counts, and those beyond the limit get an error of their own", async () => {
  const { url } = await start(createFixture().server, { verify: byUser, limits: { callsPerMinute: 2 } });
  const peer = await begin(url, "2025-03-26", { headers: ada });
  const echo = (id: number) => toRequest("tools/call", { name: "echo", arguments: { text: `${id}` } }, id);
  const answer = await peer.post([echo(1), echo(2), echo(3)]);
  const responses = (await answer.json()) as unknown as { id: number; error?: { code: number } }[];
  expect(responses.map(({ id, error }) => [id, error?.code]).sort()).toEqual([
    [1, undefined],
    [2, undefined],
    [3, -31429],
  ]);
});

test("anonymous callers of the same machine are not limited one by one", async () => {
  const limits = { callsPerMinute: 1, callsPerCaller: 1, streamsPerCaller: 0, keptBytesPerCaller: 0 };
  const { url } = await start(createFixture().server, { limits, sessions: { maxPerCaller: 1, perMinutePerCaller: 1 } });
  for (const text of ["a", "b", "c"]) expect(await new StatelessPeer(url).textOf("echo", { text })).toBe(text);
  for (const text of ["d", "e"]) expect(await (await begin(url, "2025-11-25")).textOf("echo", { text })).toBe(text);
});

test.each([
  ["the option caller", { caller: (request) => request.header("x-key") }, { "x-key": "a" }, { "x-key": "b" }],
  ["a forwarded address", { trustProxy: true }, { "x-forwarded-for": "192.0.2.1" }, { "x-forwarded-for": "192.0.2.2" }],
  [
    "the network of an IPv6 address",
    { trustProxy: true },
    { "x-forwarded-for": "2001:db8:1:1::1" },
    { "x-forwarded-for": "2001:db8:1:2::1" },
  ],
] satisfies [string, ServeHttpOptions, Headers, Headers][])(
  "anonymous callers are told apart by %s",
  async (_, options, one, other) => {
    const { url } = await start(createFixture().server, { ...options, sessions: { maxPerCaller: 1 } });
    const body = toInitialize("2025-11-25");
    const tryAs = (headers: Headers) => send(url, { headers: { ...plainHeaders, ...headers }, body });
    expect((await tryAs(one)).status).toBe(200);
    expect(await refusalOf(await tryAs(one))).toEqual(refusedByCaller);
    expect((await tryAs(other)).status).toBe(200);
  },
);

test("forwarded addresses are ignored without trustProxy", async () => {
  const { url } = await start(createFixture().server, { limits: { callsPerMinute: 1 } });
  const peer = new StatelessPeer(url, { headers: { "x-forwarded-for": "192.0.2.1" } });
  for (const text of ["a", "b", "c"]) expect(await peer.textOf("echo", { text })).toBe(text);
});

test.each(eras)("large requests in flight take kept bytes of their caller, and give them back (%s)", async (era) => {
  const fixture = createFixture();
  const limits = { keptBytesPerCaller: 1_000_000 };
  const { url } = await start(fixture.server, { verify: byUser, limits });
  const [first, second] = [await open(url, era, { headers: ada }), await open(url, era, { headers: grace })];
  const filler = "x".repeat(600_000);
  const held = first.call("hold", { key: "a", filler }, "a");
  await fixture.noted("holding a");
  expect(await refusalOf(await first.call("echo", { text: filler }))).toEqual(refusedByCaller);
  expect(await first.textOf("echo", { text: "small" })).toBe("small");
  expect(await second.textOf("echo", { text: filler.slice(0, 400_000) })).toHaveLength(400_000);
  fixture.release("a");
  await (await held).response();
  expect(await first.textOf("echo", { text: filler.slice(0, 400_000) })).toHaveLength(400_000);
});

test.each(eras)("answers that are not read take kept bytes of their caller (%s)", async (era) => {
  const size = 16_000_000;
  const server = createServer({ name: "large", version: "1.0.0" }).tool("large", { run: () => "x".repeat(size) });
  const { url } = await start(server, { verify: byUser, limits: { keptBytesPerCaller: 2.5 * size } });
  const [first, second] = [await open(url, era, { headers: ada }), await open(url, era, { headers: grace })];
  const unread = [await first.call("large"), await first.call("large")];
  for (const answer of unread) answer.stall();
  const refused = await first.call("large");
  expect([refused.status, (await refused.json()).error?.code]).toEqual([429, -31429]);
  expect(await second.textOf("large")).toHaveLength(size);
  for (const answer of unread) answer.drop();
  await Promise.all(unread.map((answer) => answer.closed));
  let answer = await first.call("large");
  while (answer.status === 429) answer = await first.call("large");
  expect(textOf(await answer.response())).toHaveLength(size);
});

test("a client's description is cut to 2 KB, and capabilities above 16 KB are refused with 400", async () => {
  const server = createServer({ name: "who", version: "1.0.0" }).tool("who", {
    run: (_, { client }) => JSON.stringify(client),
  });
  const { url } = await start(server);
  const info = { name: "n".repeat(5_000), title: "t", version: "1", icons: [{ src: `data:${"x".repeat(100_000)}` }] };
  const body = toInitialize("2025-11-25");
  Object.assign(body["params"] as object, { clientInfo: info });
  const begun = await send(url, { body });
  const headers = { ...plainHeaders, "mcp-session-id": String(begun.headers["mcp-session-id"]) };
  const peer = new SessionPeer(url, "2025-11-25", headers, await begun.json());
  const seen = JSON.parse(await peer.textOf("who"));
  expect(seen).toEqual({ name: expect.stringMatching(/^n{100,2000}$/), title: "t", version: "1" });

  const refused = await send(url, {
    body: toInitialize("2025-11-25", { experimental: { x: { y: "x".repeat(16_384) } } }),
  });
  expect([refused.status, (await refused.json()).error?.code]).toEqual([400, -32602]);
});

test.each(eras)("an error of a handler with the code of a limit reaches the client (%s)", async (era) => {
  const server = createServer({ name: "limited", version: "1.0.0" }).method("own/limit", {
    handle() {
      throw new RpcError(-31429, "The upstream has had enough");
    },
  });
  const { url } = await start(server);
  const answer = await (await open(url, era)).request("own/limit", {});
  expect((await answer.response()).error).toMatchObject({ code: -31429, message: "The upstream has had enough" });
});

test.each(eras)("a call without room for a stream is answered as JSON, and that is reported once (%s)", async (era) => {
  const fixture = createFixture();
  const { url } = await start(fixture.server, { verify: byUser, limits: { streamsPerCaller: 0 } });
  const peer = await open(url, era, { headers: ada });
  for (const _ of [1, 2]) {
    const answer = await peer.call("progress");
    expect([answer.isStream, textOf(await answer.json())]).toEqual([false, "done"]);
  }
  const limits = fixture.reported.filter((text) => text.startsWith("Limit reached"));
  expect(limits).toEqual([expect.stringContaining("may have 0 streams at once; calls are answered without progress")]);
});
