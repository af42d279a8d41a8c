import { spawn } from "node:child_process";
import { once } from "node:events";
import { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { format } from "node:util";
import { createServer, type ErrorReport } from "portolan/server";
import { type RefusalReport, type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { createFixture } from "./fixture.ts";
import { type Headers, plainHeaders, send, start, toRequest } from "./kit.ts";
import { begin, open } from "./peer.ts";
import { byUser } from "./users.ts";

const eras = ["2025-11-25", "2026-07-28"] as const;
const ada: Headers = { authorization: "ada" };
const from = (address: string): Headers => ({ "x-forwarded-for": address });

/** Resolves when the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test.each(eras)("onError gets the caller and the name of the tool, and no arguments (%s)", async (era) => {
  const reports: ErrorReport[] = [];
  const onError = (_: unknown, about: ErrorReport) => void reports.push(about);
  const server = createServer({ name: "failing", version: "1.0.0" }, { onError }).tool("fail", {
    run() {
      throw new Error("no");
    },
  });
  const { url } = await start(server, { verify: byUser });
  const peer = await open(url, era, { headers: ada });
  await (await peer.call("fail", { secret: "hush" })).response();
  const reference = expect.any(String);
  expect(reports).toEqual([
    { method: "tools/call", name: "fail", principal: "ada", caller: "principal ada", reference },
  ]);
});

test("by default an error is printed with the tool and the caller, without control characters", async () => {
  const printed: string[] = [];
  const { error } = console;
  console.error = (...parts: unknown[]) => void printed.push(format(...parts));
  onTestFinished(() => {
    console.error = error;
  });
  const server = createServer({ name: "failing", version: "1.0.0" }).tool("fail", {
    run({ path }) {
      throw new Error(`no such file: ${path}`);
    },
  });
  const { url } = await start(server, { verify: () => ({ key: "ada\u001b[2J\u202e" }) });
  const path = "a\u001b[2J\u009b31m\r\nportolan: {} forged\u2028forged";
  await (await (await open(url, "2026-07-28")).call("fail", { path })).response();
  const [first, second, ...others] = printed.join("\n").split("\n");
  // Soon after the start, the code that escapes them is not loaded yet.
  expect(first).toMatch(
    /^portolan: {"method":"tools\/call","name":"fail","principal":"ada\\u001b\[2J(\?|\\u{202e})","caller":.*"reference":"[0-9a-f]{8}"} Error: no such file: a(\?|\\u{1b})\[2J(\?|\\u{9b})31m(\?|\\u{d})$/,
  );
  expect(second).toMatch(/^ {2}portolan: {} forged/);
  for (const line of others) expect(line).toMatch(/^ {6}at \P{C}+$/u);
});

test("the report of requests that are cut off has no control characters of a client", async () => {
  const fixture = createFixture();
  const memory = createMemoryStorage();
  const hang = () => new Promise<undefined>(() => {});
  Object.assign(memory.kv, { get: hang, delete: hang });
  const serving = serveHttp(fixture.server, { storage: memory });
  const { url } = await serving.listen();
  const headers = { ...plainHeaders, "mcp-session-id": "waits for the storage" };
  const answer = send(url, { headers, body: toRequest("own/\u001b[2J\nforged") }).catch(() => {});
  await expect.poll(async () => (await serving.usage()).calls).toHaveLength(1);
  await serving.close(0);
  await answer;
  expect(fixture.reported).toContainEqual(
    expect.stringMatching(/^close: 1 request was cut off.*; the oldest: own\/\\u{1b}\[2J\\u{a}forged \(/),
  );
});

/** Serves the fixture and collects the refusals that are reported. */
async function startObserved(options: ServeHttpOptions) {
  const fixture = createFixture();
  const refusals: RefusalReport[] = [];
  const serving = serveHttp(fixture.server, { ...options, onRefused: (report) => void refusals.push(report) });
  onTestFinished(() => serving.close(0));
  const { url, port } = await serving.listen();
  return { fixture, serving, refusals, url, port };
}

test.each(eras)(
  "onRefused gets the caller, the limit and the tool once, however many calls are refused (%s)",
  async (era) => {
    const { refusals, url } = await startObserved({ verify: byUser, limits: { callsPerMinute: 1 } });
    const peer = await open(url, era, { headers: ada });
    for (let call = 0; call < 50; call += 1) await (await peer.call("echo", { text: "hush" })).response();
    expect(refusals).toEqual([
      {
        ...{ caller: "principal ada", principal: "ada", limit: "callsPerMinute", status: 429 },
        ...{ method: "tools/call", name: "echo", count: 1, reason: "This caller may have 1 calls per minute" },
      },
    ]);
  },
);

test("onRefused gets refusals without a limit: tokens, rights and headers", async () => {
  const permit = () => ({ status: 403 as const, why: "Not yours" });
  const { refusals, url } = await startObserved({ auth: { verify: byUser, permit }, trustProxy: true });
  await send(url, { headers: { ...plainHeaders, ...from("203.0.113.7") }, body: {} });
  await send(url, { headers: { ...plainHeaders, ...from("203.0.113.8"), origin: "https://evil.example" }, body: {} });
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { text: "hush" } } };
  await send(url, { headers: { ...plainHeaders, ...ada }, body });
  await until(() => refusals.length === 3);
  expect(refusals).toEqual([
    { caller: "address 203.0.113.7", status: 401, count: 1, reason: "Who are you?" },
    {
      ...{ caller: "address 203.0.113.8", status: 403, count: 1 },
      reason: 'Origin "https://evil.example" is not allowed by this server (allowedOrigins)',
    },
    {
      ...{ caller: "principal ada", principal: "ada", status: 403, count: 1, reason: "Not yours" },
      ...{ method: "tools/call", name: "echo" },
    },
  ]);
});

test("onRefused gets bodies that are too large, sessions, streams and connections", async () => {
  const limits = { bodyBytes: 1_000, streamsPerCaller: 0, connections: 8 };
  const { refusals, url, port } = await startObserved({ trustProxy: true, limits, sessions: { maxPerCaller: 1 } });
  const headers = from("203.0.113.7");
  await send(url, { headers: { ...plainHeaders, ...headers }, body: "x".repeat(2_000) });
  const peer = await begin(url, "2025-11-25", { headers });
  await expect(open(url, "2025-11-25", { headers })).rejects.toThrow("429");
  await (await peer.request("ping")).response();
  await send(url, { method: "GET", headers: { ...peer.headers, accept: "text/event-stream" } });
  const sockets = Array.from({ length: 20 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await until(() => refusals.length === 4);
  const caller = "address 203.0.113.7";
  expect(refusals).toEqual([
    {
      ...{ caller, status: 413, limit: "bodyBytes", count: 1 },
      reason: "The body is too large: at most 1000 bytes are read",
    },
    { caller, status: 429, limit: "sessions", count: 1, reason: "This caller may have 1 sessions at once" },
    { caller, status: 429, limit: "streams", count: 1, reason: "This caller may have 0 streams at once" },
    {
      ...{ caller: "address 127.0.0.1", status: 503, limit: "connections", count: 1 },
      reason: "8 connections are open, as many as limits.connections allows",
    },
  ]);
});

test("an onRefused that throws is reported, and the request is answered", async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const server = createServer({ name: "any", version: "1.0.0" }, { onError }).tool("any", { run: () => "any" });
  const problem = new Error("no log");
  const onRefused = () => {
    throw problem;
  };
  const { url } = await start(server, { verify: byUser, onRefused });
  expect((await send(url, { body: {} })).status).toBe(401);
  await until(() => errors.length > 0);
  expect(errors).toEqual([problem]);
});

test.each(eras)("usage returns the callers by their use, and the calls in progress (%s)", async (era) => {
  const { fixture, serving, url } = await startObserved({ verify: byUser });
  expect(await serving.usage()).toMatchObject({ total: { calls: 0 }, callers: [], calls: [] });
  const [first, second] = [
    await open(url, era, { headers: ada }),
    await open(url, era, { headers: { authorization: "bob" } }),
  ];
  const held = [first.call("hold", { key: "a" }, "a"), second.call("hold", { key: "b" }, "b")];
  await fixture.noted("holding b");
  await fixture.noted("holding a");
  held.push(second.call("hold", { key: "c" }, "c"));
  await fixture.noted("holding c");
  const { total, callers, calls } = await serving.usage();
  const sessions = era === "2025-11-25" ? 1 : 0;
  expect(total).toMatchObject({ calls: 3, sessions: 2 * sessions });
  expect(callers.map(({ caller, calls, sessions }) => [caller, calls, sessions])).toEqual(
    expect.arrayContaining([
      ["principal bob", 2, sessions],
      ["principal ada", 1, sessions],
    ]),
  );
  expect(calls).toHaveLength(3);
  expect(calls[2]).toEqual({
    ...{ method: "tools/call", name: "hold", principal: "bob", caller: "principal bob", ageMs: expect.any(Number) },
  });
  for (const key of ["a", "b", "c"]) fixture.release(key);
  for (const answer of await Promise.all(held)) await answer.response();
  expect((await serving.usage()).calls).toEqual([]);
});

test("usage lists callers by the share of their limits", async () => {
  const { fixture, serving, url } = await startObserved({ trustProxy: true });
  const busy = await open(url, "2026-07-28", { headers: from("203.0.113.7") });
  const quiet = await open(url, "2026-07-28", { headers: from("203.0.113.8") });
  const held = [quiet.call("hold", { key: "q" }), busy.call("hold", { key: "r" }), busy.call("hold", { key: "s" })];
  for (const key of ["q", "r", "s"]) await fixture.noted(`holding ${key}`);
  const { callers } = await serving.usage();
  expect(callers.map(({ caller, calls }) => [caller, calls])).toEqual([
    ["address 203.0.113.7", 2],
    ["address 203.0.113.8", 1],
  ]);
  for (const key of ["q", "r", "s"]) fixture.release(key);
  await Promise.all(held);
});

test("middleware can tell a call whose client is gone from a success", async () => {
  const seen: unknown[] = [];
  const running: (() => void)[] = [];
  const server = createServer({ name: "watched", version: "1.0.0" })
    .use(async (exchange, next) => {
      const outcome = await next(exchange);
      if (exchange.method === "tools/call") seen.push([outcome.kind, exchange.isCancelled]);
      return outcome;
    })
    .tool("slow", { run: () => new Promise<string>((resolve) => running.push(() => resolve("done"))) });
  const { url } = await start(server);
  const peer = await open(url, "2026-07-28");
  const controller = new AbortController();
  const gone = peer.call("slow", {}, 1, {}, controller.signal).catch(() => {});
  await until(() => running.length === 1);
  controller.abort();
  await gone;
  const stayed = peer.textOf("slow");
  await until(() => running.length === 2);
  for (const finish of running) finish();
  expect(await stayed).toBe("done");
  expect(seen).toEqual([
    ["complete", true],
    ["complete", false],
  ]);
});

test("errors while connections are accepted are reported once for each kind, with what to do", async () => {
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push((error as Error).message);
  const server = createServer({ name: "any", version: "1.0.0" }, { onError }).tool("any", { run: () => "any" });
  const { port } = await start(server);
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  const listening = handles.find(
    (one) => one instanceof Server && one.listening && (one.address() as AddressInfo).port === port,
  ) as Server;
  // Node handles most of these itself, so that they cannot be caused from outside.
  for (const code of ["EMFILE", "EMFILE", "EMFILE", "ENOBUFS"]) {
    listening.emit("error", Object.assign(new Error(`accept ${code}`), { code }));
  }
  await until(() => errors.length === 2);
  expect(errors).toEqual([
    "listen: a connection could not be accepted: accept EMFILE; raise the limit of open files (ulimit -n), or set limits.connections",
    "listen: a connection could not be accepted: accept ENOBUFS",
  ]);
});

test.each([
  ["x-forwarded-for", "203.0.113.7"],
  ["forwarded", "for=203.0.113.7"],
])("a proxy on this machine without trustProxy is reported once (%s)", async (name, value) => {
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push(String(error));
  const server = createServer({ name: "any", version: "1.0.0" }, { onError }).tool("echo", { run: () => "echo" });
  for (const options of [{}, { trustProxy: true }, { caller: () => "somebody" }, { verify: () => ({ key: "ada" }) }]) {
    const { url } = await start(server, options);
    for (const headers of [{}, { [name]: value }, { [name]: value }]) {
      expect(await (await open(url, "2026-07-28", { headers })).textOf("echo")).toBe("echo");
    }
  }
  expect(errors).toEqual([expect.stringContaining("a proxy on this machine forwards requests")]);
  expect(errors[0]).toContain("Set `trustProxy: { header }`");
});

test("the program of the guide goes on serving when nobody reads its log any more", async () => {
  const program = join(import.meta.dirname, "../../examples/guide/operating.mjs");
  const child = spawn(process.execPath, [program, "0"], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const url = line.replace("Serving ", "").replace("127.0.0.1", "localhost");
  child.stderr.destroy();
  const peer = await open(url, "2026-07-28", { headers: { host: "localhost:3000" } });
  for (let count = 0; count < 3; count++) {
    expect(await (await peer.call("roll")).response()).toMatchObject({ result: { content: [{ type: "text" }] } });
  }
  expect(child.exitCode).toBeNull();
});
