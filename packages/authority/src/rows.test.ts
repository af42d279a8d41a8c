import { createMemoryStorage, randomSecret } from "portolan/storage";
import { expect, test } from "vitest";
import { isWithin } from "./rate-limit.ts";
import { exclusive, Rows } from "./rows.ts";

const issuer = "https://auth.example";

async function make(storage = createMemoryStorage(), secrets = [randomSecret()]) {
  const rows = await Rows.of(issuer, storage, secrets);
  return { rows, storage, secrets, key: await rows.keyOf("thing", "one") };
}

test("a row says nothing to who has the storage but not the secret", async () => {
  const { rows, storage, key } = await make();
  await rows.set(key, { token: "hidden-value" }, 1_000);
  const [entry] = await storage.kv.list("");
  expect(JSON.stringify(entry)).not.toMatch(/hidden-value|one/);
  expect(await (await make(storage)).rows.get(key)).toBeUndefined();
  expect(await rows.get(key)).toEqual({ token: "hidden-value" });
});

test("a row that was moved to another key does not open", async () => {
  const { rows, storage, key } = await make();
  await rows.set(key, "mine", 1_000);
  const other = await rows.keyOf("thing", "two");
  await storage.kv.set(other, (await storage.kv.get(key)) ?? "");
  expect(await rows.get(other)).toBeUndefined();
});

test("issuers that share a storage do not see each other's rows", async () => {
  const { storage, secrets, key } = await make();
  const other = await Rows.of("https://other.example", storage, secrets);
  expect(await other.keyOf("thing", "one")).not.toBe(key);
});

test("a row is replaced only by who has seen its last value", async () => {
  const { rows, key } = await make();
  await rows.set(key, 1, 1_000);
  const [one, two] = [await rows.read<number>(key), await rows.read<number>(key)];
  expect([await one?.replace(2), await two?.replace(3), await rows.get(key)]).toEqual([true, false, 2]);
});

test("a row is taken by one only, and is not there for the others", async () => {
  const { rows, key } = await make();
  await rows.set(key, "x", 1_000);
  const taken = await Promise.all([1, 2, 3].map(() => rows.take(key)));
  expect(taken.filter((one) => one === "x")).toHaveLength(1);
  expect([await rows.get(key), await rows.add(key, "y", 1_000)]).toEqual([undefined, false]);
});

test("all rows below a key are found, however many", async () => {
  const { rows } = await make();
  for (let index = 0; index < 250; index += 1)
    await rows.set(await rows.keyOf("many", "a", String(index)), index, 60_000);
  await rows.set(await rows.keyOf("many", "b", "0"), "other", 60_000);
  const found: unknown[] = [];
  for await (const { value } of rows.below(await rows.keyOf("many", "a"))) found.push(value);
  expect(new Set(found).size).toBe(250);
});

test("a limit counts what comes together, and each for himself", async () => {
  const { rows } = await make();
  const limit = { most: 5, windowMs: 60_000 };
  const within = await Promise.all(Array.from({ length: 12 }, () => isWithin(rows, "knock", "a", limit)));
  expect(within.filter(Boolean)).toHaveLength(5);
  expect(await isWithin(rows, "knock", "b", limit)).toBe(true);
  expect(await isWithin(rows, "ring", "a", limit)).toBe(true);
});

test("work under one key is done by one at a time, and goes on when one fails", async () => {
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
  const done = await Promise.allSettled([0, 1, 2, 3].map((index) => exclusive(rows, key, work(index))));
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(most).toBe(1);
});
