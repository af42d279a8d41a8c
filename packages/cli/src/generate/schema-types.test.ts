import { expect, test } from "vitest";
import { commentOf, SchemaTypes, TypeNames } from "./schema-types.ts";

function declare(schema: unknown): string {
  const types = new SchemaTypes(new TypeNames());
  types.declare("Input", schema);
  return types.declarations.join("\n");
}

test.each<[unknown, string]>([
  [true, "unknown"],
  [{}, "unknown"],
  [false, "never"],
  ["nonsense", "unknown"],
  [{ type: "integer" }, "number"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ type: "nonsense" }, "unknown"],
  [{ enum: ["a", 1, null] }, '"a" | 1 | null'],
  [{ const: { a: [1] } }, "{ a: [1] }"],
  [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } }, "(string | number)[]"],
  [{ type: "array" }, "unknown[]"],
  [{ type: "array", items: [{ type: "string" }], additionalItems: false }, "[string?]"],
  [{ type: "object" }, "{ [name: string]: unknown }"],
  [{ type: "object", additionalProperties: false }, "{ [name: string]: never }"],
  [{ properties: { a: true }, required: ["a", "b"] }, "{\n  a: unknown;\n  b: unknown;\n}"],
  [{ anyOf: [{ type: "string" }, {}] }, "unknown"],
  [{ $ref: "#/nowhere" }, "unknown"],
  [{ $ref: "https://example.com/schema" }, "unknown"],
])("writes %j as a type", (schema, type) => {
  expect(declare(schema)).toBe(`export type Input = ${type};`);
});

test("a type that contains itself, directly or through another, has a name", () => {
  const person = { type: "object", properties: { friend: { $ref: "#/$defs/Person" }, root: { $ref: "#" } } };
  expect(
    declare({ type: "object", properties: { first: { $ref: "#/$defs/Person" } }, $defs: { Person: person } }),
  ).toBe(
    `export type Input = {
  first?: InputPerson;
};
export type InputPerson = {
  friend?: InputPerson;
  root?: Input;
};`,
  );
  expect(declare({ properties: { a: { $ref: "#/$defs/A" } }, $defs: { A: { $ref: "#/$defs/A" } } })).toContain(
    "export type InputA = unknown;",
  );
});

test("a schema that is too deep ends in unknown", () => {
  let schema: object = { type: "string" };
  for (let depth = 0; depth < 1_000; depth += 1) schema = { type: "array", items: schema };
  expect(declare(schema)).toMatch(/^export type Input = unknown(\[\]){41};$/);
});

test("names are letters and digits, and different", () => {
  const names = new TypeNames(["AInput"]);
  const taken = ["a", "a", "a-b", "a_b", "1", "", "日本", "../x"].map((name) => names.take(name, "Input"));
  expect(taken).toEqual([
    "A2Input",
    "A3Input",
    "ABInput",
    "AB2Input",
    "Tool1Input",
    "ToolInput",
    "Tool2Input",
    "XInput",
  ]);
});

test("a description cannot end its comment", () => {
  expect(commentOf("a */ b\u2028*/\u0000c", "  ")).toBe("  /**\n   * a *\\/ b\n   * *\\/ c\n   */\n");
});

test("a schema that is referred to in many ways is declared once", () => {
  const properties = Object.fromEntries(
    ["#", "#/", "#0", "#/properties/a", "#/properties/a"].map((at, n) => [n, { $ref: at }]),
  );
  expect(declare({ properties: { ...properties, a: { type: "string" } } }).match(/export type/g)).toHaveLength(2);
});

test("a chain of references is longer than the stack is deep", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [at, { items: { $ref: `#/$defs/${at + 1}` } }]),
  );
  expect(declare({ $ref: "#/$defs/0", $defs })).toContain("export type Input9999 = unknown[];");
});

test("declares nothing for a schema whose types would be too long", () => {
  const types = new SchemaTypes(new TypeNames());
  const long = { enum: Array.from({ length: 100_000 }, (_, at) => `value ${at}`) };
  expect(types.declare("First", { properties: { a: long, b: { $ref: "#/properties/a" } } })).toBe(false);
  expect(types.declare("Second", { type: "string" })).toBe(true);
  expect(types.declarations).toEqual(["export type Second = string;"]);
});

test("a value that is nested too deeply ends in unknown", () => {
  let value: unknown = 1;
  for (let depth = 0; depth < 10_000; depth += 1) value = [value];
  expect(declare({ const: value })).toMatch(/^export type Input = \[{41}unknown\]{41};$/);
  expect(declare({ properties: { a: { type: "string", default: value } } })).not.toContain("default");
});

test("cuts a comment that is too long", () => {
  expect(commentOf("a\n".repeat(100_000), "  ").length).toBeLessThan(50_000);
});
