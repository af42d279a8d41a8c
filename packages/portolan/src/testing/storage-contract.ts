import type { LogEntry, Storage } from "../storage/storage.ts";
import { type ChecksOf, type ContractCheck, codeOf, same, toChecks } from "./contract.ts";

/** An empty storage for the contract. */
export interface StorageUnderTest {
  readonly storage: Storage;
  /** The same storage as another process sees it. The same object if only one process can use it. */
  readonly other: Storage;
  /** Resolves when at least this time has passed for the storage. */
  passTime(ms: number): Promise<void>;
  release?(): Promise<void>;
}

/** Returns test cases for every requirement of the Storage interfaces. Each makes its own storage. */
export function storageContract(make: () => Promise<StorageUnderTest>): ContractCheck[] {
  return toChecks({ ...keyValueChecks, ...logChecks, ...busChecks }, make);
}

/** Texts that a storage may confuse with each other, or with its own marks. */
const anyTexts = [
  ...["", " ", "__proto__", "a:b*?[c]", "naïve ☂ 🗺\n\0", "x".repeat(50_000), "{", "}", "{}", "{a}b"],
  ...["\ud800", "\ud801", "\udc00", "\ufffd", "\ufdd0", "\ufdd0d800", "\u0001", "\\ud800"],
];

const keyValueChecks: ChecksOf<StorageUnderTest> = {
  "kv: returns a value that was set, also to another process": async ({ storage, other }) => {
    same(await storage.kv.get("a"), undefined);
    same(await storage.kv.set("a", "1"), true);
    same(await other.kv.get("a"), "1");
    same(await other.kv.set("a", "2"), true);
    same(await storage.kv.get("a"), "2");
  },
  "kv: accepts any text as key and value": async ({ storage }) => {
    for (const text of anyTexts) await storage.kv.set(`k${text.slice(0, 100)}`, text);
    for (const text of anyTexts) same(await storage.kv.get(`k${text.slice(0, 100)}`), text);
    same((await storage.kv.list("k")).length, anyTexts.length);
    for (const text of anyTexts) same(await storage.kv.set(`k${text.slice(0, 100)}`, "", { expect: text }), true);
  },
  "kv: deletes a key, and ignores a second delete": async ({ storage }) => {
    await storage.kv.set("a", "1");
    await storage.kv.delete("a");
    await storage.kv.delete("a");
    same(await storage.kv.get("a"), undefined);
  },
  "kv: writes with expect null only if the key is absent": async ({ storage }) => {
    same(await storage.kv.set("a", "1", { expect: null }), true);
    same(await storage.kv.set("a", "2", { expect: null }), false);
    same(await storage.kv.get("a"), "1");
  },
  "kv: writes with an expected value only over that value": async ({ storage }) => {
    same(await storage.kv.set("a", "1", { expect: "0" }), false);
    same(await storage.kv.get("a"), undefined);
    await storage.kv.set("a", "0");
    same(await storage.kv.set("a", "1", { expect: "0" }), true);
    same(await storage.kv.set("a", "2", { expect: "0" }), false);
    same(await storage.kv.get("a"), "1");
  },
  "kv: stores an empty value": async ({ storage }) => {
    await storage.kv.set("a", "");
    same(await storage.kv.get("a"), "");
    same(await storage.kv.set("a", "1", { expect: null }), false);
    same(await storage.kv.set("a", "1", { expect: "" }), true);
  },
  "kv: lets exactly one of many concurrent writers win": async ({ storage, other }) => {
    const racers = Array.from({ length: 20 }, (_, racer) => (racer % 2 === 0 ? storage : other));
    const won = await Promise.all(racers.map(({ kv }, racer) => kv.set("lease", String(racer), { expect: null })));
    same(won.filter(Boolean).length, 1);
    same(await storage.kv.get("lease"), String(won.indexOf(true)));
  },
  "kv: expires a value after its ttl": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    await storage.kv.set("b", "1", { ttlMs: 600_000 });
    await passTime(50);
    same(await storage.kv.get("a"), undefined);
    same(await storage.kv.list(""), [{ key: "b", value: "1" }]);
    same(await storage.kv.set("a", "2", { expect: null }), true);
  },
  "kv: removes an earlier ttl when a value is written without one": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 400 });
    await storage.kv.set("a", "2");
    await passTime(400);
    same(await storage.kv.get("a"), "2");
    same((await storage.kv.list("")).length, 1);
  },
  "kv: keeps value and ttl when it refuses a write": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    same(await storage.kv.set("a", "2", { ttlMs: 600_000, expect: "no" }), false);
    await passTime(50);
    same(await storage.kv.get("a"), undefined);
  },
  "kv: refuses an invalid ttl": async ({ storage }) => {
    for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      same(await codeOf(() => storage.kv.set("a", "1", { ttlMs })), "invalid-argument");
    }
    same(await storage.kv.get("a"), undefined);
  },
  "kv: lists each key of a prefix once, page by page": async ({ storage }) => {
    const keys = ["s:", "s:1", "s:10", "s:2", "s:a", "s:b"];
    for (const key of [...keys, "s", "t:1", "r:1", "s*"].reverse()) await storage.kv.set(key, `v${key}`);
    const seen: string[] = [];
    let page = await storage.kv.list("s:", { limit: 4 });
    same(page.length, 4);
    while (page.length > 0) {
      for (const { key, value } of page) same(value, `v${key}`);
      seen.push(...page.map(({ key }) => key));
      page = await storage.kv.list("s:", { limit: 4, after: seen.at(-1) ?? "" });
    }
    same(seen.toSorted(), keys);
    same((await storage.kv.list("")).length, 10);
  },
  "kv: continues paging after a deleted key": async ({ storage }) => {
    for (const key of ["a", "b", "c"]) await storage.kv.set(key, key);
    const [first] = await storage.kv.list("", { limit: 1 });
    await storage.kv.delete(first?.key ?? "");
    same((await storage.kv.list("", { after: first?.key ?? "" })).length, 2);
  },
  "kv: lists a key again that was deleted or expired": async ({ storage, other, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    await storage.kv.set("b", "1");
    await passTime(50);
    await storage.kv.delete("b");
    same(await other.kv.list(""), []);
    for (const key of ["a", "b"]) await storage.kv.set(key, "2");
    const both = ["a", "b"].map((key) => ({ key, value: "2" }));
    same(await other.kv.list(""), both);
    same(await other.kv.list(""), both);
  },
  "kv: fills a page although keys before its end have gone": async ({ storage, passTime }) => {
    for (const key of ["a", "b", "c", "d", "e", "f"]) {
      await storage.kv.set(key, key, key < "d" ? { ttlMs: 50 } : {});
    }
    await storage.kv.delete("d");
    await passTime(50);
    same(await storage.kv.list("", { limit: 2 }), [
      { key: "e", value: "e" },
      { key: "f", value: "f" },
    ]);
  },
  "kv: lists only keys that begin with the prefix, wherever `after` is": async ({ storage }) => {
    for (const key of ["a", "é", "é1", "é🗺", "é\ue000", "ê", "z"]) await storage.kv.set(key, "");
    const keysOf = async (prefix: string, after?: string) =>
      (await storage.kv.list(prefix, after === undefined ? {} : { after })).map(({ key }) => key).toSorted();
    same(await keysOf("é"), ["é", "é1", "é🗺", "é\ue000"]);
    same(await keysOf("é", "a"), ["é", "é1", "é🗺", "é\ue000"]);
    same(await keysOf("é", "é"), ["é1", "é🗺", "é\ue000"]);
    same(await keysOf("é", "ê"), []);
    same(await keysOf("nothing"), []);
  },
  "kv: lists a key that was written and deleted at the same time as often as it exists": async ({ storage, other }) => {
    const keys = Array.from({ length: 20 }, (_, n) => `k${n}`);
    const work = keys.flatMap((key) => [storage.kv.set(key, "1"), other.kv.delete(key), other.kv.set(key, "2")]);
    await Promise.all(work);
    const listed = (await storage.kv.list("k")).map(({ key }) => key).toSorted();
    const existing: string[] = [];
    for (const key of keys) if ((await storage.kv.get(key)) !== undefined) existing.push(key);
    same(listed, existing.toSorted());
  },
  "kv: lists 100 entries by default": async ({ storage }) => {
    await Promise.all(Array.from({ length: 120 }, (_, index) => storage.kv.set(`k${index}`, "")));
    same((await storage.kv.list("k")).length, 100);
    same((await storage.kv.list("k", { limit: 200 })).length, 120);
  },
};

const logChecks: ChecksOf<StorageUnderTest> = {
  "log: returns entries in order, also to another process": async ({ storage, other }) => {
    const ids = [
      await storage.log.append("a", "1"),
      await other.log.append("a", "2"),
      await storage.log.append("a", "3"),
    ];
    await storage.log.append("b", "elsewhere");
    same(await valuesOf(storage.log.after("a", "")), ["1", "2", "3"]);
    same(
      (await toArray(other.log.after("a", ""))).map(({ id }) => id),
      ids,
    );
    same(await valuesOf(other.log.after("a", ids[0] ?? "")), ["2", "3"]);
    same(await valuesOf(other.log.after("a", ids[2] ?? "")), []);
    same(await valuesOf(other.log.after("nothing", "")), []);
  },
  "log: lets one iterable be read twice": async ({ storage }) => {
    await storage.log.append("a", "1");
    const entries = storage.log.after("a", "");
    same(await valuesOf(entries), ["1"]);
    same(await valuesOf(entries), ["1"]);
  },
  "log: gives different ids to concurrent appends": async ({ storage, other }) => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? storage : other).log.append("a", String(n))),
    );
    same(new Set(ids).size, 20);
    same(new Set(await valuesOf(storage.log.after("a", ""))).size, 20);
  },
  "log: removes the oldest entries with keep, and reads on after a removed id": async ({ storage }) => {
    const first = await storage.log.append("a", "0");
    for (const value of ["1", "2", "3", "4"]) await storage.log.append("a", value, { keep: 3 });
    same(await valuesOf(storage.log.after("a", "")), ["2", "3", "4"]);
    same(await valuesOf(storage.log.after("a", first)), ["2", "3", "4"]);
  },
  "log: refuses invalid keep and ttl": async ({ storage }) => {
    same(await codeOf(() => storage.log.append("a", "1", { keep: 0 })), "invalid-argument");
    same(await codeOf(() => storage.log.append("a", "1", { keep: 1.5 })), "invalid-argument");
    same(await codeOf(() => storage.log.append("a", "1", { ttlMs: 0 })), "invalid-argument");
    same(await valuesOf(storage.log.after("a", "")), []);
  },
  "log: expires a log after the last ttl that was set": async ({ storage, passTime }) => {
    await storage.log.append("a", "1", { ttlMs: 400 });
    await storage.log.append("b", "1", { ttlMs: 400 });
    await storage.log.append("b", "2", { ttlMs: 600_000 });
    await storage.log.append("b", "3");
    await passTime(400);
    same(await valuesOf(storage.log.after("a", "")), []);
    same(await valuesOf(storage.log.after("b", "")), ["1", "2", "3"]);
  },
  "log: keeps the expiry when an entry is appended without a ttl": async ({ storage, passTime }) => {
    await storage.log.append("a", "1", { ttlMs: 400 });
    await storage.log.append("a", "2");
    await passTime(400);
    same(await valuesOf(storage.log.after("a", "")), []);
  },
  "log: keeps a log that is written again after it expired, until its new ttl": async ({ storage, passTime }) => {
    const old = await storage.log.append("a", "1", { ttlMs: 50 });
    await passTime(50);
    await storage.log.append("a", "2");
    await passTime(50);
    same(await valuesOf(storage.log.after("a", old)), ["2"]);
  },
  "log: accepts any text as key and value": async ({ storage, other }) => {
    for (const text of anyTexts) await storage.log.append(text.slice(0, 100), text);
    for (const text of anyTexts) same(await valuesOf(other.log.after(text.slice(0, 100), "")), [text]);
  },
  "log: returns any number of entries": async ({ storage, other }) => {
    const values = Array.from({ length: 150 }, (_, n) => String(n));
    const ids: string[] = [];
    for (const value of values) ids.push(await storage.log.append("a", value));
    same(await valuesOf(other.log.after("a", "")), values);
    same(await valuesOf(other.log.after("a", ids[99] ?? "")), values.slice(100));
    await storage.log.append("a", "last", { keep: 2 });
    same(await valuesOf(other.log.after("a", "")), ["149", "last"]);
  },
  "log: deletes a log and does not reuse its ids": async ({ storage }) => {
    const old = await storage.log.append("a", "1");
    await storage.log.delete("a");
    await storage.log.delete("a");
    same(await valuesOf(storage.log.after("a", "")), []);
    await storage.log.append("a", "2");
    same(await valuesOf(storage.log.after("a", old)), ["2"]);
  },
  "log: gives greater ids after a log was deleted, also at once and by another process": async ({ storage, other }) => {
    let last = "";
    for (const { log } of [storage, other, storage, other]) {
      const id = await log.append("a", "1");
      same(await valuesOf(log.after("a", last)), ["1"]);
      same(await valuesOf(log.after("a", id)), []);
      await log.delete("a");
      last = id;
    }
  },
  "log: gives growing ids to a log that forgets them, while it exists": async ({ storage, other }) => {
    const options = { keep: 3, ttlMs: 60_000, forgetsIds: true };
    const first = await storage.log.append("a", "1", options);
    await Promise.all([storage, other, storage].map(({ log }, n) => log.append("a", `same ${n}`, options)));
    await storage.log.append("a", "last", options);
    const entries = await toArray(other.log.after("a", first));
    same([entries.length, new Set(entries.map(({ id }) => id)).size, entries.at(-1)?.value], [3, 3, "last"]);
    same(await valuesOf(storage.log.after("a", entries[1]?.id ?? "")), ["last"]);
    await storage.log.delete("a");
    same(await valuesOf(other.log.after("a", "")), []);
    await other.log.append("a", "anew", options);
    same(await valuesOf(storage.log.after("a", "")), ["anew"]);
  },
  "log: refuses a malformed id": async ({ storage }) => {
    await storage.log.append("a", "1");
    for (const id of ["nonsense", "-1", "1e3", " 1", "1-2-3", "\0"]) {
      same(await codeOf(() => toArray(storage.log.after("a", id))), "invalid-argument");
    }
  },
  "log: follow returns existing entries, then new ones": async ({ storage, other }) => {
    await storage.log.append("a", "1");
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    same((await entries.next()).value?.value, "1");
    const next = entries.next();
    await other.log.append("b", "elsewhere");
    await other.log.append("a", "2");
    same((await next).value?.value, "2");
    await other.log.append("a", "3", { keep: 1 });
    same((await entries.next()).value?.value, "3");
    await entries.return?.();
  },
  "log: follow waits for a log that does not exist yet, and survives a delete": async ({ storage, other }) => {
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const first = entries.next();
    await other.log.append("a", "1");
    same((await first).value?.value, "1");
    await other.log.delete("a");
    const second = entries.next();
    await other.log.append("a", "2");
    same((await second).value?.value, "2");
    await entries.return?.();
  },
  "log: lets several readers follow, each with its own position": async ({ storage, other }) => {
    const followers = [storage, other].map(({ log }) => log.after("a", "", { follow: true })[Symbol.asyncIterator]());
    const firsts = followers.map((follower) => follower.next());
    await storage.log.append("a", "1");
    for (const first of firsts) same((await first).value?.value, "1");
    for (const follower of followers) await follower.return?.();
  },
  "log: follow returns each of many entries once, in order": async ({ storage, other }) => {
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const values = Array.from({ length: 200 }, (_, n) => String(n));
    const write = async () => {
      for (const value of values) await other.log.append("a", value);
    };
    const writing = write();
    for (const value of values) same((await entries.next()).value?.value, value);
    await writing;
    await entries.return?.();
  },
  "log: ends a waiting read when the iterator returns": async ({ storage }) => {
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const waiting = [entries.next(), entries.next()];
    // A few round trips, so that the first read is waiting.
    for (const value of ["1", "2", "3"]) await storage.log.append("elsewhere", value);
    await toArray(storage.log.after("elsewhere", ""));
    await entries.return?.();
    for (const read of waiting) same((await read).done, true);
    await storage.log.append("a", "1");
    same((await entries.next()).done, true);
  },
};

async function toArray(entries: AsyncIterable<LogEntry>): Promise<LogEntry[]> {
  const array: LogEntry[] = [];
  for await (const entry of entries) array.push(entry);
  return array;
}

async function valuesOf(entries: AsyncIterable<LogEntry>): Promise<string[]> {
  return (await toArray(entries)).map(({ value }) => value);
}

const busChecks: ChecksOf<StorageUnderTest> = {
  "bus: delivers each message once to each subscriber of the topic, in order": async ({ storage, other }) => {
    const first = await listen(storage, "a");
    const second = await listen(other, "a");
    const elsewhere = await listen(other, "b");
    for (const value of ["1", "2", "3"]) await storage.bus.publish("a", value);
    await storage.bus.publish("b", "end");
    await Promise.all([first.count(3), second.count(3), elsewhere.count(1)]);
    same([first.received, second.received, elsewhere.received], [["1", "2", "3"], ["1", "2", "3"], ["end"]]);
    await Promise.all([first.stop(), second.stop(), elsewhere.stop()]);
  },
  "bus: delivers nothing before subscribe and after unsubscribe, which may be repeated": async ({ storage }) => {
    await storage.bus.publish("a", "early");
    const gone = await listen(storage, "a");
    const stays = await listen(storage, "a");
    await storage.bus.publish("a", "1");
    await Promise.all([gone.count(1), stays.count(1)]);
    await gone.stop();
    await gone.stop();
    await storage.bus.publish("a", "2");
    await stays.count(2);
    same([gone.received, stays.received], [["1"], ["1", "2"]]);
    await stays.stop();
  },
  "bus: lets one function subscribe twice, and end each subscription alone": async ({ storage }) => {
    const received: string[] = [];
    const witness = await listen(storage, "a");
    const receive = (value: string) => received.push(value);
    const stopFirst = await storage.bus.subscribe("a", receive, nothingLost);
    const stopSecond = await storage.bus.subscribe("a", receive, nothingLost);
    await stopFirst();
    await storage.bus.publish("a", "1");
    await storage.bus.publish("a", "2");
    await witness.count(2);
    same(received[0], "1");
    same(received.filter((value) => value === "1").length, 1);
    await Promise.all([stopSecond(), witness.stop()]);
  },
  "bus: accepts any text as topic and value": async ({ storage, other }) => {
    const listeners = await Promise.all(anyTexts.map((text) => listen(other, text.slice(0, 100))));
    for (const text of anyTexts) await storage.bus.publish(text.slice(0, 100), text);
    for (const [at, listener] of listeners.entries()) {
      await listener.count(1);
      same(listener.received, [anyTexts[at]]);
      await listener.stop();
    }
  },
  "bus: keeps the order of many messages that one publisher sends at once": async ({ storage, other }) => {
    const listener = await listen(other, "a");
    const values = Array.from({ length: 200 }, (_, n) => String(n));
    await Promise.all(values.map((value) => storage.bus.publish("a", value)));
    await listener.count(200);
    same(listener.received, values);
    await listener.stop();
  },
  "bus: delivers to a subscriber that left and came back": async ({ storage, other }) => {
    for (const value of ["1", "2", "3"]) {
      const listener = await listen(other, "a");
      await storage.bus.publish("a", value);
      await listener.count(1);
      same(listener.received, [value]);
      await listener.stop();
    }
    const [first, second] = await Promise.all([listen(other, "a"), listen(other, "a")]);
    const leaving = first.stop();
    const third = await listen(other, "a");
    await leaving;
    await storage.bus.publish("a", "4");
    await Promise.all([second.count(1), third.count(1)]);
    same(first.received, []);
    await Promise.all([second.stop(), third.stop()]);
  },
};

interface Listener {
  readonly received: string[];
  count(messages: number): Promise<void>;
  stop(): Promise<void>;
}

async function listen(storage: Storage, topic: string): Promise<Listener> {
  const received: string[] = [];
  let changed = () => {};
  const receive = (value: string) => {
    received.push(value);
    changed();
  };
  let losses = 0;
  const unsubscribe = await storage.bus.subscribe(topic, receive, () => {
    losses += 1;
  });
  const stop = async () => {
    await unsubscribe();
    // A storage may catch what `lost` throws, so it is counted.
    if (losses > 0) nothingLost();
  };
  const count = async (messages: number) => {
    while (received.length < messages) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  return { received, count, stop };
}

function nothingLost(): void {
  throw new Error("The bus reported lost messages without a disturbance");
}

/** The promises of Log. */
