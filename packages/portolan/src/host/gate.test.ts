import { expect, test } from "vitest";
import { Gate } from "./gate.ts";

/** Work that goes on until it is told to end. */
function createWork() {
  let end: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = { isRunning: false, end: () => end() };
  const run = async () => {
    work.isRunning = true;
    await done;
  };
  return Object.assign(work, { run });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("places are handed on in order, and nobody gets in beside", async () => {
  const gate = new Gate(1);
  const works = [createWork(), createWork(), createWork()];
  const [first, second, third] = works as [ReturnType<typeof createWork>, ...typeof works];
  const passing = [gate.pass(first.run), gate.pass(second?.run ?? first.run)];
  first.end();
  await passing[0];
  await turn();
  passing.push(gate.pass(third?.run ?? first.run));
  await turn();
  expect(works.map(({ isRunning }) => isRunning)).toEqual([true, true, false]);
  second?.end();
  await turn();
  expect(third?.isRunning).toBe(true);
  third?.end();
  await Promise.all(passing);
});

test("who gives up leaves the line, and its place goes to the next", async () => {
  const gate = new Gate(1);
  const [first, last] = [createWork(), createWork()];
  const stop = new AbortController();
  const passing = gate.pass(first.run);
  const given = gate.pass(() => expect.unreachable(), stop.signal);
  const waiting = gate.pass(last.run);
  stop.abort(new Error("never mind"));
  await expect(given).rejects.toThrow("never mind");
  first.end();
  await passing;
  await turn();
  expect(last.isRunning).toBe(true);
  last.end();
  await waiting;
});

test("work that fails frees its place", async () => {
  const gate = new Gate(1);
  await expect(gate.pass(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await gate.pass(async () => "yes")).toBe("yes");
});
