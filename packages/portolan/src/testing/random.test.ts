import { expect, test } from "vitest";
import { seededRandom, splitRandomly } from "./random.ts";

test("returns the same numbers for a seed, and others for another", () => {
  const draw = (seed: number) => Array.from({ length: 5 }, seededRandom(seed));
  expect(draw(1)).toEqual(draw(1));
  expect(draw(1)).not.toEqual(draw(2));
});

test("spreads the numbers from 0 to 1", () => {
  const random = seededRandom(7);
  const tenths = new Array<number>(10).fill(0);
  for (let draws = 0; draws < 10_000; draws += 1) {
    const number = random();
    tenths[Math.floor(number * 10)]! += 1;
  }
  expect(tenths).toHaveLength(10);
  for (const count of tenths) expect(count).toBeGreaterThan(800);
});

test("splits bytes into pieces that are not empty and add up to the whole", () => {
  const bytes = new TextEncoder().encode("naïve 日本語 🗺️".repeat(20));
  const lengths = new Set<number>();
  for (let seed = 0; seed < 100; seed += 1) {
    const pieces = splitRandomly(bytes, seededRandom(seed));
    for (const { length } of pieces) lengths.add(length);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  }
  expect(lengths.has(0)).toBe(false);
  expect(lengths.has(1)).toBe(true);
  expect(lengths.has(bytes.length)).toBe(true);
  expect(splitRandomly(new Uint8Array(), seededRandom(1))).toEqual([]);
});
