import { describe, expect, test } from "vitest";
import { maxWeightOfText } from "./limits.ts";
import { weigh } from "./weigh.ts";

describe("the weight of a value", () => {
  test.each([
    ["text", `"${"x".repeat(10_000)}"`, 1],
    ["text outside Latin-1", `"${"語".repeat(10_000)}"`, 2],
    ["empty objects", `[${Array(10_000).fill("{}").join(",")}]`, 20],
    ["empty arrays", `[${Array(10_000).fill("[]").join(",")}]`, 13],
    ["arrays in arrays, deeper than the stack", "[".repeat(100_000) + "]".repeat(100_000), 28],
    ["numbers", `[${Array(10_000).fill("1").join(",")}]`, 4],
  ])("of %s is at least the memory that it takes", (_, text, timesItsText) => {
    const weight = weigh(JSON.parse(text));
    expect(weight).toBeGreaterThanOrEqual(text.length * timesItsText);
    expect(weight).toBeLessThanOrEqual(text.length * maxWeightOfText);
  });

  test("of ordinary data is not far above its text", () => {
    const tool = { name: "forecast", description: "x".repeat(400), inputSchema: { type: "object", properties: {} } };
    expect(weigh(tool)).toBeLessThan(JSON.stringify(tool).length * 3);
  });
});
