import { holdFileLock } from "portolan/storage/node";
import { createMemory } from "portolan-memory";
import { expect, onTestFinished, test } from "vitest";
import { connectCallers } from "../kit/callers.ts";
import { call } from "../kit/tools.ts";
import { freshFile, namesIn, openTestStore } from "./kit.ts";

test("a caller that fills the queue of changes loses its own newest, and others are served before its rest", async () => {
  const file = freshFile();
  const store = openTestStore(file, { maxWaiting: 100 });
  const { hostile, innocent } = await connectCallers(createMemory({ store }));
  const create = (name: string) => ({ entities: [{ name, entityType: "thing" }] });
  const release = await holdFileLock(`${file}.lock`);
  let isReleased = false;
  const releaseOnce = () => {
    if (!isReleased) release();
    isReleased = true;
  };
  onTestFinished(releaseOnce);
  const refused: string[] = [];
  const attack = Array.from({ length: 110 }, async (_, number) => {
    const { isError, content } = await hostile.callTool("create_entities", create(`h${number}`));
    if (isError) refused.push(JSON.stringify(content));
  });
  await expect.poll(() => refused.length, { timeout: 20_000 }).toBe(10);
  const wanted = call(innocent, "create_entities", create("mine"));
  await expect.poll(() => refused.length, { timeout: 20_000 }).toBe(11);
  expect(new Set(refused)).toEqual(new Set([expect.stringContaining("Too many changes of the memory wait")]));
  releaseOnce();
  await wanted;
  await Promise.all(attack);
  const names = [...store.read("default").entities.keys()];
  expect(names).toHaveLength(100);
  // One of the hostile changes comes first, because it came first.
  expect(names.indexOf("mine")).toBe(1);
}, 60_000);

test("a change that is too large for the file is refused alone, not with those that were written with it", async () => {
  const store = openTestStore(freshFile(), { maxFileBytes: 2_000 });
  const change = (name: string) =>
    store.change("default", () => ({ ops: [{ do: "entity", name, type: "thing" }], result: undefined }));
  await change("earlier");
  const outcomes = await Promise.allSettled([change("first"), change("x".repeat(3_000)), change("second")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(namesIn(store)).toEqual(["earlier", "first", "second"]);
});

test("a change that is on disk succeeds, whatever those do that hear of it", async () => {
  const store = openTestStore(freshFile());
  let heard = 0;
  store.onChange(() => {
    throw new Error("deaf");
  });
  store.onChange(() => {
    heard += 1;
  });
  await store.change("default", () => ({ ops: [{ do: "entity", name: "kept", type: "thing" }], result: undefined }));
  expect(namesIn(store)).toEqual(["kept"]);
  expect(heard).toBe(1);
  expect(store.problems).toEqual([expect.stringContaining("deaf")]);
});
