import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryStorage } from "../../../storage/memory.ts";
import type { KeyValue } from "../../../storage/storage.ts";
import { Callers } from "../../callers.ts";
import { sharedStreamMs, sharedUseMs } from "../limits.ts";
import { SharedUse } from "./shared-use.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const limits = { atOnce: { sessions: { perCaller: 2 }, streams: { perCaller: 2 } }, perMinute: {} };

const sessionMs = 60_000;

/** Creates the count of one process. */
function createUse(kv: KeyValue = createMemoryStorage().kv) {
  const reported: unknown[] = [];
  const use = new SharedUse(kv, { limits, sessionMs, report: (error, about) => reported.push([String(error), about]) });
  return {
    use,
    reported,
    ada: new Callers(limits).get("principal ada"),
    bob: new Callers(limits).get("principal bob"),
  };
}

/** Lets the time for changes pass, once at least this many timers wait. Digests of callers take real time. */
async function passLimit(changes: number): Promise<void> {
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThanOrEqual(changes));
  await vi.advanceTimersByTimeAsync(sharedUseMs);
}

/** A storage that loses the answers to the first reads. */
function losing(count: number): KeyValue {
  const { kv } = createMemoryStorage();
  let lost = 0;
  return {
    get: (key) => {
      lost += 1;
      return lost <= count ? new Promise(() => {}) : kv.get(key);
    },
    set: (key, value, options) => kv.set(key, value, options),
    delete: (key) => kv.delete(key),
    list: (prefix, options) => kv.list(prefix, options),
  };
}

test("a lost answer holds its caller for a limited time, and is reported once with the caller", async () => {
  const { use, reported, ada, bob } = createUse(losing(1));
  const ended: string[] = [];
  const begin = (caller: typeof ada, id: string) => use.beginSession(caller, id).then(() => ended.push(id));
  void begin(ada, "lost");
  // The digest of another caller may be ready earlier, and its read would be the lost one.
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  void begin(ada, "later");
  await begin(bob, "other caller");
  expect(ended).toEqual(["other caller"]);
  await passLimit(2);
  expect(ended.sort()).toEqual(["later", "lost", "other caller"]);
  await begin(ada, "latest");
  expect(reported).toEqual([
    [
      "PortolanError: The storage has not answered within 2 s, so that the use of a caller is counted in this process only",
      { method: "storage", caller: "principal ada", count: 1 },
    ],
  ]);
});

test("no change of a caller waits longer than the limit, however many wait", async () => {
  const { use, ada } = createUse(losing(Number.POSITIVE_INFINITY));
  const opened = Promise.all(Array.from({ length: 50 }, () => use.openStream(ada)));
  await passLimit(50);
  for (const release of await opened) release();
  use.close();
});

test("a change that is answered too late is not made", async () => {
  const { kv } = createMemoryStorage();
  let answer = () => {};
  const slow: KeyValue = {
    ...losing(0),
    get: (key) => new Promise((resolve) => (answer = () => resolve(kv.get(key)))),
    set: vi.fn((key, value, options) => kv.set(key, value, options)),
  };
  const { use, ada } = createUse(slow);
  const begun = use.beginSession(ada, "a");
  await passLimit(1);
  await begun;
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(slow.set).not.toHaveBeenCalled();
});

test("a stream opens while the storage fails, and counts once it is back", async () => {
  const { kv } = createMemoryStorage();
  let isDown = true;
  const flaky: KeyValue = {
    get: (key) => (isDown ? Promise.reject(new Error("down")) : kv.get(key)),
    set: (key, value, options) => kv.set(key, value, options),
    delete: (key) => kv.delete(key),
    list: (prefix, options) => kv.list(prefix, options),
  };
  const [here, there] = [createUse(flaky), createUse(kv)];
  const releases = [await here.use.openStream(here.ada), await here.use.openStream(here.ada)];
  expect(here.reported).toContainEqual(["Error: down", { method: "storage", caller: "principal ada" }]);
  isDown = false;
  await vi.advanceTimersByTimeAsync(30_000);
  await expect(there.use.openStream(there.ada)).rejects.toThrow("Limit reached");
  for (const release of releases) release();
  await vi.advanceTimersByTimeAsync(0);
  (await there.use.openStream(there.ada))();
  here.use.close();
  there.use.close();
});

test("what was counted before the clock was set back does not count", async () => {
  const { use, ada } = createUse();
  for (const id of ["a", "b"]) await use.beginSession(ada, id);
  const releases = [await use.openStream(ada), await use.openStream(ada)];
  await expect(use.beginSession(ada, "c")).rejects.toThrow("Limit reached");
  use.close();
  vi.setSystemTime(Date.now() - 6 * 3_600_000);
  await use.beginSession(ada, "c");
  releases.push(await use.openStream(ada));
  for (const release of releases) release();
  use.close();
});

test("what a process counts whose clock is a few seconds ahead does count", async () => {
  const { use, ada } = createUse();
  for (const id of ["a", "b"]) await use.beginSession(ada, id);
  vi.setSystemTime(Date.now() - 5_000);
  await expect(use.beginSession(ada, "c")).rejects.toThrow("Limit reached");
});

/** A storage whose operations fail while it is down. */
function failing() {
  const { kv } = createMemoryStorage();
  const state = { isDown: false };
  const orFail = <T>(work: () => Promise<T>) => (state.isDown ? Promise.reject(new Error("down")) : work());
  const failingKv: KeyValue = {
    get: (key) => orFail(() => kv.get(key)),
    set: (key, value, options) => orFail(() => kv.set(key, value, options)),
    delete: (key) => orFail(() => kv.delete(key)),
    list: (prefix, options) => orFail(() => kv.list(prefix, options)),
  };
  return { kv: failingKv, state };
}

test("streams and sessions that end while the storage is down are taken out by the next change of their caller", async () => {
  const { kv, state } = failing();
  const { use, ada } = createUse(kv);
  const digest = await use.beginSession(ada, "ended");
  const releases = [await use.openStream(ada), await use.openStream(ada)];
  state.isDown = true;
  for (const release of releases) release();
  await use.endSession(String(digest), "ended");
  state.isDown = false;
  const release = await use.openStream(ada);
  expect(await use.of(ada)).toEqual({ sessions: 0, streams: 1 });
  release();
  use.close();
});

test("streams that end while the storage is down are taken out when it is back, without another change", async () => {
  const { kv, state } = failing();
  const { use, ada } = createUse(kv);
  const release = await use.openStream(ada);
  state.isDown = true;
  release();
  await vi.advanceTimersByTimeAsync(sharedUseMs);
  state.isDown = false;
  expect(await use.of(ada)).toEqual({ sessions: 0, streams: 1 });
  await vi.advanceTimersByTimeAsync(sharedStreamMs / 3);
  expect(await use.of(ada)).toEqual({ sessions: 0, streams: 0 });
  use.close();
});
