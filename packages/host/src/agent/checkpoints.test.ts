import { expect, test } from "vitest";
import { Checkpoints, GroupStart } from "./checkpoints.ts";
import type { RunState } from "./run.ts";

/** Writes that the test lets end. */
function createStore() {
  let turns = 0;
  const written: number[] = [];
  const ends: { resolve: () => void; reject: (reason: Error) => void }[] = [];
  const write = ({ turns: at }: RunState) => {
    written.push(at);
    return new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
  };
  const state = () => ({ turns }) as RunState;
  const stop = new AbortController();
  const checkpoints = new Checkpoints(write, state, stop.signal);
  const change = () => {
    turns += 1;
    return checkpoints.save();
  };
  return { checkpoints, written, ends, change, stop };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test("states are stored one after the other, and those who wait share the newest", async () => {
  const { written, ends, change } = createStore();
  const first = change();
  await soon();
  const later = [change(), change()];
  await soon();
  expect(written).toEqual([1]);
  ends[0]?.resolve();
  await first;
  await soon();
  expect(written).toEqual([1, 3]);
  ends[1]?.resolve();
  await Promise.all(later);
});

test("after a failure nothing is stored any more", async () => {
  const { written, ends, change } = createStore();
  const first = change();
  await soon();
  const second = change();
  ends[0]?.reject(new Error("the disk is full"));
  await expect(first).rejects.toMatchObject({ code: "store-failed", message: expect.stringContaining("disk is full") });
  await expect(second).rejects.toThrow("disk is full");
  await expect(change()).rejects.toThrow("disk is full");
  expect(written).toEqual([1]);
});

test("an abort ends the wait for a state that is never stored, and nothing is stored after it", async () => {
  const { written, change, stop } = createStore();
  const first = change();
  await soon();
  stop.abort(new Error("enough"));
  await expect(first).rejects.toThrow("enough");
  await expect(change()).rejects.toThrow("enough");
  expect(written).toEqual([1]);
});

test("after the end no state is stored, and the end waits for the one that is being written", async () => {
  const { checkpoints, written, ends, change } = createStore();
  const first = change();
  await soon();
  const second = change();
  let hasEnded = false;
  const end = checkpoints.end().then(() => {
    hasEnded = true;
  });
  await soon();
  expect(hasEnded).toBe(false);
  ends[0]?.resolve();
  await Promise.all([first, second, end, change()]);
  expect(written).toEqual([1]);
});

test("the calls of a group begin together, without those that have ended or wait for the user", async () => {
  const begun: string[][] = [];
  const start = new GroupStart(["a", "b", "c", "d"], async (ids) => void begun.push([...ids]));
  const a = start.arrive("a");
  const b = start.arrive("b");
  start.leave("c");
  await soon();
  expect(begun).toEqual([]);
  start.leave("d");
  await Promise.all([a, b]);
  expect(begun).toEqual([["a", "b"]]);
  await start.arrive("d");
  await start.arrive("a");
  expect(begun).toEqual([["a", "b"], ["d"]]);
});

test("no call of a group begins if its state is not stored", async () => {
  const start = new GroupStart(["a", "b"], () => Promise.reject(new Error("no")));
  const all = await Promise.allSettled([start.arrive("a"), start.arrive("b")]);
  expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
