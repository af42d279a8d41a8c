import { describe, expect, test } from "vitest";
import type { ActivityEntry } from "./log.ts";
import { openActivity } from "./log.ts";
import type { ActivitySink } from "./sinks.ts";
import { memorySink } from "./sinks.ts";

async function collect(entries: AsyncIterable<ActivityEntry>): Promise<ActivityEntry[]> {
  const all: ActivityEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

/** A sink that fails or waits on demand. */
function controlledSink() {
  const sink = memorySink();
  const mood: { error: Error | undefined; wait: Promise<void> | undefined; appends: number } = {
    error: undefined,
    wait: undefined,
    appends: 0,
  };
  const moody: ActivitySink = {
    ...sink,
    async append(build) {
      mood.appends += 1;
      await mood.wait;
      if (mood.error) throw mood.error;
      await sink.append(build);
    },
  };
  return { sink: moody, mood, inner: sink };
}

describe("record", () => {
  test("numbers entries, adds the time, and keeps all members", async () => {
    const log = openActivity(memorySink(), { now: () => Date.UTC(2030, 0, 2) });
    log.record({ kind: "call", server: "git", name: "push", id: "1", args: { force: true } });
    log.record({ kind: "result", server: "git", name: "push", id: "1" });
    expect(await collect(log.query())).toEqual([
      {
        seq: 1,
        at: "2030-01-02T00:00:00.000Z",
        kind: "call",
        server: "git",
        name: "push",
        id: "1",
        args: { force: true },
      },
      { seq: 2, at: "2030-01-02T00:00:00.000Z", kind: "result", server: "git", name: "push", id: "1" },
    ]);
  });

  test("an entry cannot set its own number or time, or imitate a seal", async () => {
    const log = openActivity(memorySink(), { now: () => 0 });
    log.record({ kind: "call", seq: 99, at: "then", seal: "x", text: '"}\n{"seal":"' });
    expect(await collect(log.query())).toMatchObject([{ seq: 1, at: "1970-01-01T00:00:00.000Z", seal: "x" }]);
    expect(await log.verify()).toMatchObject({ ok: true, entries: 1 });
  });

  test("writes by itself, many entries in one block", async () => {
    const { sink, mood, inner } = controlledSink();
    const log = openActivity(sink, { flushMs: 1 });
    for (let count = 0; count < 100; count++) log.record({ kind: "call", count });
    await expect.poll(() => inner.text.split("\n").length).toBe(102);
    expect(mood.appends).toBe(1);
    await log.close();
  });

  test("writes an urgent entry at once, after all that waited", async () => {
    const { sink, inner } = controlledSink();
    const log = openActivity(sink, { flushMs: 1_000_000 });
    log.record({ kind: "call" });
    expect(inner.text).toBe("");
    log.record({ kind: "decision" }, { urgent: true });
    await expect.poll(() => inner.text.split("\n").length).toBe(4);
    await log.close();
  });

  test("never throws, and counts entries that cannot be written", async () => {
    const errors: unknown[] = [];
    const log = openActivity(memorySink(), {
      onError: (error) => {
        errors.push(error);
        throw new Error("a listener that throws");
      },
    });
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    log.record({ kind: "call", cycle, big: 10n, at_: new Date(0), f: () => 1 });
    const hostile = {
      get boom(): string {
        throw new Error("no");
      },
    };
    log.record({ kind: "call", hostile });
    expect(log.lost).toBe(1);
    expect(errors).toHaveLength(1);
    const entries = await collect(log.query());
    expect(entries).toMatchObject([
      { seq: 1, big: "10", at_: "1970-01-01T00:00:00.000Z" },
      { seq: 2, kind: "error", name: "activity-lost", entries: 1 },
    ]);
    await log.close();
  });

  test("replaces long texts by their digest, length and beginning", async () => {
    const log = openActivity(memorySink());
    const text = "ab".repeat(50_000);
    log.record({ kind: "result", text, short: "kept" });
    const [entry] = await collect(log.query());
    expect(entry).toMatchObject({
      short: "kept",
      text: { digest: expect.stringMatching(/^sha256-[\w-]{43}$/), chars: 100_000, head: "ab".repeat(128) },
    });
    await log.close();
  });

  test.each([
    ["many texts", { texts: Array.from({ length: 5_000 }, () => "some text ".repeat(10)) }],
    ["many names", Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`name ${index}`, index]))],
    ["great depth", JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)],
    ["signs that grow when they are written", { text: "\u0001".repeat(30_000), more: ["\u0002".repeat(2_000)] }],
    [
      "all at once",
      Array.from({ length: 100 }, () => ({ text: "\u0000".repeat(2_000), deep: [[["x".repeat(3_000)]]] })),
    ],
  ])("an entry is at most 64 KB: %s", async (_, data) => {
    const sink = memorySink();
    const log = openActivity(sink);
    log.record({ kind: "result", data });
    await log.flush();
    expect(log.lost).toBe(0);
    expect(Math.max(...sink.text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(65_536 + 100);
    expect(await collect(log.query())).toMatchObject([{ kind: "result" }]);
  });
});

describe("while the sink fails", () => {
  test("entries wait, and are written when the sink works again", async () => {
    const { sink, mood } = controlledSink();
    const errors: unknown[] = [];
    const log = openActivity(sink, { onError: (error) => errors.push(error) });
    mood.error = new Error("the disk is full");
    log.record({ kind: "call", name: "one" });
    await expect(log.flush()).rejects.toMatchObject({ code: "store-failed" });
    await expect(log.flush()).rejects.toMatchObject({ code: "store-failed" });
    expect(errors).toEqual([mood.error]);
    mood.error = undefined;
    log.record({ kind: "call", name: "two" });
    expect((await collect(log.query())).map(({ name }) => name)).toEqual(["one", "two"]);
    expect(log.lost).toBe(0);
    await log.close();
  });

  test("the log retries by itself", async () => {
    const { sink, mood, inner } = controlledSink();
    const log = openActivity(sink, { flushMs: 1 });
    mood.error = new Error("away");
    log.record({ kind: "call" });
    await expect.poll(() => mood.appends).toBeGreaterThan(0);
    mood.error = undefined;
    await expect.poll(() => inner.text, { timeout: 10_000 }).not.toBe("");
    await log.close();
  });

  test("counts dropped entries, and reports the gap at its place", async () => {
    const { sink, mood } = controlledSink();
    const errors: unknown[] = [];
    const log = openActivity(sink, { maxWaiting: 3, onError: (error) => errors.push(error) });
    mood.error = new Error("away");
    for (let name = 1; name <= 5; name++) log.record({ kind: "call", name: String(name) });
    expect(log.lost).toBe(2);
    expect(errors).toMatchObject([{ code: "limit-reached" }]);
    mood.error = undefined;
    await log.flush();
    log.record({ kind: "call", name: "6" });
    expect((await collect(log.query())).map(({ name, entries }) => entries ?? name)).toEqual(["1", "2", "3", 2, "6"]);
    await log.close();
  });

  test("limits the memory of waiting entries by size, not only by number", async () => {
    const { sink, mood } = controlledSink();
    mood.error = new Error("away");
    const log = openActivity(sink);
    for (let count = 0; count < 10; count++) log.record({ kind: "result", text: "x".repeat(4 * 1024 * 1024) });
    expect(log.lost).toBe(6);
    mood.error = undefined;
    await log.flush();
    log.record({ kind: "call" });
    expect(log.lost).toBe(6);
    await log.close();
  });

  test("ready throws only if the log is required", async () => {
    const { sink, mood } = controlledSink();
    const required = openActivity(sink, { required: true, maxWaiting: 1 });
    const optional = openActivity(sink);
    required.ready();
    mood.error = new Error("away");
    for (const log of [required, optional]) {
      log.record({ kind: "call" });
      await log.flush().catch(() => undefined);
    }
    expect(() => required.ready()).toThrow(expect.objectContaining({ code: "store-failed", cause: mood.error }));
    optional.ready();
    mood.error = undefined;
    await required.flush();
    required.ready();
    for (let count = 0; count < 2; count++) required.record({ kind: "call" });
    expect(() => required.ready()).toThrow(expect.objectContaining({ code: "store-failed" }));
    await required.close();
    await optional.close();
  });

  test("record does not wait for a slow sink", async () => {
    const { sink, mood } = controlledSink();
    let go = () => {};
    mood.wait = new Promise((resolve) => {
      go = resolve;
    });
    const log = openActivity(sink);
    log.record({ kind: "call", name: "one" }, { urgent: true });
    log.record({ kind: "call", name: "two" }, { urgent: true });
    await expect.poll(() => mood.appends).toBe(1);
    log.record({ kind: "call", name: "three" }, { urgent: true });
    expect(mood.appends).toBe(1);
    go();
    await log.close();
    expect((await collect(log.query())).length).toBe(3);
  });

  test("close rejects once, and closes the sink", async () => {
    const { sink, mood } = controlledSink();
    const log = openActivity(sink);
    mood.error = new Error("away");
    log.record({ kind: "call" });
    await expect(log.close()).rejects.toMatchObject({ code: "store-failed" });
    await expect(log.close()).rejects.toMatchObject({ code: "store-failed" });
    log.record({ kind: "call" });
    expect(log.lost).toBe(1);
  });
});
