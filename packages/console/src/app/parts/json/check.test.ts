import { describe, expect, test } from "vitest";
import { checkJson, isWhole, variantOf } from "./check.ts";
import { type JsonNode, nodeOf, parseJson, pathText, printJson } from "./document.ts";
import { blankValue, type FormSchema, firstDocument, shapeOf } from "./schema.ts";

const parse = (text: string): JsonNode => {
  const parsed = parseJson(text);
  if ("error" in parsed) throw new Error(parsed.error.message);
  return parsed.node;
};
const problems = (text: string, schema: FormSchema) =>
  checkJson(parse(text), schema).map(({ path, message }) => `${pathText(path)} ${message}`.trim());
const shape = (schema: FormSchema) => shapeOf(schema, schema);

describe("checkJson says what is needed and what was found", () => {
  const schema = {
    type: "object",
    required: ["from", "nights"],
    properties: {
      from: { type: "string", minLength: 3, maxLength: 3 },
      nights: { type: "integer", minimum: 1, maximum: 30 },
      day: { type: "string", format: "date" },
      area: { enum: ["Gràcia", "Born"] },
      budget: { type: ["number", "null"] },
      tags: { type: "array", items: { type: "string" }, uniqueItems: true, maxItems: 2 },
    },
  };

  test.each([
    ['{"from": "OSL", "nights": 3, "budget": null, "x-trace": 1}', []],
    [
      '{"from": "", "nights": 1.5}',
      ["from needs at least 3 characters, found none", "nights needs a whole number, found 1.5"],
    ],
    ["{}", ["from is needed", "nights is needed"]],
    ['{"from": "OSL", "nights": "3"}', ['nights needs a whole number, found the text "3"']],
    ['{"from": "OSL", "nights": 99999999999999999999}', ["nights needs at most 30, found 99999999999999999999"]],
    ['{"from": "OSL", "nights": 3, "day": "2026-02-30"}', ['day needs a date like 2026-11-19, found "2026-02-30"']],
    ['{"from": "OSL", "nights": 3, "area": "Raval"}', ['area needs one of "Gràcia", "Born", found "Raval"']],
    [
      '{"from": "OSL", "nights": 3, "tags": ["a", "a", 1]}',
      ["tags needs at most 2 items, found 3", 'tags[1] stands here twice: "a"', "tags[2] needs text, found 1"],
    ],
    ['{"from": "OSL", "nights": 3, "nights": 4}', ["nights stands here twice, servers read the last"]],
    ["[]", ["needs an object, found a list"]],
  ])("%s", (text, expected) => {
    expect(problems(text, schema)).toEqual(expected);
  });

  test("a number that is still being typed is a problem of its field", () => {
    const node: JsonNode = { kind: "number", text: "12a", start: -1, end: -1 };
    expect(checkJson(node, { type: "integer" })[0]?.message).toBe("needs a whole number, found 12a");
  });

  test("a pattern that could hold the page up is not run", () => {
    expect(problems(`"${"a".repeat(60)}!"`, { type: "string", pattern: "^(a+)+$" })).toEqual([]);
    expect(problems('"x"', { type: "string", pattern: "^[a-c]$" })).toEqual(['needs to match ^[a-c]$, found "x"']);
  });

  test("a schema that refers to itself ends", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    };
    expect(problems('{"next": {"next": {"next": 1}}}', tree)).toEqual(["next.next.next needs an object, found 1"]);
    const loop = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } };
    expect(problems("1", loop)).toEqual([]);
  });

  test("closed objects name the member that is too much", () => {
    expect(problems('{"a": 1}', { type: "object", additionalProperties: false })).toEqual([
      "a is not in the schema, which allows no other members",
    ]);
  });
});

test.each([
  ["1", true],
  ["1.0", true],
  ["1.5", false],
  ["15e-1", false],
  ["150e-1", true],
  ["1.5e1", true],
  ["12345678901234567890", true],
])("%s is a whole number: %s", (text, expected) => {
  expect(isWhole(text)).toBe(expected);
});

describe("shapeOf knows every way to write a field", () => {
  test.each<[FormSchema, string, string]>([
    [{ type: "string" }, "string", "string"],
    [{ type: "string", format: "date-time" }, "string", "date-time"],
    [{ type: "integer", minimum: 0, maximum: 3 }, "integer", "integer 0..3"],
    [{ type: ["number", "null"] }, "number", "number | null"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "string", "string | null"],
    [{ type: "string", enum: ["a", "b"] }, "choice", "string"],
    [{ oneOf: [{ const: "a", title: "A" }, { const: "b" }] }, "choice", "string"],
    [{ type: "array", items: { type: "string", enum: ["a"] } }, "choices", "list of choices"],
    [{ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } }, "choices", "list of choices"],
    [{ type: "array", items: { type: "integer" } }, "array", "list of integer"],
    [{ type: ["string", "integer"] }, "union", "string | integer"],
    [{ properties: { a: true } }, "object", "object"],
    [{ const: 3 }, "choice", "number"],
    [{}, "any", "any"],
    [true, "any", "any"],
  ])("%j is %s", (schema, kind, type) => {
    expect(shape(schema)).toMatchObject({ kind, type });
  });

  test("references and allOf are joined", () => {
    const schema = {
      allOf: [{ $ref: "#/$defs/named" }, { properties: { b: { type: "number" } }, required: ["b"] }],
      $defs: { named: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } },
    };
    expect(shape(schema).properties.map(([name]) => name)).toEqual(["a", "b"]);
    expect([...shape(schema).required]).toEqual(["a", "b"]);
  });

  test("a union takes the variant that fits a value best", () => {
    const schema = {
      oneOf: [
        {
          type: "object",
          properties: { kind: { const: "card" }, number: { type: "string" } },
          required: ["kind", "number"],
        },
        { type: "object", properties: { kind: { const: "cash" } }, required: ["kind"] },
      ],
    };
    expect(shape(schema).variants.map(({ label }) => label)).toEqual(["kind: card", "kind: cash"]);
    expect(variantOf(parse('{"kind": "card"}'), shape(schema), schema)).toBe(0);
    expect(variantOf(parse('{"kind": "cash"}'), shape(schema), schema)).toBe(1);
    expect(problems('{"kind": "card"}', schema)).toEqual(["number is needed"]);
  });

  test("a titled choice keeps the names of its values", () => {
    expect(shape({ enum: [1, 2], enumNames: ["one", "two"] }).choices.map(({ label }) => label)).toEqual([
      "one",
      "two",
    ]);
  });
});

describe("a new document", () => {
  const schema = {
    type: "object",
    required: ["a", "kind", "inner"],
    properties: {
      a: { type: "string", default: "x" },
      b: { type: "integer", default: 3 },
      kind: { const: "card" },
      inner: { type: "object", required: ["c"], properties: { c: { default: 1 } } },
    },
  };

  test("has the defaults of required members only", () => {
    expect(printJson(firstDocument(schema, schema, false))).toBe(
      '{\n  "a": "x",\n  "kind": "card",\n  "inner": {\n    "c": 1\n  }\n}',
    );
  });

  test("has all defaults where they are wanted", () => {
    expect(printJson(firstDocument(schema, schema, true))).toContain('"b": 3');
  });

  test("a value that a person asks for has the right type", () => {
    expect(blankValue({ type: "integer", minimum: 2 }, {})).toEqual(nodeOf(2));
    expect(blankValue({ type: ["string", "null"] }, {})).toEqual(nodeOf(""));
  });
});
