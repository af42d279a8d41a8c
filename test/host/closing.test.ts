import { spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { createServer } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import { createClock } from "portolan/testing";
import type { CustomTarget, Host } from "portolan-host";
import { expect, test, vi } from "vitest";
import {
  allow,
  countStarts,
  createModel,
  entryFromFile,
  functionsOf,
  greeter,
  inMemory,
  makeHost,
  nextEvent,
  textOf,
} from "./kit.ts";

const stateOf = (host: Host) => host.servers[0]?.state;

test("three hosts start one server at once on one storage, and all can call it", async () => {
  const storage = createMemoryStorage();
  const make = () => makeHost({ servers: { s: inMemory(greeter()) }, storage, policy: allow });
  const hosts = await Promise.all([make(), make(), make()]);
  const results = await Promise.all(hosts.map((host) => host.callTool("s", "greet")));
  expect(results.map(textOf)).toEqual(["hello", "hello", "hello"]);
});

test("of two servers added at once under one name, one is refused and never started", async () => {
  const [first, second] = [countStarts(greeter(), { eager: true }), countStarts(greeter(), { eager: true })];
  const host = await makeHost({});
  const results = await Promise.allSettled([host.add("s", first), host.add("s", second)]);
  await host.ready();
  const outcomes = results.map(({ status }, at) => `${status}, started ${[first, second][at]?.starts} times`);
  expect(outcomes.sort()).toEqual(["fulfilled, started 1 times", "rejected, started 0 times"]);
  await expect(host.add("s", second)).rejects.toThrow('A server "s" exists already');
});

test("a server whose adding failed is not listed, and can be added again", async () => {
  const { kv } = createMemoryStorage();
  const servers = { s: inMemory(greeter()) };
  const first = await makeHost({ servers, storage: { kv } });
  await first.ready();
  await first.close();
  let isBroken = true;
  const get = (key: string) =>
    isBroken && key.includes("/pins/") ? Promise.reject(new Error("the disk is full")) : kv.get(key);
  const host = await makeHost({ storage: { kv: { ...functionsOf(kv), get } } });
  await expect(host.add("s", servers.s)).rejects.toThrow("the disk is full");
  expect(host.servers).toEqual([]);
  isBroken = false;
  await host.add("s", servers.s);
  expect(host.catalog.tools).toHaveLength(1);
});

test("a closed host refuses to add, run and call, and sends no events", async () => {
  const way = countStarts(greeter(), { eager: true });
  const host = await makeHost({ model: createModel(), servers: { s: inMemory(greeter()) }, policy: allow });
  const adding = host.add("late", way);
  const closing = host.close();
  expect(host.close()).toBe(closing);
  await expect(adding).rejects.toThrow("The host is closed");
  await closing;
  await expect(host.add("later", way)).rejects.toThrow("The host is closed");
  expect(() => host.run("go")).toThrow("The host is closed");
  await expect(host.callTool("s", "greet")).rejects.toMatchObject({ code: "server-unavailable" });
  expect(way.starts).toBe(0);
  for await (const event of host.events()) expect.unreachable(event.kind);
});

test("closing does not wait for a server that is still opening, and closes its connection if it opens later", async () => {
  let come: (target: Awaited<ReturnType<CustomTarget["open"]>>) => void = () => {};
  const host = await makeHost({ servers: { s: { open: () => new Promise((resolve) => (come = resolve)) } } });
  const starting = host.start("s");
  starting.catch(() => {});
  await vi.waitFor(() => expect(stateOf(host)).toBe("starting"));
  await host.close();
  await expect(starting).rejects.toThrow();
  let isClosed = false;
  const late = await inMemory(greeter()).open();
  const close = late.close.bind(late);
  late.close = () => {
    isClosed = true;
    return close();
  };
  come(late);
  await vi.waitFor(() => expect(isClosed).toBe(true));
});

test("starting fails after connectMs when the application's open never resolves", async () => {
  const clock = createClock();
  const open = () => new Promise<never>(() => {});
  const host = await makeHost({ clock, servers: { s: { open, connectMs: 5_000 } } });
  const starting = host.start("s");
  starting.catch(() => {});
  await vi.waitFor(() => expect(clock.pending).toBe(1));
  await clock.advance(5_000);
  await expect(starting).rejects.toThrow("no connection within 5000 ms");
  expect(stateOf(host)).toBe("down");
});

test("closing ends a run whose model ignores its signal and whose reader has stopped reading", async () => {
  let isAsked = false;
  const host = await makeHost({
    model: {
      id: "unresponsive",
      capabilities: { tools: true, images: false },
      stream() {
        isAsked = true;
        return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
      },
    },
  });
  const run = host.run("go");
  const reader = run[Symbol.asyncIterator]();
  void reader.next();
  await vi.waitFor(() => expect(isAsked).toBe(true));
  await host.close();
  expect(await run.result).toMatchObject({ reason: "cancelled", error: { message: "the host is closed" } });
});

test("closing withdraws open questions and rejects their calls", async () => {
  const host = await makeHost({ servers: { s: inMemory(greeter()) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["question"] });
  const calling = host.callTool("s", "greet");
  const { question } = await nextEvent(events, "question");
  const closing = host.close();
  await expect(calling).rejects.toThrow("The host is closed");
  await closing;
  expect(question.signal.aborted).toBe(true);
  expect(host.questions).toEqual([]);
});

test("an answerer that fails after its call was aborted causes no unhandled rejection", async () => {
  let fail: (reason: Error) => void = () => {};
  const host = await makeHost({
    servers: [entryFromFile(inMemory(greeter()))],
    answers: { trust: () => new Promise((_, reject) => (fail = reject)) },
  });
  await expect(host.callTool("s", "greet", {}, { signal: AbortSignal.abort(new Error("left")) })).rejects.toThrow(
    "left",
  );
  fail(new Error("the dialog broke"));
  // An unhandled rejection would end the test run.
  await new Promise((resolve) => setImmediate(resolve));
  expect(stateOf(host)).toBe("untrusted");
});

test("an approver that throws denies the call, and the log records its error", async () => {
  let runs = 0;
  const server = createServer({ name: "s", version: "1.0.0" }).tool("greet", {
    run: () => {
      runs += 1;
      return "hello";
    },
  });
  const model = createModel({ call: [["s__greet", {}]] }, { say: "no" });
  const approve = () => Promise.reject(new Error("the dialog broke"));
  const host = await makeHost({ servers: { s: inMemory(server) }, model, answers: { approve } });
  expect((await host.run("go").result).reason).toBe("done");
  expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toContain("the dialog broke");
  expect(runs).toBe(0);
  const decisions: unknown[] = [];
  for await (const entry of host.activity.query({ kinds: ["decision"] })) decisions.push(entry);
  expect(decisions).toMatchObject([{ name: "greet", effect: "unanswered", reason: "the dialog broke" }]);
});

test("finished calls leave no listener on their signal", async () => {
  const { signal } = new AbortController();
  const host = await makeHost({
    servers: [entryFromFile(inMemory(greeter()))],
    answers: { trust: () => true, approve: () => true },
  });
  for (let at = 0; at < 10; at += 1) await host.callTool("s", "greet", {}, { signal });
  await host.run("go", { model: createModel({ call: [["s__greet", {}]] }), signal }).result;
  await vi.waitFor(() => expect(getEventListeners(signal, "abort")).toEqual([]));
});

test("neither an idle nor a closed host keeps the process alive", async () => {
  const program = `
    import { pathToFileURL } from "node:url";
    import { createHost } from "portolan-host";
    const [, , way] = process.argv;
    const echo = { command: process.execPath, args: [way] };
    const roots = [{ uri: pathToFileURL("/tmp").href }];
    await createHost({ servers: { echo }, roots });
    const closed = await createHost({ servers: { echo: { ...echo, eager: true } }, roots });
    await closed.ready();
    console.log(closed.servers[0].state);
    await closed.close();
  `;
  const odd = new URL("./fixtures/faulty.mjs", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--input-type=module", "-", odd], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(program);
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  expect([code, output]).toEqual([0, "ready\n"]);
});
