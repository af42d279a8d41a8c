import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { Throttle } from "./load-lists.ts";

test("requests run one at a time, with pauses, and once more after the last one", async () => {
  const clock = createClock();
  const startedAt: number[] = [];
  const throttle = new Throttle(clock, async () => {
    startedAt.push(clock.now());
    await new Promise<void>((resolve) => clock.after(100, resolve));
  });
  for (let time = 0; time < 2_000; time += 10) {
    throttle.request();
    await clock.advance(10);
  }
  await clock.advance(5_000);
  // Each run takes 100 ms; the pause is four times as long.
  expect(startedAt).toEqual([0, 500, 1_000, 1_500, 2_000]);
  throttle.request();
  await clock.advance(0);
  expect(startedAt).toHaveLength(6);
});

test("nothing runs after stop", async () => {
  const clock = createClock();
  let count = 0;
  const throttle = new Throttle(clock, async () => {
    count += 1;
  });
  throttle.request();
  await clock.advance(0);
  throttle.request();
  throttle.stop();
  await clock.advance(10_000);
  expect(count).toBe(1);
});

test("requests during a run cause one more run, after a pause", async () => {
  const clock = createClock();
  const startedAt: number[] = [];
  const throttle = new Throttle(clock, async () => {
    startedAt.push(clock.now());
    await new Promise<void>((resolve) => clock.after(10, resolve));
  });
  throttle.request();
  await clock.advance(5);
  throttle.request();
  throttle.request();
  await clock.advance(10_000);
  expect(startedAt).toEqual([0, 260]);
});

test("flush does requested work without its pause, and waits for its end", async () => {
  const clock = createClock();
  let begun = 0;
  let ended = 0;
  const throttle = new Throttle(clock, async () => {
    begun += 1;
    await new Promise<void>((resolve) => clock.after(10, resolve));
    ended += 1;
  });
  await throttle.flush();
  expect(begun).toBe(0);
  throttle.request();
  throttle.request();
  const flushed = throttle.flush();
  await clock.advance(10);
  await clock.advance(10);
  await flushed;
  expect([begun, ended, clock.now()]).toEqual([2, 2, 20]);
  // The requests are done: nothing remains for later.
  await clock.advance(10_000);
  expect(begun).toBe(2);
});
