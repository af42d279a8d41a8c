import { type Checks, codeOf, same } from "./contract-check.ts";
import type { LogEntry } from "./storage.ts";

/** The promises of Log. */
export const logChecks: Checks = {
  "log: entries are read in order, by the other process too": async ({ storage, other }) => {
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
  "log: one iterable can be read twice": async ({ storage }) => {
    await storage.log.append("a", "1");
    const entries = storage.log.after("a", "");
    same(await valuesOf(entries), ["1"]);
    same(await valuesOf(entries), ["1"]);
  },
  "log: entries appended at once get different ids": async ({ storage, other }) => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? storage : other).log.append("a", String(n))),
    );
    same(new Set(ids).size, 20);
    same(new Set(await valuesOf(storage.log.after("a", ""))).size, 20);
  },
  "log: keep drops the oldest, and reading goes on behind a dropped id": async ({ storage }) => {
    const first = await storage.log.append("a", "0");
    for (const value of ["1", "2", "3", "4"]) await storage.log.append("a", value, { keep: 3 });
    same(await valuesOf(storage.log.after("a", "")), ["2", "3", "4"]);
    same(await valuesOf(storage.log.after("a", first)), ["2", "3", "4"]);
  },
  "log: keep and ttl that are no count and no time are refused": async ({ storage }) => {
    same(await codeOf(storage.log.append("a", "1", { keep: 0 })), "invalid-argument");
    same(await codeOf(storage.log.append("a", "1", { keep: 1.5 })), "invalid-argument");
    same(await codeOf(storage.log.append("a", "1", { ttlMs: 0 })), "invalid-argument");
    same(await valuesOf(storage.log.after("a", "")), []);
  },
  "log: a log is gone its ttl after the append that set it last": async ({ storage, passTime }) => {
    await storage.log.append("a", "1", { ttlMs: 50 });
    await storage.log.append("b", "1", { ttlMs: 50 });
    await storage.log.append("b", "2", { ttlMs: 600_000 });
    await storage.log.append("b", "3");
    await passTime(50);
    same(await valuesOf(storage.log.after("a", "")), []);
    same(await valuesOf(storage.log.after("b", "")), ["1", "2", "3"]);
  },
  "log: an append without a ttl keeps the expiry as it was": async ({ storage, passTime }) => {
    await storage.log.append("a", "1", { ttlMs: 50 });
    await storage.log.append("a", "2");
    await passTime(50);
    same(await valuesOf(storage.log.after("a", "")), []);
  },
  "log: a deleted log is empty, and its ids do not come back": async ({ storage }) => {
    const old = await storage.log.append("a", "1");
    await storage.log.delete("a");
    await storage.log.delete("a");
    same(await valuesOf(storage.log.after("a", "")), []);
    await storage.log.append("a", "2");
    same(await valuesOf(storage.log.after("a", old)), ["2"]);
  },
  "log: an id of another form is refused": async ({ storage }) => {
    await storage.log.append("a", "1");
    for (const id of ["nonsense", "-1", "1e3", " 1", "1-2-3", "\0"]) {
      same(await codeOf(toArray(storage.log.after("a", id))), "invalid-argument");
    }
  },
  "log: follow gives what is there, then what comes": async ({ storage, other }) => {
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
  "log: follow hears an append to a log that did not exist, and one after a delete": async ({ storage, other }) => {
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
  "log: several may follow, each with its own place": async ({ storage, other }) => {
    const followers = [storage, other].map(({ log }) => log.after("a", "", { follow: true })[Symbol.asyncIterator]());
    const firsts = followers.map((follower) => follower.next());
    await storage.log.append("a", "1");
    for (const first of firsts) same((await first).value?.value, "1");
    for (const follower of followers) await follower.return?.();
  },
  "log: returning the iterator ends a read that waits": async ({ storage }) => {
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const waiting = [entries.next(), entries.next()];
    // A few round trips, so that the first read has come to its wait.
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
