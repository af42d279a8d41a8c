// The reports that an operator gets about refusals, requests that wait for the storage, and calls that are cut off.
import { createServer, type ErrorReport } from "portolan/server";
import { type RefusalReport, type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { createFixture } from "./fixture.ts";
import { type Answer, plainHeaders, send, toInitialize, toRequest } from "./kit.ts";
import { begin, open, StatelessPeer } from "./peer.ts";
import { byUser } from "./users.ts";

const revision = "2025-11-25";
const eras = [revision, "2026-07-28"] as const;
const ada = { authorization: "ada" };

/** Resolves when the condition holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Serves the fixture and collects the refusals that are reported. */
async function startObserved(options: ServeHttpOptions = {}, fixture = createFixture()) {
  const refusals: RefusalReport[] = [];
  const serving = serveHttp(fixture.server, { ...options, onRefused: (report) => void refusals.push(report) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  return { fixture, serving, refusals, url };
}

const isAboutClosing = (message: string) => message.startsWith("close:");

/** A storage in memory whose `kv` hangs or fails when a test wants it to. */
function createFaultyStorage() {
  const memory = createMemoryStorage();
  let fault: (() => Promise<never>) | undefined;
  let waiting: (() => void)[] = [];
  const guarded =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (fault) await fault();
      return work(...args);
    };
  const { kv } = memory;
  const storage: Storage = {
    ...memory,
    kv: {
      get: guarded((key) => kv.get(key)),
      set: guarded((key, value, options) => kv.set(key, value, options)),
      delete: guarded((key) => kv.delete(key)),
      list: guarded((prefix, options) => kv.list(prefix, options)),
    },
  };
  return {
    storage,
    hang() {
      fault = () => new Promise((resolve) => waiting.push(resolve as () => void));
    },
    refuse(error: Error) {
      fault = () => Promise.reject(error);
    },
    recover() {
      fault = undefined;
      for (const go of waiting) go();
      waiting = [];
    },
  };
}

test("a reason is bounded, has no control characters and not the token", async () => {
  const token = "secret-token-1";
  const why = `no \u001b[2J${token}\r\n\u202e${"x".repeat(2_000)}`;
  const { refusals, url } = await startObserved({ verify: () => ({ status: 401, why }) });
  await send(url, { headers: { ...plainHeaders, authorization: `Bearer ${token}` }, body: {} });
  await until(() => refusals.length === 1);
  expect(refusals[0]?.reason).toMatch(/^no \\u\{1b\}\[2J…\\u\{d\}\\u\{a\}\\u\{202e\}x+…$/);
  expect(refusals[0]?.reason.length).toBeLessThanOrEqual(500);
});

test("a long reason is cut", async () => {
  const { refusals, url } = await startObserved({ verify: () => ({ status: 401, why: "x".repeat(501) }) });
  await send(url, { headers: plainHeaders, body: {} });
  await until(() => refusals.length === 1);
  expect(refusals[0]?.reason).toBe(`${"x".repeat(499)}…`);
});

test("a client that makes up reasons cannot fill the log", async () => {
  const { refusals, url } = await startObserved({
    verify: (request) => ({ status: 401, why: `no user ${request.header("authorization")}` }),
  });
  for (let user = 0; user < 50; user += 1) {
    const name = String.fromCharCode(97 + (user % 25)) + (user > 24 ? "q" : "");
    await (await send(url, { headers: { ...plainHeaders, authorization: name }, body: {} })).text();
  }
  expect(refusals).toHaveLength(9);
});

test.each(eras)("requests that come while the server closes are reported (%s)", async (era) => {
  const { fixture, serving, refusals, url } = await startObserved({ verify: byUser });
  const peer = await open(url, era, { headers: ada });
  const held = peer.call("hold", { key: "a" }, "held");
  await fixture.noted("holding a");
  const closed = serving.close(2 ** 30);
  expect((await peer.call("echo", { text: "late" })).status).toBe(503);
  await until(() => refusals.length === 1);
  expect(refusals).toEqual([
    {
      ...{ caller: "principal ada", principal: "ada", status: 503, reason: "The server is shutting down", count: 1 },
      ...{ method: "tools/call", name: "echo" },
    },
  ]);
  fixture.release("a");
  await (await held).response();
  await closed;
});

test.each([
  [
    "without a storage",
    () => ({}),
    "in another process or before a restart. Processes behind one address need a common",
  ],
  ["with a storage", () => ({ storage: createMemoryStorage() }), "at a process with another storage"],
])("a session that another process has is reported with the likely cause (%s)", async (_, options, cause) => {
  const first = await startObserved({ verify: byUser, ...options() });
  const second = await startObserved({ verify: byUser, ...options() });
  const peer = (await begin(first.url, revision, { headers: ada })).at(second.url);
  for (let call = 0; call < 20; call += 1) expect((await peer.call("echo", { text: "lost" })).status).toBe(404);
  expect((await peer.get()).status).toBe(404);
  expect((await peer.delete()).status).toBe(404);
  expect(second.refusals).toEqual([
    {
      ...{ caller: "principal ada", principal: "ada", status: 404, count: 1, method: "tools/call", name: "echo" },
      reason: expect.stringContaining(cause),
    },
  ]);
});

test("the session of another principal is reported as such, and its caller is not told", async () => {
  const { refusals, url } = await startObserved({ verify: byUser });
  const peer = await begin(url, revision, { headers: ada });
  const answer = await peer.request("ping", {}, 1, { authorization: "bob" });
  expect((await answer.json()).error?.message).toBe("Session not found: initialize again");
  expect(refusals).toMatchObject([{ caller: "principal bob", status: 404 }]);
  expect(refusals[0]?.reason).toContain("belongs to another principal");
});

test("a session of HTTP+SSE that another process has is reported", async () => {
  const { refusals, url } = await startObserved({ httpSse: true });
  const answer = await send(new URL("/messages/unknown", url).href, { body: toRequest("ping") });
  expect(answer.status).toBe(404);
  await until(() => refusals.length === 1);
  expect(refusals).toMatchObject([{ status: 404, reason: expect.stringContaining("another process") }]);
});

const asks = { capabilities: { elicitation: { form: {} } } };
const secrets = ["a secret of at least thirty-two characters"];
const inputResponses = { sure: { action: "accept", content: { confirmed: true } } };

/** Serves a tool that asks, and keeps a text of some length between its rounds. */
async function startAsking(kept: number) {
  const tool = createServer({ name: "asking", version: "1.0.0" }, { secrets }).tool("ask", {
    async run(_, context) {
      await context.once("text", () => "x".repeat(kept));
      await context.confirm("sure", "Sure?");
      return "asked";
    },
  });
  const refusals: RefusalReport[] = [];
  const serving = serveHttp(tool, { onRefused: (report) => void refusals.push(report) });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  return { url, refusals, peer: new StatelessPeer(url, asks) };
}

/** Answers the questions of a call at a server, which may be another one. */
function retry(peer: StatelessPeer, requestState: unknown): Promise<Answer> {
  return peer.request(
    "tools/call",
    { name: "ask", arguments: {}, inputResponses, requestState: String(requestState) },
    2,
  );
}

test("a state in the memory of another process is reported with the likely cause", async () => {
  const [first, second] = [await startAsking(60_000), await startAsking(60_000)];
  const { result } = await (await first.peer.call("ask")).response();
  const answer = await retry(second.peer, result.requestState);
  expect((await answer.response()).error?.message).toContain("Invalid or expired requestState");
  expect(second.refusals).toMatchObject([{ status: answer.status, method: "tools/call", name: "ask", count: 1 }]);
  expect(second.refusals[0]?.reason).toContain("in the memory of another process");
});

test("a state of a node whose clock is an hour late is reported, with clocks that differ as a likely cause", async () => {
  const [first, second] = [await startAsking(1), await startAsking(1)];
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { result } = await (await first.peer.call("ask")).response();
  vi.useRealTimers();
  for (let call = 0; call < 10; call += 1) await (await retry(second.peer, result.requestState)).response();
  expect(second.refusals).toMatchObject([{ status: 200, method: "tools/call", name: "ask", count: 1 }]);
  expect(second.refusals[0]?.reason).toBe(
    "The requestState has expired: the answer came more than 3600 s after the question, or the clocks of the nodes differ",
  );
});

test.each([
  [20_000, "20 s"],
  [1_800_000, "30 min"],
  [1_234, "1.2 s"],
])("the report of an unknown session says the idle time of %d ms in words", async (idleMs, words) => {
  const { refusals, url } = await startObserved({ verify: byUser, sessions: { idleMs } });
  const headers = { ...plainHeaders, ...ada, "mcp-session-id": "unknown" };
  await send(url, { headers, body: toRequest("ping") });
  await until(() => refusals.length === 1);
  expect(refusals[0]?.reason).toContain(`it was not used for ${words}, has ended`);
});

test("requests that wait for the storage count as calls of their caller, and are listed", async () => {
  const faulty = createFaultyStorage();
  const options = { verify: byUser, storage: faulty.storage, limits: { callsPerCaller: 4 } };
  const { serving, refusals, url } = await startObserved(options);
  const known = await begin(url, revision, { headers: ada });
  faulty.hang();
  const statuses: number[] = [];
  const note = (answer: Answer) => void statuses.push(answer.status);
  const headers = (id: string) => ({ ...plainHeaders, ...ada, "mcp-session-id": id });
  const waiting = Array.from({ length: 10 }, (_, index) =>
    send(url, { headers: headers(`unknown ${index}`), body: toRequest("tools/call", { name: "echo" }) }).then(note),
  );
  await until(() => statuses.length === 6);
  expect(statuses).toEqual([429, 429, 429, 429, 429, 429]);
  expect(refusals).toMatchObject([{ caller: "principal ada", limit: "calls", method: "tools/call", name: "echo" }]);
  const { total, callers, calls } = await serving.usage();
  expect(total.calls).toBe(4);
  expect(callers).toMatchObject([{ caller: "principal ada", calls: 4 }]);
  const call = { method: "tools/call", name: "echo", principal: "ada", caller: "principal ada", waitsFor: "storage" };
  expect(calls).toEqual(Array.from({ length: 4 }, () => ({ ...call, ageMs: expect.any(Number) })));
  // Other callers have room, and sessions in memory need no storage.
  const bob = { ...plainHeaders, authorization: "bob" };
  const handshake = send(url, { headers: bob, body: toInitialize(revision) });
  await until(async () => (await serving.usage()).calls.some(({ method }) => method === "initialize"));
  faulty.recover();
  await Promise.all(waiting);
  expect(statuses.slice(6)).toEqual([404, 404, 404, 404]);
  expect((await handshake).status).toBe(200);
  expect(await known.textOf("echo", { text: "still here" })).toBe("still here");
  expect(await serving.usage()).toMatchObject({ total: { calls: 0 }, calls: [] });
});

test("handshakes, notifications, streams and ends of sessions that wait for the storage are counted too", async () => {
  const faulty = createFaultyStorage();
  const { serving, url } = await startObserved({ verify: byUser, storage: faulty.storage });
  const known = await begin(url, revision, { headers: ada });
  faulty.hang();
  const answers = [
    send(url, { headers: { ...plainHeaders, ...ada }, body: toInitialize(revision) }),
    known.at(url, { "mcp-session-id": "unknown" }).get(),
    known.answer("no question", {}),
    known.at(url, { "mcp-session-id": "unknown" }).delete(),
  ];
  await until(async () => (await serving.usage()).calls.length === answers.length);
  const { total, calls } = await serving.usage();
  expect(total.calls).toBe(answers.length);
  expect(calls.map(({ method }) => method).sort()).toEqual(["DELETE", "GET", "initialize", "response"]);
  faulty.recover();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 404, 202, 404]);
  expect((await serving.usage()).total.calls).toBe(0);
});

test("a storage that refuses is reported once with the caller, and its clients are told to retry", async () => {
  const faulty = createFaultyStorage();
  const reports: [string, ErrorReport][] = [];
  const onError = (error: unknown, about: ErrorReport) => void reports.push([String(error), about]);
  const server = createServer({ name: "any", version: "1.0.0" }, { onError }).tool("echo", { run: () => "echo" });
  const { storage } = faulty;
  const serving = serveHttp(server, { verify: byUser, storage, sessions: { perMinutePerCaller: 1_000 } });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const known = await begin(url, revision, { headers: ada });
  faulty.refuse(Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:7001"), { code: "ECONNREFUSED" }));
  for (let call = 0; call < 50; call += 1) {
    const answer = await send(url, { headers: { ...plainHeaders, ...ada }, body: toInitialize(revision) });
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(await answer.json()).toMatchObject({
      ...{ id: "init", error: { message: "The server cannot use its storage now; retry in 5 s" } },
    });
  }
  for (let call = 0; call < 50; call += 1) {
    const answer = await known.at(url, { "mcp-session-id": `unknown ${call}` }).call("echo");
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
  }
  // Sessions in memory are served.
  expect(await known.textOf("echo")).toBe("echo");
  const about = { principal: "ada", caller: "principal ada", count: 1, reference: expect.any(String) };
  const failed = (operation: string) =>
    `PortolanError: The storage failed (${operation}): connect ECONNREFUSED 127.0.0.1:7001`;
  expect(reports).toEqual([[failed("kv.get"), { ...about, method: "initialize" }]]);
});

test.each(eras)("calls that are cut off when the server closes are reported with their tools (%s)", async (era) => {
  const { fixture, serving, url } = await startObserved({ verify: byUser });
  const peer = await open(url, era, { headers: ada });
  const held = ["a", "b"].map((key) => peer.call("hold", { key }, key));
  for (const key of ["a", "b"]) await fixture.noted(`holding ${key}`);
  await serving.close(0);
  for (const call of held) await (await call).response();
  expect(fixture.reported.filter(isAboutClosing)).toEqual([
    expect.stringMatching(
      /^close: 2 requests were cut off, not finished after 0 s; the oldest: tools\/call "hold" \(\d+\.\d s\), tools\/call "hold" \(\d+\.\d s\)$/,
    ),
  ]);
});

test.each(eras)("closing reports nothing if every call ended (%s)", async (era) => {
  const { fixture, serving, url } = await startObserved({ verify: byUser });
  const peer = await open(url, era, { headers: ada });
  const held = peer.call("hold", { key: "a" });
  await fixture.noted("holding a");
  const closed = serving.close(2 ** 30);
  fixture.release("a");
  await (await held).response();
  await closed;
  expect(fixture.reported.filter(isAboutClosing)).toEqual([]);
});

test("calls over HTTP+SSE that are cut off are counted", async () => {
  const { fixture, serving, url } = await startObserved({ httpSse: true });
  const stream = await send(new URL("/sse", url).href, { method: "GET", headers: { accept: "text/event-stream" } });
  const messages = new URL(String((await stream.event())?.data), url).href;
  await (await send(messages, { body: toInitialize("2024-11-05") })).text();
  await stream.messageEvent();
  await (await send(messages, { body: toRequest("tools/call", { name: "hold", arguments: { key: "a" } }) })).text();
  await fixture.noted("holding a");
  await serving.close(0);
  expect(fixture.reported).toContainEqual(expect.stringMatching(/^close: 1 request was cut off/));
});

test.each(eras)("usage says of a call whose client is gone that it is abandoned (%s)", async (era) => {
  const ends: (() => void)[] = [];
  const server = createServer({ name: "deaf", version: "1.0.0" }).tool("deaf", {
    run: () => new Promise<string>((resolve) => ends.push(() => resolve("done"))),
  });
  const serving = serveHttp(server, { quietMs: 1 });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const controller = new AbortController();
  const stayed = (await open(url, era)).call("deaf", {}, "stays");
  const gone = (await open(url, era)).call("deaf", {}, "goes", {}, controller.signal).catch(() => {});
  await until(() => ends.length === 2);
  expect((await serving.usage()).calls.filter(({ isAbandoned }) => isAbandoned)).toEqual([]);
  controller.abort();
  await gone;
  await until(async () => (await serving.usage()).calls.some(({ isAbandoned }) => isAbandoned));
  const { calls } = await serving.usage();
  expect(calls.map(({ isAbandoned }) => isAbandoned === true).sort()).toEqual([false, true]);
  for (const end of ends) end();
  await (await stayed).response();
});
