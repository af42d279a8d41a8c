import { expect, test } from "vitest";
import { findViolation } from "./structured.ts";

const weather = {
  type: "object",
  properties: {
    celsius: { type: "number" },
    sky: { enum: ["clear", "cloudy"] },
    days: { type: "array", items: { type: "integer" } },
    unit: { const: "C" },
    note: { type: ["string", "null"] },
  },
  required: ["celsius"],
  additionalProperties: false,
};

test("a value that is what the schema says has no breach", () => {
  expect(findViolation(weather, { celsius: 2.5, sky: "clear", days: [1, 2], unit: "C", note: null })).toBeUndefined();
  expect(findViolation(true, 5)).toBeUndefined();
  expect(findViolation({ type: "null" }, null)).toBeUndefined();
});

test.each([
  [[], "it is not of type object"],
  [{}, "it.celsius is missing"],
  [{ celsius: "warm" }, "it.celsius is not of type number"],
  [{ celsius: 1, sky: "green" }, "it.sky is none of the choices"],
  [{ celsius: 1, days: [1, 2.5] }, "it.days[1] is not of type integer"],
  [{ celsius: 1, unit: "F" }, "it.unit is not the constant"],
  [{ celsius: 1, note: 5 }, "it.note is not of type string,null"],
  [{ celsius: 1, wind: 3 }, "it.wind is not allowed"],
])("%j breaches the schema: %s", (value, breach) => {
  expect(findViolation(weather, value)).toBe(breach);
});
