import { type Checks, codeOf, type StorageUnderTest, same } from "../storage/contract-check.ts";
import { logChecks } from "../storage/contract-log.ts";
import type { Storage } from "../storage/storage.ts";

export type { StorageUnderTest } from "../storage/contract-check.ts";

/** One promise of the Storage interfaces: `run` rejects when it is broken. */
export interface StorageCheck {
  readonly name: string;
  run(): Promise<void>;
}

/** Every promise of the Storage interfaces, for whichever test runner; each check makes its own storage. */
export function storageContract(make: () => Promise<StorageUnderTest>): StorageCheck[] {
  return Object.entries({ ...keyValueChecks, ...logChecks, ...busChecks }).map(([name, check]) => {
    const run = async () => {
      const subject = await make();
      try {
        await check(subject);
      } finally {
        await subject.release?.();
      }
    };
    return { name, run };
  });
}

const keyValueChecks: Checks = {
  "kv: a value set is got, by the other process too": async ({ storage, other }) => {
    same(await storage.kv.get("a"), undefined);
    same(await storage.kv.set("a", "1"), true);
    same(await other.kv.get("a"), "1");
    same(await other.kv.set("a", "2"), true);
    same(await storage.kv.get("a"), "2");
  },
  "kv: any text is a key and a value": async ({ storage }) => {
    const texts = ["", " ", "__proto__", "a:b*?[c]", "naïve ☂ 🗺\n\0", "x".repeat(50_000)];
    for (const text of texts) await storage.kv.set(`k${text.slice(0, 100)}`, text);
    for (const text of texts) same(await storage.kv.get(`k${text.slice(0, 100)}`), text);
  },
  "kv: a deleted key is absent, and deleting it again is fine": async ({ storage }) => {
    await storage.kv.set("a", "1");
    await storage.kv.delete("a");
    await storage.kv.delete("a");
    same(await storage.kv.get("a"), undefined);
  },
  "kv: expect null writes only where there is nothing": async ({ storage }) => {
    same(await storage.kv.set("a", "1", { expect: null }), true);
    same(await storage.kv.set("a", "2", { expect: null }), false);
    same(await storage.kv.get("a"), "1");
  },
  "kv: expect a value writes only over that value": async ({ storage }) => {
    same(await storage.kv.set("a", "1", { expect: "0" }), false);
    same(await storage.kv.get("a"), undefined);
    await storage.kv.set("a", "0");
    same(await storage.kv.set("a", "1", { expect: "0" }), true);
    same(await storage.kv.set("a", "2", { expect: "0" }), false);
    same(await storage.kv.get("a"), "1");
  },
  "kv: an empty value is a value": async ({ storage }) => {
    await storage.kv.set("a", "");
    same(await storage.kv.get("a"), "");
    same(await storage.kv.set("a", "1", { expect: null }), false);
    same(await storage.kv.set("a", "1", { expect: "" }), true);
  },
  "kv: of many that race for a key exactly one wins": async ({ storage, other }) => {
    const racers = Array.from({ length: 20 }, (_, racer) => (racer % 2 === 0 ? storage : other));
    const won = await Promise.all(racers.map(({ kv }, racer) => kv.set("lease", String(racer), { expect: null })));
    same(won.filter(Boolean).length, 1);
    same(await storage.kv.get("lease"), String(won.indexOf(true)));
  },
  "kv: a value with a ttl is gone after it, and its key is free": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    await storage.kv.set("b", "1", { ttlMs: 600_000 });
    await passTime(50);
    same(await storage.kv.get("a"), undefined);
    same(await storage.kv.list(""), [{ key: "b", value: "1" }]);
    same(await storage.kv.set("a", "2", { expect: null }), true);
  },
  "kv: writing without a ttl lifts an earlier one": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    await storage.kv.set("a", "2");
    await passTime(50);
    same(await storage.kv.get("a"), "2");
  },
  "kv: a refused write leaves value and ttl alone": async ({ storage, passTime }) => {
    await storage.kv.set("a", "1", { ttlMs: 50 });
    same(await storage.kv.set("a", "2", { ttlMs: 600_000, expect: "no" }), false);
    await passTime(50);
    same(await storage.kv.get("a"), undefined);
  },
  "kv: a ttl that is no time is refused": async ({ storage }) => {
    for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      same(await codeOf(storage.kv.set("a", "1", { ttlMs })), "invalid-argument");
    }
    same(await storage.kv.get("a"), undefined);
  },
  "kv: list gives each key of the prefix once, page by page": async ({ storage }) => {
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
  "kv: paging goes on behind a key that was deleted": async ({ storage }) => {
    for (const key of ["a", "b", "c"]) await storage.kv.set(key, key);
    const [first] = await storage.kv.list("", { limit: 1 });
    await storage.kv.delete(first?.key ?? "");
    same((await storage.kv.list("", { after: first?.key ?? "" })).length, 2);
  },
  "kv: list gives 100 entries unless told": async ({ storage }) => {
    await Promise.all(Array.from({ length: 120 }, (_, index) => storage.kv.set(`k${index}`, "")));
    same((await storage.kv.list("k")).length, 100);
    same((await storage.kv.list("k", { limit: 200 })).length, 120);
  },
};

const busChecks: Checks = {
  "bus: each listener of the topic hears each message once, in order": async ({ storage, other }) => {
    const first = await listen(storage, "a");
    const second = await listen(other, "a");
    const elsewhere = await listen(other, "b");
    for (const value of ["1", "2", "3"]) await storage.bus.publish("a", value);
    await storage.bus.publish("b", "end");
    await Promise.all([first.count(3), second.count(3), elsewhere.count(1)]);
    same([first.heard, second.heard, elsewhere.heard], [["1", "2", "3"], ["1", "2", "3"], ["end"]]);
    await Promise.all([first.stop(), second.stop(), elsewhere.stop()]);
  },
  "bus: nothing published before is heard, nothing after the end, and ending twice is fine": async ({ storage }) => {
    await storage.bus.publish("a", "early");
    const gone = await listen(storage, "a");
    const stays = await listen(storage, "a");
    await storage.bus.publish("a", "1");
    await Promise.all([gone.count(1), stays.count(1)]);
    await gone.stop();
    await gone.stop();
    await storage.bus.publish("a", "2");
    await stays.count(2);
    same([gone.heard, stays.heard], [["1"], ["1", "2"]]);
    await stays.stop();
  },
  "bus: the same function may listen twice, and each ends alone": async ({ storage }) => {
    const heard: string[] = [];
    const witness = await listen(storage, "a");
    const hear = (value: string) => heard.push(value);
    const stopFirst = await storage.bus.subscribe("a", hear, nothingLost);
    const stopSecond = await storage.bus.subscribe("a", hear, nothingLost);
    await stopFirst();
    await storage.bus.publish("a", "1");
    await storage.bus.publish("a", "2");
    await witness.count(2);
    same(heard[0], "1");
    same(heard.filter((value) => value === "1").length, 1);
    await Promise.all([stopSecond(), witness.stop()]);
  },
};

interface Listener {
  readonly heard: string[];
  count(messages: number): Promise<void>;
  stop(): Promise<void>;
}

async function listen(storage: Storage, topic: string): Promise<Listener> {
  const heard: string[] = [];
  let changed = () => {};
  const hear = (value: string) => {
    heard.push(value);
    changed();
  };
  const stop = await storage.bus.subscribe(topic, hear, nothingLost);
  const count = async (messages: number) => {
    while (heard.length < messages) {
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  return { heard, count, stop };
}

function nothingLost(): void {
  throw new Error("The bus said that messages were lost, though nothing was disturbed");
}
