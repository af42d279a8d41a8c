import { RpcError } from "portolan";
import { createServer } from "portolan/server";
import { type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createFixture } from "./fixture.ts";
import { type Answer, type Headers, plainHeaders, send, start, toInitialize, toRequest } from "./kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf, toHeaders, toMeta } from "./peer.ts";
import { RawHttp } from "./raw-http.ts";
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
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_800_000_000_000 });
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
    vi.advanceTimersByTime(60_000);
    expect(await first.textOf("echo")).toBe("echo");
  } finally {
    vi.useRealTimers();
  }
});

test.each(eras)("every request that runs a handler counts as a call of its minute (%s)", async (era) => {
  const server = createServer({ name: "rates", version: "1.0.0" })
    .tool("echo", { run: () => "echo" })
    .prompt("greet", { get: () => "Hello" })
    .template("page://{id}", { name: "page", list: () => [], read: ({ id }) => `page ${id}` });
  const { url } = await start(server, { verify: byUser, limits: { callsPerMinute: 1 } });
  const requests: [string, object][] = [
    ["tools/call", { name: "echo", arguments: {} }],
    ["resources/read", { uri: "page://1" }],
    ["resources/list", {}],
    ["prompts/get", { name: "greet" }],
    ["example/unknown", {}],
  ];
  for (const [method, params] of requests) {
    const peer = await open(url, era, { headers: { authorization: method } });
    await peer.request(method, { ...params });
    for (const free of ["tools/list", "prompts/list"]) expect((await peer.request(free)).status).toBe(200);
    expect([method, await refusalOf(await peer.request(method, { ...params }))]).toEqual([method, refusedByCaller]);
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

test.each(eras)(
  "the size of bodies is limited by the minute for each caller, before they are parsed (%s)",
  async (era) => {
    const { url } = await start(createFixture().server, { verify: byUser, limits: { bodyBytesPerMinute: 20_000 } });
    const [first, second] = [await open(url, era, { headers: ada }), await open(url, era, { headers: grace })];
    const text = "x".repeat(10_000);
    expect(await first.textOf("echo", { text })).toBe(text);
    const broken = await send(url, { headers: { ...plainHeaders, ...ada }, body: `{"jsonrpc":"2.0","x":"${text}` });
    expect(await refusalOf(broken)).toEqual(refusedByCaller);
    expect(await second.textOf("echo", { text })).toBe(text);
  },
);

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

describe("a client that forges the header which its proxy does not write", () => {
  const proxied = { forwarded: "for=203.0.113.7" };
  const forge = (count: number): Headers => ({ ...proxied, "x-forwarded-for": `192.0.2.${count}` });
  const tryAs = (url: string, headers: Headers) =>
    send(url, { headers: { ...plainHeaders, ...headers }, body: toInitialize("2025-11-25") });

  test("stays the same caller if the header is named", async () => {
    const trustProxy = { header: "forwarded" };
    const { url } = await start(createFixture().server, { trustProxy, sessions: { maxPerCaller: 2 } });
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await tryAs(url, forge(count))).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    expect((await tryAs(url, { forwarded: "for=203.0.113.8" })).status).toBe(200);
  });

  test("is refused if the header is not named", async () => {
    const { url } = await start(createFixture().server, { trustProxy: 1 });
    const answer = await tryAs(url, forge(1));
    expect(answer.status).toBe(400);
    expect((await answer.json()).error?.message).toMatch(/^X-Forwarded-For, Forwarded: expected one of them, got both/);
    expect((await tryAs(url, proxied)).status).toBe(200);
  });
});

test("an unknown member of trustProxy is refused", () => {
  const options = { trustProxy: { header: "forwarded", hops: 2 } } as ServeHttpOptions;
  expect(() => serveHttp(createFixture().server, options)).toThrow("serveHttp: trustProxy: unknown option `hops`");
});

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

/** Sends 600 KB of a body of 900 KB as ada, and waits for nothing. Returns the connection and the rest of the body. */
async function beginUpload(port: number): Promise<{ raw: RawHttp; rest: string }> {
  const meta = { ...toMeta(), filler: "x".repeat(900_000) };
  const body = JSON.stringify(toRequest("tools/call", { name: "echo", arguments: { text: "late" }, _meta: meta }));
  const head = Object.entries({ ...toHeaders("tools/call", "echo"), ...ada }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const raw = await RawHttp.open(port);
  onTestFinished(() => raw.destroy());
  raw.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${head.join("\r\n")}\r\nContent-Length: ${body.length}\r\n\r\n`);
  raw.write(body.slice(0, 600_000));
  return { raw, rest: body.slice(600_000) };
}

test.each(["node", "fetch"] as const)(
  "bodies that are still arriving take kept bytes (%s adapter)",
  async (adapter) => {
    const limits = { keptBytesPerCaller: 1_000_000 };
    const { url, port } = await start(createFixture().server, { verify: byUser, limits }, adapter);
    const uploads = [await beginUpload(port), await beginUpload(port)];
    // There is room for one of the two.
    const refused = await Promise.race(uploads.map(({ raw }) => raw.until(/"code"/).then(() => raw)));
    expect(refused.received).toMatch(/^HTTP\/1\.1 429 /);
    expect(refused.received).toMatch(/retry-after: \d+\r\n/);
    expect(refused.received).toContain('"code":-31429');
    const grace = new StatelessPeer(url, { headers: { authorization: "grace" } });
    expect(await grace.textOf("echo", { text: "x".repeat(900_000) })).toHaveLength(900_000);

    for (const { raw, rest } of uploads.filter(({ raw }) => raw !== refused)) {
      raw.write(rest);
      expect(await raw.until(/late/)).toMatch(/^HTTP\/1\.1 200 /);
    }
    const again = await new StatelessPeer(url, { headers: ada }).textOf("echo", { text: "x".repeat(900_000) });
    expect(again).toHaveLength(900_000);
  },
);

test("open questions of a session take kept bytes of its caller, and give them back", async () => {
  const server = createServer({ name: "asking", version: "1.0.0" }).tool("ask", {
    run: async (_, context) => String(await context.confirm("sure", "Sure?".padEnd(50_000))),
  });
  const { url } = await start(server, { verify: byUser, limits: { keptBytesPerCaller: 1_000_000 } });
  const capabilities = { elicitation: {} };
  const peer = await begin(url, "2025-11-25", { headers: ada, capabilities });
  const open: { readonly answer: Answer; readonly id: unknown }[] = [];
  let refused: Answer | undefined;
  while (!refused && open.length < 40) {
    const answer = await peer.call("ask", {}, open.length);
    if (answer.isStream) open.push({ answer, id: (await answer.message()).id });
    else refused = answer;
  }
  expect(open.length).toBeLessThanOrEqual(20);
  const { error } = (await refused?.json()) ?? {};
  expect(error).toMatchObject({ code: -31429, message: expect.stringContaining("elicitation/create is not sent") });
  const other = await begin(url, "2025-11-25", { headers: grace, capabilities });
  expect((await (await other.call("ask", {}, 1)).message()).method).toBe("elicitation/create");

  for (const { answer, id } of open) {
    await peer.answer(id, { action: "accept" });
    expect(textOf((await answer.messages()).at(-1) ?? {})).toBe("true");
  }
  expect((await (await peer.call("ask", {}, "last")).message()).method).toBe("elicitation/create");
});

test("questions that a handler does not wait for give their bytes back when the call ends", async () => {
  const server = createServer({ name: "asking", version: "1.0.0" }).tool("ask", {
    run: async (_, context) => {
      const answer = context.confirm("sure", "Sure?".padEnd(50_000));
      return Promise.race([answer.then(String), new Promise<string>((resolve) => setImmediate(resolve, "late"))]);
    },
  });
  const { url } = await start(server, { verify: byUser, limits: { keptBytesPerCaller: 1_000_000 } });
  const peer = await begin(url, "2025-11-25", { headers: ada, capabilities: { elicitation: {} } });
  for (let round = 0; round < 40; round += 1) {
    expect(textOf(await (await peer.call("ask", {}, round)).response())).toBe("late");
  }
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

test.each([
  ["a small one", "n", "n"],
  ["a large one", "n".repeat(5_000), "n".repeat(680)],
])("a session keeps name, title and version of a client's description: %s", async (_, name, kept) => {
  const server = createServer({ name: "who", version: "1.0.0" }).tool("who", {
    run: (_args, { client }) => JSON.stringify(client),
  });
  const { url } = await start(server);
  const info = { name, title: "t", version: "1", description: "d", icons: [{ src: `data:${name}` }] };
  const body = toInitialize("2025-11-25");
  Object.assign(body["params"] as object, { clientInfo: info });
  const begun = await send(url, { body });
  const headers = { ...plainHeaders, "mcp-session-id": String(begun.headers["mcp-session-id"]) };
  const peer = new SessionPeer(url, "2025-11-25", headers, await begun.json());
  expect(JSON.parse(await peer.textOf("who"))).toEqual({ name: kept, title: "t", version: "1" });
});

test("capabilities above 16 KB are refused with 400", async () => {
  const { url } = await start(createFixture().server);
  const capabilities = { experimental: { x: { y: "x".repeat(16_384) } } };
  const refused = await send(url, { body: toInitialize("2025-11-25", capabilities) });
  expect([refused.status, (await refused.json()).error?.code]).toEqual([400, -32602]);
});

test("capabilities that are nested deeper than the stack are refused with 400, and with the id", async () => {
  const { url } = await start(createFixture().server);
  const body = toInitialize("2025-11-25", {});
  const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  const refused = await send(url, {
    body: JSON.stringify(body).replace('"capabilities":{}', `"capabilities":${deep}`),
  });
  expect([refused.status, await refused.json()]).toMatchObject([400, { id: body.id, error: { code: -32602 } }]);
});

test("a cancellation whose reason is nested deeper than the stack cancels its call", async () => {
  const fixture = createFixture();
  const { url } = await start(fixture.server);
  const peer = await begin(url, "2025-11-25");
  const call = peer.call("hold", { key: "a" }, "a");
  await fixture.noted("holding a");
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const params = `{"requestId":"a","reason":${deep}}`;
  const body = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
  expect((await send(url, { headers: { ...plainHeaders, ...peer.headers }, body })).status).toBe(202);
  await call;
  expect(fixture.reported.filter((text) => text.includes("RangeError") || text.includes("call stack"))).toEqual([]);
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
  // The part that reports is loaded with the first report.
  const limits = () => fixture.reported.filter((text) => text.startsWith("Limit reached"));
  const lost = expect.stringContaining("may have 0 streams at once; calls are answered without progress");
  await expect.poll(limits).toEqual([lost]);
});
