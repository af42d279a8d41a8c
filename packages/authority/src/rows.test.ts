import { createMemoryStorage, randomSecret } from "portolan/storage";
import { expect, test } from "vitest";
import { tryConsume } from "./rate-limit.ts";
import { Rows, withLock } from "./rows.ts";

const issuer = "https://auth.example";

async function make(storage = createMemoryStorage(), secrets = [randomSecret()]) {
  const rows = await Rows.of(issuer, storage, secrets);
  return { rows, storage, secrets, key: await rows.keyOf("thing", "one") };
}

test("hides keys and values from readers of the storage without the secret", async () => {
  const { rows, storage, key } = await make();
  await rows.set(key, { token: "hidden-value" }, 1_000);
  const [entry] = await storage.kv.list("");
  expect(JSON.stringify(entry)).not.toMatch(/hidden-value|one/);
  expect(await (await make(storage)).rows.get(key)).toBeUndefined();
  expect(await rows.get(key)).toEqual({ token: "hidden-value" });
});

test("does not open a row that was copied to another key", async () => {
  const { rows, storage, key } = await make();
  await rows.set(key, "mine", 1_000);
  const other = await rows.keyOf("thing", "two");
  await storage.kv.set(other, (await storage.kv.get(key)) ?? "");
  expect(await rows.get(other)).toBeUndefined();
});

test("separates the rows of issuers that share a storage", async () => {
  const { storage, secrets, key } = await make();
  const other = await Rows.of("https://other.example", storage, secrets);
  expect(await other.keyOf("thing", "one")).not.toBe(key);
});

test("replaces a row only if it has not changed since it was read", async () => {
  const { rows, key } = await make();
  await rows.set(key, 1, 1_000);
  const [one, two] = [await rows.read<number>(key), await rows.read<number>(key)];
  const replaced = await one?.replace(2);
  expect([replaced?.value, await two?.replace(3), await rows.get(key)]).toEqual([2, undefined, 2]);
  expect([(await replaced?.replace(4))?.value, await replaced?.replace(5), await rows.get(key)]).toEqual([
    4,
    undefined,
    4,
  ]);
});

test("gives a row to one of several takers", async () => {
  const { rows, key } = await make();
  await rows.set(key, "x", 1_000);
  const taken = await Promise.all([1, 2, 3].map(() => rows.take(key)));
  expect(taken.filter((one) => one === "x")).toHaveLength(1);
  expect([await rows.get(key), await rows.add(key, "y", 1_000)]).toEqual([undefined, false]);
});

test("a row that was removed does not come back by a late write", async () => {
  const { rows, key } = await make();
  await rows.setUnlessTaken(key, 1, 1_000);
  await rows.setUnlessTaken(key, 2, 1_000);
  expect(await rows.get(key)).toBe(2);
  await rows.discard(key);
  await rows.setUnlessTaken(key, 3, 1_000);
  expect(await rows.get(key)).toBeUndefined();
});

test("lists all rows below a key, over several pages", async () => {
  const { rows } = await make();
  for (let index = 0; index < 250; index += 1)
    await rows.set(await rows.keyOf("many", "a", String(index)), index, 60_000);
  await rows.set(await rows.keyOf("many", "b", "0"), "other", 60_000);
  const found: unknown[] = [];
  for await (const { value } of rows.below(await rows.keyOf("many", "a"))) found.push(value);
  expect(new Set(found).size).toBe(250);
});

test("limits parallel attempts, by kind and by caller", async () => {
  const { rows } = await make();
  const limit = { max: 5, windowMs: 60_000 };
  const within = await Promise.all(Array.from({ length: 12 }, () => tryConsume(rows, "knock", "a", limit)));
  expect(within.filter(Boolean)).toHaveLength(5);
  expect(await tryConsume(rows, "knock", "b", limit)).toBe(true);
  expect(await tryConsume(rows, "ring", "a", limit)).toBe(true);
});

test("runs work under one key one at a time, also after a failure", async () => {
  const { rows, key } = await make();
  let atWork = 0;
  let most = 0;
  const work = (index: number) => async () => {
    atWork += 1;
    most = Math.max(most, atWork);
    await new Promise((resolve) => setImmediate(resolve));
    atWork -= 1;
    if (index === 1) throw new Error("failed");
    return index;
  };
  const done = await Promise.allSettled([0, 1, 2, 3].map((index) => withLock(rows, key, work(index))));
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(most).toBe(1);
});
