import { expect, test } from "vitest";
import { createClock } from "./clock.ts";

test("stands still until it is advanced", async () => {
  const clock = createClock();
  const calls: string[] = [];
  clock.after(10, () => calls.push("ten"));
  expect(clock.now()).toBe(0);
  await clock.advance(9);
  expect([clock.now(), calls, clock.pending]).toEqual([9, [], 1]);
  await clock.advance(1);
  expect([clock.now(), calls, clock.pending]).toEqual([10, ["ten"], 0]);
});

test("runs timers in order of time, then in order of creation", async () => {
  const clock = createClock();
  const calls: [string, number][] = [];
  const note = (name: string) => () => calls.push([name, clock.now()]);
  clock.after(20, note("later"));
  clock.after(10, note("first"));
  clock.after(10, note("second"));
  clock.after(0, note("now"));
  clock.after(31, note("never"));
  await clock.advance(30);
  expect(calls).toEqual([
    ["now", 0],
    ["first", 10],
    ["second", 10],
    ["later", 20],
  ]);
  expect(clock.now()).toBe(30);
});

test("does not run a cancelled timer, even one cancelled just before", async () => {
  const clock = createClock();
  const calls: string[] = [];
  const stops = [clock.after(10, () => stops[1]?.()), clock.after(10, () => calls.push("taken back"))];
  clock.after(5, () => calls.push("other"))();
  await clock.advance(100);
  expect([calls, clock.pending]).toEqual([[], 0]);
});

test("lets promises of one timer settle before the next one", async () => {
  const clock = createClock();
  const steps: string[] = [];
  clock.after(10, async () => {
    steps.push("first");
    for (let step = 0; step < 5; step += 1) await Promise.resolve();
    steps.push("first settled");
  });
  clock.after(10, () => steps.push("second"));
  await clock.advance(10);
  expect(steps).toEqual(["first", "first settled", "second"]);
});

test("runs a timer that another timer set, if it is due", async () => {
  const clock = createClock();
  const moments: number[] = [];
  const tick = () => {
    moments.push(clock.now());
    clock.after(10, tick);
  };
  clock.after(10, tick);
  await clock.advance(35);
  expect(moments).toEqual([10, 20, 30]);
});
