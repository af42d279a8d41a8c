import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReportThrottle } from "./throttle.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function collect() {
  const passed: string[] = [];
  const throttle = new ReportThrottle<string>((report, count) => passed.push(`${report} ×${count}`));
  return { passed, throttle };
}

test("passes the first report of a kind at once and the latest after a minute, with their number", () => {
  const { passed, throttle } = collect();
  for (const report of ["a1", "a2", "a3"]) throttle.add("a", report);
  throttle.add("b", "b1");
  expect(passed).toEqual(["a1 ×1", "b1 ×1"]);
  vi.advanceTimersByTime(60_000);
  expect(passed).toEqual(["a1 ×1", "b1 ×1", "a3 ×2"]);
});

test("passes a flood once a minute, and forgets a kind that was quiet for a minute", () => {
  const { passed, throttle } = collect();
  for (let second = 0; second < 180; second += 1) {
    throttle.add("a", "a");
    vi.advanceTimersByTime(1_000);
  }
  expect(passed).toEqual(["a ×1", "a ×59", "a ×60", "a ×60"]);
  vi.advanceTimersByTime(120_000);
  throttle.add("a", "a");
  expect(passed.at(-1)).toBe("a ×1");
  expect(vi.getTimerCount()).toBe(1);
});

test("counts reports of too many kinds together", () => {
  const { passed, throttle } = collect();
  for (let kind = 0; kind < 5_000; kind += 1) throttle.add(`kind ${kind}`, `report ${kind}`);
  expect(passed).toHaveLength(1_001);
  vi.advanceTimersByTime(60_000);
  expect(passed.slice(1_001)).toEqual(["report 4999 ×3999"]);
});
