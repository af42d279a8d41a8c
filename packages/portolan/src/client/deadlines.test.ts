import { describe, expect, test } from "vitest";
import { createClock } from "../testing/clock.ts";
import { Deadlines, pauseFor, type Timed } from "./deadlines.ts";

/** Operations that leave the list when they expire. */
function createOperations() {
  const clock = createClock();
  const pending = new Set<Timed>();
  const expired: string[] = [];
  const deadlines = new Deadlines(clock, { values: () => [...pending] });
  const start = (name: string, ms: number) => {
    const timed: Timed = {
      dueAt: clock.now() + ms,
      expire(now) {
        expired.push(`${name} at ${now}`);
        pending.delete(timed);
      },
    };
    pending.add(timed);
    deadlines.watch(timed);
    return timed;
  };
  return { clock, deadlines, expired, pending, start };
}

describe("deadlines", () => {
  test("expire in the order of their times and share one timer", async () => {
    const { clock, expired, start } = createOperations();
    start("late", 300);
    start("early", 100);
    expect(clock.pending).toBe(1);
    await clock.advance(300);
    expect(expired).toEqual(["early at 100", "late at 300"]);
    expect(clock.pending).toBe(0);
  });

  test("do not expire after they have been moved", async () => {
    const { clock, expired, start } = createOperations();
    const call = start("call", 100);
    await clock.advance(90);
    call.dueAt = 190;
    await clock.advance(50);
    expect(expired).toEqual([]);
    await clock.advance(50);
    expect(expired).toEqual(["call at 190"]);
  });

  test("do not expire for operations that have ended", async () => {
    const { clock, expired, pending, start } = createOperations();
    pending.delete(start("done", 100));
    await clock.advance(200);
    expect([expired, clock.pending]).toEqual([[], 0]);
  });

  test("stop with their connection", () => {
    const { clock, deadlines, start } = createOperations();
    start("call", 100);
    deadlines.stop();
    expect(clock.pending).toBe(0);
  });

  test("cost no timer while an operation is paused", () => {
    const { clock, start } = createOperations();
    start("paused", Number.POSITIVE_INFINITY);
    expect(clock.pending).toBe(0);
  });
});

describe("pauseFor", () => {
  test("resolves after its time and removes its listener", async () => {
    const clock = createClock();
    const controller = new AbortController();
    const pause = pauseFor(clock, 50, controller.signal);
    await clock.advance(50);
    await expect(pause).resolves.toBeUndefined();
  });

  test("rejects with the reason of its signal and stops its timer", async () => {
    const clock = createClock();
    const controller = new AbortController();
    const pause = pauseFor(clock, 50, controller.signal);
    controller.abort(new Error("enough"));
    await expect(pause).rejects.toThrow("enough");
    expect(clock.pending).toBe(0);
  });

  test("rejects at once if the signal has aborted before", async () => {
    const clock = createClock();
    await expect(pauseFor(clock, 50, AbortSignal.abort("text"))).rejects.toThrow("text");
    expect(clock.pending).toBe(0);
  });
});
