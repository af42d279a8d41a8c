import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../http-client/kit.ts";
import { stateful } from "../kit/revisions.ts";
import { createFixture } from "./fixture.ts";
import { start } from "./kit.ts";
import { begin } from "./peer.ts";

const overHttp = stateful.filter((revision) => revision !== "2024-11-05");

/** Stops the clock of the server, whose timers go on; `pass` advances it. */
function stopClock(): { pass(ms: number): void } {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_800_000_000_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  return { pass: (ms) => vi.advanceTimersByTime(ms) };
}

const abandonMs = 60_000;
const sessions = { abandonMs };
const quick = { keepAliveMs: 5, quietMs: 1 };

test.each(overHttp)("a call is aborted when its session was not connected for abandonMs (%s)", async (revision) => {
  const clock = stopClock();
  const fixture = createFixture();
  const { url } = await start(fixture.server, { sessions, ...quick });
  const peer = await begin(url, revision);
  const answer = await peer.call("hold", { key: "a" });
  await fixture.noted("holding a");
  answer.drop();
  await answer.closed;
  clock.pass(abandonMs - 1_000);
  for (let tick = 0; tick < 5; tick += 1) await peer.textOf("echo", { text: "early" });
  expect(fixture.journal).not.toContain("aborted a");
  await until(async () => {
    clock.pass(abandonMs);
    await peer.textOf("echo", { text: "later" });
    return fixture.journal.includes("aborted a");
  });
  // The session goes on: only its calls were abandoned.
  expect(await peer.textOf("echo", { text: "late" })).toBe("late");
});

test.each(overHttp)("a call whose JSON answer nobody waits for is aborted too (%s)", async (revision) => {
  const clock = stopClock();
  const fixture = createFixture();
  const { url } = await start(fixture.server, { sessions, keepAliveMs: 5 });
  const peer = await begin(url, revision);
  const cut = new AbortController();
  const call = peer.call("hold", { key: "a" }, 1, {}, cut.signal);
  await fixture.noted("holding a");
  cut.abort();
  await expect(call).rejects.toThrow();
  await until(async () => {
    clock.pass(abandonMs);
    await peer.textOf("echo", { text: "later" });
    return fixture.journal.includes("aborted a");
  });
});

test.each(overHttp)("a call goes on while its client waits for it, or has another stream (%s)", async (revision) => {
  const clock = stopClock();
  const fixture = createFixture();
  const { url } = await start(fixture.server, { sessions, ...quick });
  const [waiting, listening] = [await begin(url, revision), await begin(url, revision)];
  const answer = await waiting.call("hold", { key: "a" });
  const stream = await listening.get();
  stream.messages().catch(() => {});
  const dropped = await listening.call("hold", { key: "b" });
  await fixture.noted("holding b");
  dropped.drop();
  await dropped.closed;
  for (let round = 0; round < 5; round += 1) {
    clock.pass(abandonMs - 1_000);
    // Several keep-alives, at which the server looks for abandoned sessions.
    for (let tick = 0; tick < 5; tick += 1) await listening.textOf("echo", { text: "later" });
  }
  fixture.release("a");
  expect((await answer.response()).result).toBeDefined();
  expect(fixture.journal.filter((line) => line.startsWith("aborted"))).toEqual([]);
  stream.drop();
  await stream.closed;
  await until(async () => {
    clock.pass(abandonMs);
    await listening.textOf("echo", { text: "later" });
    return fixture.journal.includes("aborted b");
  });
});

test.each(overHttp)("a client that resumes its stream keeps its call (%s)", async (revision) => {
  const clock = stopClock();
  const fixture = createFixture();
  const { url } = await start(fixture.server, { sessions, ...quick });
  const peer = await begin(url, revision);
  const answer = await peer.call("hold", { key: "a" });
  fixture.step("a");
  const { id } = await answer.messageEvent();
  answer.drop();
  await answer.closed;
  const resumed = await peer.get(id);
  fixture.step("a");
  await resumed.message();
  clock.pass(abandonMs + 1_000);
  for (let tick = 0; tick < 5; tick += 1) await peer.textOf("echo", { text: "later" });
  expect(fixture.journal).not.toContain("aborted a");
  fixture.release("a");
  expect((await resumed.message()).result).toBeDefined();
});

test("a client that is connected to another process keeps its call", async () => {
  const clock = stopClock();
  const memory = createMemoryStorage();
  let marks = 0;
  const set: typeof memory.kv.set = (key, value, options) => {
    if (key.startsWith("mcp/connected/")) marks += 1;
    return memory.kv.set(key, value, options);
  };
  const { kv } = memory;
  const storage = { ...memory, kv: { get: kv.get.bind(kv), set, delete: kv.delete.bind(kv), list: kv.list.bind(kv) } };
  const [fixture, other] = [createFixture(), createFixture()];
  const here = await start(fixture.server, { storage, sessions, ...quick });
  const there = await start(other.server, { storage, sessions, ...quick });
  const peer = await begin(here.url, "2025-11-25");
  const stream = await peer.at(there.url).get();
  stream.messages().catch(() => {});
  const answer = await peer.call("hold", { key: "a" });
  await fixture.noted("holding a");
  answer.drop();
  await answer.closed;
  for (let round = 0; round < 5; round += 1) {
    const before = marks;
    clock.pass(abandonMs / 2);
    // The other process says again that the session is connected.
    await until(async () => marks > before);
  }
  expect(fixture.journal).not.toContain("aborted a");
  stream.drop();
  await stream.closed;
  await until(async () => {
    clock.pass(abandonMs);
    await peer.textOf("echo", { text: "later" });
    return fixture.journal.includes("aborted a");
  });
});

test.each(overHttp)(
  "an expired session ends here: its calls are aborted and its place is free (%s)",
  async (revision) => {
    const clock = stopClock();
    const fixture = createFixture();
    const idleMs = 60_000;
    const { url } = await start(fixture.server, { sessions: { idleMs, abandonMs: 10 * idleMs, max: 1 }, ...quick });
    const peer = await begin(url, revision);
    const answer = await peer.call("hold", { key: "a" });
    await fixture.noted("holding a");
    answer.drop();
    await answer.closed;
    // A running call does not keep its session alive.
    await until(async () => {
      clock.pass(idleMs);
      return fixture.journal.includes("aborted a");
    });
    expect((await peer.request("ping")).status).toBe(404);
    await begin(url, revision);
  },
);

test("a session ends with its calls in every process that has some", async () => {
  const clock = stopClock();
  const storage = createMemoryStorage();
  const [fixture, other] = [createFixture(), createFixture()];
  const idleMs = 60_000;
  const options = { storage, sessions: { idleMs, abandonMs: 10 * idleMs }, ...quick };
  const [here, there] = [await start(fixture.server, options), await start(other.server, options)];
  const peer = await begin(here.url, "2025-11-25");
  const answer = await peer.at(there.url).call("hold", { key: "a" });
  await other.noted("holding a");
  answer.drop();
  await answer.closed;
  await until(async () => {
    clock.pass(idleMs);
    return other.journal.includes("aborted a");
  });
});
