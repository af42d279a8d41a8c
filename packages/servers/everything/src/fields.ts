import type { JsonSchema } from "portolan/server";

/** Every type of field of a form since 2025-06-18, each with a default. Forms are flat: no objects, no free arrays. */
export const fields: JsonSchema = {
  type: "object",
  properties: {
    text: { type: "string", title: "Text", description: "Any text", minLength: 1, maxLength: 50, default: "hello" },
    email: { type: "string", title: "E-mail", format: "email", default: "ada@example.com" },
    address: { type: "string", title: "Address", format: "uri", default: "https://example.com/" },
    day: { type: "string", title: "Day", format: "date", default: "2026-07-28" },
    moment: { type: "string", title: "Moment", format: "date-time", default: "2026-07-28T12:00:00Z" },
    ratio: { type: "number", title: "Number", minimum: 0, maximum: 1, default: 0.5 },
    count: { type: "integer", title: "Whole number", minimum: 1, maximum: 10, default: 3 },
    sure: { type: "boolean", title: "Yes or no", default: true },
    // Single choice: plain, with titles, and in the form of 2025-06-18.
    colour: { type: "string", title: "One of", enum: ["red", "green", "blue"], default: "green" },
    size: {
      type: "string",
      title: "One of, with titles",
      oneOf: [
        { const: "s", title: "Small" },
        { const: "l", title: "Large" },
      ],
      default: "s",
    },
    pace: {
      type: "string",
      title: "One of, the old way",
      enum: ["slow", "fast"],
      enumNames: ["Slow", "Fast"],
      default: "slow",
    },
  },
  required: ["text"],
};

/** Multiple choice, since 2025-11-25. */
export const choices: JsonSchema = {
  type: "object",
  properties: {
    days: { type: "array", title: "Some of", items: { type: "string", enum: ["mon", "tue", "wed"] }, default: ["mon"] },
    pets: {
      type: "array",
      title: "Some of, with titles",
      minItems: 0,
      maxItems: 2,
      items: {
        anyOf: [
          { const: "cat", title: "Cat" },
          { const: "dog", title: "Dog" },
        ],
      },
      default: ["cat"],
    },
  },
};
