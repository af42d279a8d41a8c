import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createMemoryStorage } from "../../../storage/memory.ts";
import type { Storage } from "../../../storage/storage.ts";
import { Callers } from "../../callers.ts";
import { finishedEventTtlMs, maxEventIdCharacters, maxKeptEvents, streamOverheadBytes } from "../limits.ts";
import { EventLog, parseEventId, standaloneNameWith } from "./event-log.ts";
import { KeptEvents, takeBytes } from "./kept-events.ts";
import { makeProof } from "./standalone-stream.ts";

describe("parseEventId", () => {
  test.each([
    ["abc1_", { stream: "abc1", id: "" }],
    ["abc1_12", { stream: "abc1", id: "12" }],
    [`${standaloneNameWith("p-1")}_9-0`, { stream: "get", id: "9-0", proof: "p-1" }],
  ])("reads %s", (text, position) => {
    expect(parseEventId(text)).toEqual(position);
  });

  test("reads the ids of a standalone stream whatever its secret is", () => {
    for (let count = 0; count < 200; count += 1) {
      const proof = makeProof();
      expect(parseEventId(`${standaloneNameWith(proof)}_9-0`)).toEqual({ stream: "get", id: "9-0", proof });
    }
  });

  test.each(["", "_1", "abc", "abc_x", "abc_-1", "abc_1234567890", `${"a".repeat(maxEventIdCharacters)}_1`])(
    "refuses %j",
    (text) => {
      expect(parseEventId(text)).toBeUndefined();
    },
  );
});

const caller = new Callers({ atOnce: {}, perMinute: {} }).total;

describe("the log of an answer", () => {
  const logs: EventLog[] = [];
  const open = async (storage = createMemoryStorage()) => {
    const log = new EventLog(storage);
    logs.push(log);
    await log.open("session", "s", caller);
    return { log, storage };
  };
  afterEach(() => {
    for (const log of logs.splice(0)) log.close();
  });
  const after = async (log: EventLog, id: string) => {
    const texts: string[] = [];
    for await (const { id: eventId, text } of log.follow("session", { stream: "s", id }, caller))
      texts.push(`${eventId} ${text}`);
    return texts;
  };

  test("yields the messages after a position up to the last one", async () => {
    const { log } = await open();
    await log.append("session", "s", 1, "one", false);
    await log.append("session", "s", 2, "two", false);
    await log.append("session", "s", 3, "three", true);
    expect(await after(log, "")).toEqual(["s_1 one", "s_2 two", "s_3 three"]);
    expect(await after(log, "2")).toEqual(["s_3 three"]);
  });

  test("whose last message could not be stored ends with an error, after an outage since its beginning", async () => {
    const storage = createMemoryStorage();
    let isDown = true;
    const down = () => Promise.reject(new Error("down"));
    const kv: Storage["kv"] = {
      get: (key) => (isDown ? down() : storage.kv.get(key)),
      set: (key, value, options) => (isDown ? down() : storage.kv.set(key, value, options)),
      delete: (key) => (isDown ? down() : storage.kv.delete(key)),
      list: (prefix, options) => storage.kv.list(prefix, options),
    };
    const entries: Storage["log"] = {
      append: (key, value, options) => (isDown ? down() : storage.log.append(key, value, options)),
      after: (key, id, options) => storage.log.after(key, id, options),
      delete: (key) => (isDown ? down() : storage.log.delete(key)),
    };
    const log = new EventLog({ ...storage, kv, log: entries }, { isShared: true, leaseMs: 60 });
    logs.push(log);
    await expect(log.open("session", "s", caller, [7])).rejects.toThrow("down");
    isDown = false;
    await log.append("session", "s", 1, "one", false);
    isDown = true;
    await expect(log.append("session", "s", 2, "two", true)).rejects.toThrow("down");
    isDown = false;
    const requests = () => storage.kv.get("mcp/events/session/s/requests");
    await expect.poll(requests).toBe("[7]");
    const [end, ...others] = await after(log, "1");
    expect(others).toEqual([]);
    expect(end).toMatch(/^s_2 .*"id":7,"error".*could not store the answer/);
  });

  test("is followed by another process while it is written", async () => {
    const { log, storage } = await open();
    await log.append("session", "s", 1, "one", false);
    const other = new EventLog(storage);
    const read = after(other, "");
    await log.append("session", "s", 2, "two", true);
    expect(await read).toEqual(["s_1 one", "s_2 two"]);
  });

  test("ends for a reader when the lease of its writer is gone", async () => {
    const { log, storage } = await open();
    await log.append("session", "s", 1, "one", false);
    await storage.kv.delete("mcp/events/session/s/lease");
    expect(await after(log, "")).toEqual(["s_1 one"]);
  });

  test("is complete after a position unless the next message was dropped", async () => {
    const { log, storage } = await open();
    expect(await log.isKept("session", { stream: "s", id: "" }, caller)).toBe(true);
    await storage.log.append("mcp/events/session/s", "m3 three");
    expect(await log.isKept("session", { stream: "s", id: "2" }, caller)).toBe(true);
    expect(await log.isKept("session", { stream: "s", id: "1" }, caller)).toBe(false);
    expect(await log.isKept("session", { stream: "unknown", id: "" }, caller)).toBe(false);
  });
});

test("the log of a standalone stream yields the messages after a position, and nothing for an unknown one", async () => {
  const log = new EventLog(createMemoryStorage());
  const first = await log.appendStandalone("session", "one", caller);
  await log.appendStandalone("session", "two", caller);
  const position = { stream: "get", id: String(first) };
  expect((await log.read("session", position, caller))?.after.map(({ text }) => text)).toEqual(["two"]);
  expect(await log.read("session", { stream: "get", id: "unknown" }, caller)).toBeUndefined();
});

test("the log of a standalone stream tells which publications a client at a position has heard", async () => {
  const log = new EventLog(createMemoryStorage(), { isShared: true });
  const ids: string[] = [];
  for (const publication of ["p1", "", "p2", "p3"]) {
    ids.push(String(await log.appendStandalone("session", "{}", caller, publication)));
  }
  const heardAt = async (id = "") => (await log.read("session", { stream: "get", id }, caller))?.heard;
  expect(await Promise.all(["", ids[0], ids[2], ids[3]].map(heardAt))).toEqual([
    [],
    ["p1"],
    ["p1", "p2"],
    ["p1", "p2", "p3"],
  ]);
  // Older ones are dropped.
  for (let n = 0; n < maxKeptEvents; n += 1) await log.appendStandalone("session", "{}", caller, `q${n}`);
  expect(await heardAt(ids[3])).toEqual([]);
});

test("an event id names the publications that were sent without being stored", () => {
  const id = `${standaloneNameWith("proof", ["p1", "p2"])}_7`;
  expect(parseEventId(id)).toEqual({ stream: "get", id: "7", proof: "proof", unstored: ["p1", "p2"] });
});

describe("a log that its caller may not keep", () => {
  /** A caller that may keep one stream and these bytes. */
  const limited = (bytes: number) => {
    const keptBytes = { perCaller: streamOverheadBytes + bytes, total: 1e9 };
    return new Callers({ atOnce: { keptBytes }, perMinute: {} }).get("a");
  };
  const large = "x".repeat(1_000);

  test("can be resumed from after the lost message only", async () => {
    const storage = createMemoryStorage();
    const log = new EventLog(storage);
    await log.open("session", "s", limited(1_000));
    await log.append("session", "s", 1, "one", false);
    await log.append("session", "s", 2, large, false);
    const isKept = (id: string) => log.isKept("session", { stream: "s", id }, caller);
    expect([await isKept(""), await isKept("1"), await isKept("2")]).toEqual([false, false, true]);
    await log.append("session", "s", 3, "three", true);
    expect([await isKept(""), await isKept("1"), await isKept("2")]).toEqual([false, false, true]);
    const rest: string[] = [];
    for await (const { text } of log.follow("session", { stream: "s", id: "2" }, caller)) rest.push(text);
    expect(rest).toEqual(["three"]);
    log.close();
  });

  test("gives back its bytes when it is dropped, expires or ends with its session", async () => {
    const owner = limited(2_000);
    const log = new EventLog(createMemoryStorage());
    await log.open("session", "s", owner);
    await log.append("session", "s", 1, large, false);
    expect(owner.exhausts("keptBytes", 1_000)).toBe("caller");
    await log.append("session", "s", 2, large, false);
    expect(owner.exhausts("keptBytes", 2_000)).toBeUndefined();
    await log.append("session", "s", 3, large, false);
    await log.forget("session");
    expect(owner.exhausts("keptBytes", streamOverheadBytes + 2_000)).toBeUndefined();
    expect(log.isEmpty).toBe(true);
    log.close();
  });

  test("of a standalone stream refuses positions from before the loss", async () => {
    const log = new EventLog(createMemoryStorage());
    const owner = limited(1_000);
    const first = String(await log.appendStandalone("session", "one", owner));
    expect(await log.appendStandalone("session", large, owner)).toBeUndefined();
    await log.restartStandalone("session", "new");
    expect(await log.read("session", { stream: "get", id: first, proof: "old" }, caller)).toBeUndefined();
    expect(await log.read("session", { stream: "get", id: "", proof: "new" }, caller)).toMatchObject({ after: [] });
  });
});

test("a stream counts with what it takes in the storage, from its beginning until its events expire", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const keptBytes = { perCaller: 4 * streamOverheadBytes, total: 1e9 };
  const owner = new Callers({ atOnce: { keptBytes }, perMinute: {} }).get("a");
  const log = new EventLog(createMemoryStorage());
  const names = ["s1", "s2", "s3", "s4", "s5"];
  const begun = names.map((name) => log.open("session", name, owner));
  expect(begun.map((opened) => opened !== undefined)).toEqual([true, true, true, true, false]);
  await Promise.all(begun);
  for (const name of names) await log.append("session", name, 1, "last", true);
  expect(owner.used.keptBytes).toBe(4 * streamOverheadBytes);
  vi.advanceTimersByTime(finishedEventTtlMs);
  log.sweep();
  expect([owner.used.keptBytes, log.isEmpty]).toEqual([0, true]);
  log.close();
});

test("the streams of an ended session count until they are deleted", async () => {
  const owner = new Callers({ atOnce: {}, perMinute: {} }).get("a");
  const log = new EventLog(createMemoryStorage());
  await Promise.all([log.open("session", "s1", owner), log.open("session", "s2", owner)]);
  const forgotten = log.forget("session");
  expect(owner.used.keptBytes).toBe(2 * streamOverheadBytes);
  await forgotten;
  expect(owner.used.keptBytes).toBe(0);
  log.close();
});

test("a stream whose session has ended counts no more", () => {
  const owner = new Callers({ atOnce: {}, perMinute: {} }).get("a");
  takeBytes(owner, streamOverheadBytes);
  const kept = new KeptEvents(owner);
  expect(kept.add("one")).toBe(true);
  kept.end();
  expect(kept.add("two")).toBe(false);
  kept.end();
  expect([owner.used.keptBytes, owner.used.eventBytes]).toEqual([0, 0]);
});

test("a stream of a caller that is faster than the storage is not recorded", async () => {
  const storingStreams = { perCaller: 2, total: 1e9 };
  const owner = new Callers({ atOnce: { storingStreams }, perMinute: {} }).get("a");
  owner.take("storingStreams", 2);
  const log = new EventLog(createMemoryStorage());
  expect(log.open("session", "s", owner)).toBeUndefined();
  expect(log.isEmpty).toBe(true);
  owner.release("storingStreams");
  expect(log.open("session", "s", owner)).toBeInstanceOf(Promise);
  log.close();
});

test("a reader that follows an answer stops at a gap", async () => {
  const storage = createMemoryStorage();
  const log = new EventLog(storage);
  await log.open("session", "s", caller);
  for (const entry of ["m1 one", "m3 three", "e4 four"]) await storage.log.append("mcp/events/session/s", entry);
  const read: string[] = [];
  for await (const { text } of log.follow("session", { stream: "s", id: "" }, caller)) read.push(text);
  expect(read).toEqual(["one"]);
  log.close();
});
