import type { JsonObject, Tool } from "portolan";
import { expect, test } from "vitest";
import { type Catalog, changesBetween, countsOf, tokensOf } from "./catalog.ts";

const empty: Catalog = { name: "x", version: "1", tools: [], resources: [], templates: [], prompts: [] };
const tool = (name: string, properties: { [name: string]: JsonObject }, more: object = {}): Tool => ({
  name,
  inputSchema: { type: "object" as const, properties, required: Object.keys(properties) },
  ...more,
});

test.each([
  ["a new field", { city: {} }, { city: {}, days: {} }, {}, ["forecast: input +days"]],
  ["a lost field", { city: {}, days: {} }, { city: {} }, {}, ["forecast: input -days"]],
  ["another type", { days: { type: "string" } }, { days: { type: "integer" } }, {}, ["forecast: input ~days"]],
  ["another description", { city: {} }, { city: {} }, { description: "x" }, ["forecast: description"]],
  ["nothing", { city: {} }, { city: {} }, {}, []],
])("describes the change: %s of a tool", (_, before, after, more, expected) => {
  const changes = changesBetween(
    { ...empty, tools: [tool("forecast", before)] },
    { ...empty, tools: [tool("forecast", after, more)] },
  );
  expect(changes).toEqual(expected);
});

test("reports that a field is now required if nothing else changed", () => {
  const optional = {
    ...tool("a", { x: {} }),
    inputSchema: { type: "object" as const, properties: { x: {} }, required: [] },
  };
  expect(changesBetween({ ...empty, tools: [optional] }, { ...empty, tools: [tool("a", { x: {} })] })).toEqual([
    "a: input required",
  ]);
});

test("counts each kind, and the tokens of tools", () => {
  expect(countsOf(empty, "·")).toBe("nothing yet");
  const some = { ...empty, tools: [tool("a", {}), tool("b", {})], prompts: [{ name: "p" }] };
  expect(countsOf(some, "·")).toBe("2 tools · 1 prompt");
  expect(tokensOf(some)).toBeGreaterThan(tokensOf(empty));
});
