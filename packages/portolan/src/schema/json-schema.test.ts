import { describe, expect, test } from "vitest";
import type { JsonSchema } from "./infer.ts";
import { compileJsonSchema } from "./json-schema.ts";

function nested(depth: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < depth; level++) value = { child: value };
  return value;
}

function lines(schema: JsonSchema | boolean, value: unknown): string[] {
  return compileJsonSchema(schema, { trusted: true })(value).map(({ path, message }) => `${path}: ${message}`);
}

describe("wording", () => {
  const row = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
  test.each<[string, JsonSchema | boolean, unknown, string[]]>([
    ["a wrong type", { properties: { days: { type: "integer" } } }, { days: "x" }, ['days: expected integer, got "x"']],
    ["several types", { type: ["string", "null"] }, 5, [": expected string or null, got number 5"]],
    [
      "a wrong type deep inside",
      { properties: { rows: { items: row } } },
      { rows: [{ id: 1 }, { id: "a" }] },
      ['rows[1].id: expected integer, got "a"'],
    ],
    [
      "missing members",
      { required: ["a", "b", "c"] },
      { b: 1 },
      ["a: required, got nothing", "c: required, got nothing"],
    ],
    ["a missing member of an item", { items: row }, [{}], ["[0].id: required, got nothing"]],
    [
      "an unexpected member",
      { properties: { a: {} }, additionalProperties: false },
      { a: 1, "b c": 2 },
      ['["b c"]: not allowed here'],
    ],
    [
      "an unevaluated member",
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
      ["b: not allowed here"],
    ],
    ["a constant", { properties: { k: { const: "a" } } }, { k: "b" }, ['k: expected "a", got "b"']],
    ["a constant that is composed", { const: ["$", { a: 1 }] }, [], [': expected ["$",{"a":1}], got an array']],
    [
      "alternatives with a dollar sign",
      { anyOf: [{ const: "$" }, { type: "null" }] },
      1,
      [': expected "$" or null, got number 1'],
    ],
    ["an enumeration", { enum: ["a", "b", 3] }, "c", [': expected one of "a", "b", 3, got "c"']],
    ["a lower bound", { minimum: 1 }, 0, [": expected at least 1, got number 0"]],
    ["an upper bound", { exclusiveMaximum: 1 }, 1, [": expected less than 1, got number 1"]],
    ["a divisor", { multipleOf: 5 }, 3, [": expected a multiple of 5, got number 3"]],
    ["a text too short", { minLength: 3 }, "ab", [': expected at least 3 characters, got "ab"']],
    ["a pattern", { pattern: "^a" }, "b", [': expected text that matches "^a", got "b"']],
    ["too few items", { minItems: 2 }, [1], [": expected at least 2 items, got 1"]],
    ["too many members", { maxProperties: 1 }, { a: 1, b: 2 }, [": expected at most 1 members, got 2"]],
    ["repeated items", { uniqueItems: true }, [1, 1], [": expected items that all differ"]],
    [
      "a missing item",
      { contains: { type: "string" } },
      [1, 2],
      [': expected at least 1 items that match "contains", got 0'],
    ],
    [
      "too many matching items",
      { contains: { type: "string" }, maxContains: 1 },
      ["a", "b"],
      [': expected at most 1 items that match "contains", got 2'],
    ],
    [
      "a forbidden schema",
      { not: { type: "string" } },
      "a",
      [': expected something that does not match "not", got "a"'],
    ],
    [
      "a member name",
      { propertyNames: { maxLength: 2 } },
      { abc: 1 },
      [': expected member names that match "propertyNames", got "abc"'],
    ],
    ["a member that another one needs", { dependentRequired: { a: ["b"] } }, { a: 1 }, ["b: required, got nothing"]],
    ["a false schema", false, 1, [": not allowed here"]],
    [
      "plain alternatives",
      { anyOf: [{ type: "string" }, { type: "null" }] },
      5,
      [": expected string or null, got number 5"],
    ],
    [
      "several matches",
      { oneOf: [{ type: "integer" }, { minimum: 2 }] },
      3,
      [": expected only one of the alternatives to match, got number 3"],
    ],
    [
      "through a reference",
      { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } },
      1,
      [": expected string, got number 1"],
    ],
    [
      "the branch of a condition",
      { if: { required: ["a"] }, else: { required: ["b"] } },
      {},
      ["b: required, got nothing"],
    ],
    [
      "names with percent, hash and tilde",
      { properties: { "a%/#~": { type: "string" } } },
      { "a%/#~": 1 },
      ['["a%/#~"]: expected string, got number 1'],
    ],
  ])("%s", (_name, schema, value, expected) => {
    expect(lines(schema, value)).toEqual(expected);
  });

  test("shows the issues of the closest alternative", () => {
    const schema = {
      anyOf: [
        { type: "string" },
        { type: "object", properties: { at: { type: "object", properties: { lat: { type: "number" } } } } },
      ],
    };
    expect(lines(schema, { at: { lat: "north" } })).toEqual(['at.lat: expected number, got "north"']);
  });

  test("lists at most ten issues, one line each", () => {
    const names = Array.from({ length: 30 }, (_, index) => `m${index}`);
    const schema = { properties: Object.fromEntries(names.map((name) => [name, { type: "string", pattern: "\n" }])) };
    const issues = lines(schema, Object.fromEntries(names.map((name) => [name, "x"])));
    expect(issues).toHaveLength(10);
    expect(issues.every((line) => !line.includes("\n") && line.length < 200)).toBe(true);
  });
});

describe("dialects and references", () => {
  test("uses 2020-12 by default, and draft-07 if $schema names it", () => {
    const beside = { $ref: "#/definitions/s", definitions: { s: { type: "string" } }, maxLength: 1 };
    expect(lines(beside, "long")).toHaveLength(1);
    expect(lines({ $schema: "http://json-schema.org/draft-07/schema#", ...beside }, "long")).toEqual([]);
  });

  test.each([
    "http://json-schema.org/draft-04/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://example.org/own",
  ])("refuses the dialect %s", ($schema) => {
    expect(() => compileJsonSchema({ $schema })).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: expect.stringContaining($schema) }),
    );
  });

  test.each([
    "https://example.org/schema.json",
    "http://localhost:1/x",
    "file:///etc/passwd",
    "other.json",
    "#/$defs/missing",
    "#nowhere",
  ])("refuses the reference %s without fetching it", ($ref) => {
    expect(() => compileJsonSchema({ properties: { a: { $ref } } })).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: expect.stringContaining(`"${$ref}" is not inside`),
      }),
    );
  });

  test("resolves a reference into an unknown keyword", () => {
    const schema = { $ref: "#/components/schemas/Name", components: { schemas: { Name: { type: "string" } } } };
    expect(lines(schema, 1)).toEqual([": expected string, got number 1"]);
  });

  test("ignores the values of unknown keywords", () => {
    const schema = { type: "string", "x-ui": { type: "fancy", required: true, $ref: 5 }, examples: [{ $ref: "x" }] };
    expect(lines(schema, "a")).toEqual([]);
  });

  test("does not check formats", () => {
    expect(lines({ format: "date-time" }, "x")).toEqual([]);
  });

  test("resolves $dynamicRef to the outermost anchor in scope", () => {
    const tree = {
      $id: "tree",
      $dynamicAnchor: "node",
      type: "object",
      properties: { children: { items: { $dynamicRef: "#node" } } },
    };
    const strict = {
      $id: "strict",
      $dynamicAnchor: "node",
      $ref: "tree",
      unevaluatedProperties: false,
      $defs: { tree },
    };
    const value = { children: [{ children: [], dta: 1 }] };
    expect(lines(tree, value)).toEqual([]);
    expect(lines(strict, value)).toEqual(["children[0].dta: not allowed here"]);
  });

  test("resolves a reference that looks like a URL to an identifier in the schema", () => {
    const schema = {
      $id: "https://example.org/root.json",
      $ref: "name.json",
      $defs: { name: { $id: "/name.json", $ref: "#/$defs/text", $defs: { text: { type: "string" } } } },
    };
    expect(lines(schema, 1)).toEqual([": expected string, got number 1"]);
  });

  test("resolves references of a shared schema object from each of its locations", () => {
    const shared = { $ref: "#/$defs/a" };
    const schema = {
      $defs: { a: { type: "string" } },
      properties: { here: shared, there: { $id: "there", $defs: { a: { type: "number" } }, allOf: [shared] } },
    };
    expect(lines(schema, { here: "a", there: 1 })).toEqual([]);
    expect(lines(schema, { here: 1, there: "a" })).toEqual([
      "here: expected string, got number 1",
      'there: expected number, got "a"',
    ]);
  });

  test("supports keywords that 2020-12 renamed", () => {
    const schema = {
      definitions: { n: { type: "number" } },
      properties: { pair: { items: [{ $ref: "#/definitions/n" }], additionalItems: false } },
      dependencies: { pair: ["unit"], unit: { maxProperties: 2 } },
    };
    expect(lines(schema, { pair: [1], unit: "m" })).toEqual([]);
    expect(lines(schema, { pair: ["x", 2] })).toEqual([
      'pair[0]: expected number, got "x"',
      "pair[1]: not allowed here",
      "unit: required, got nothing",
    ]);
  });

  test("accepts a frozen schema and does not change it", () => {
    const schema = Object.freeze({ $id: "https://example.org/a", type: "object" });
    expect(lines(schema, 1)).toHaveLength(1);
    expect(Reflect.ownKeys(schema)).toEqual(["$id", "type"]);
  });
});

describe("refuses a malformed schema with the path of the mistake", () => {
  test.each<[JsonSchema, string]>([
    [{ type: "strnig" }, "type: expected a type name"],
    [{ properties: { a: { minimum: "1" } } }, 'properties/a/minimum: expected a number, got "1"'],
    [{ properties: [] }, "properties: expected an object of schemas, got an array"],
    [{ properties: { a: 5 } }, "properties/a: expected a schema (an object or a boolean), got number 5"],
    [{ anyOf: {} }, "anyOf: expected an array of schemas, got an object"],
    [{ required: "a" }, 'required: expected an array of strings, got "a"'],
    [{ multipleOf: 0 }, "multipleOf: expected a number above 0, got number 0"],
    [{ minLength: -1 }, "minLength: expected an integer from 0 on, got number -1"],
    [{ $ref: 5 }, "$ref: expected a string, got number 5"],
    [{ enum: "a" }, 'enum: expected an array, got "a"'],
    [{ dependentRequired: { a: "b" } }, "dependentRequired: expected an object of arrays of strings"],
    [{ const: NaN }, "const: expected JSON data, got number NaN"],
    [{ $id: "http://[" }, '"http://[" is no valid URI'],
    [{ $ref: "#/%E0%A4" }, '"#/%E0%A4" is no valid URI'],
    [{ $ref: "#/x/y", x: { y: { $id: "http://[" } } }, '"http://[" is no valid URI'],
  ])("%j", (schema, message) => {
    for (const trusted of [true, false]) {
      expect(() => compileJsonSchema(schema, { trusted })).toThrow(
        expect.objectContaining({ code: "invalid-definition", message: expect.stringContaining(message) }),
      );
    }
  });

  test("refuses an invalid pattern in trusted schemas only", () => {
    const schema = { properties: { a: { pattern: "(" } } };
    expect(() => compileJsonSchema(schema, { trusted: true })).toThrow(/regular expression/);
    const check = compileJsonSchema(schema);
    expect(check.warnings).toEqual(['properties/a: the pattern "(" is not checked: it is no regular expression']);
    expect(check({ a: "x" })).toEqual([]);
  });
});

describe("checks the JSON form of values that are not plain JSON", () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["b"] };

  test("treats an undefined member as absent", () => {
    expect(lines(schema, { a: undefined, b: 1 })).toEqual([]);
    expect(lines(schema, { b: undefined })).toEqual(["b: required, got nothing"]);
  });

  test("treats a date as text", () => {
    expect(lines(schema, { a: new Date(0), b: 1 })).toEqual([]);
  });

  test.each([undefined, () => 1, 1n, Symbol("s")])("%s is no JSON value", (value) => {
    expect(lines({}, value)).toEqual([expect.stringContaining("expected a JSON value, got")]);
    expect(lines({}, { a: 1n })).toHaveLength(1);
  });
});

describe("limits", () => {
  const recursive = { type: "object", properties: { child: { $ref: "#" } } };

  test("rejects a value that is nested too deeply", () => {
    const check = compileJsonSchema(recursive, { maxDepth: 20 });
    expect(check(nested(19))).toEqual([]);
    expect(check(nested(20))).toEqual([{ path: "", message: "nested more than 20 levels deep" }]);
    expect(compileJsonSchema({})(nested(100_000))).toEqual([{ path: "", message: "nested more than 512 levels deep" }]);
  });

  test.each<[string, JsonSchema]>([
    ["members", recursive],
    ["alternatives", { anyOf: [{ allOf: [{ allOf: [{ allOf: [{ properties: { child: { $ref: "#" } } }] }] }] }] }],
    ["unevaluated members", { anyOf: [{ properties: { child: { $ref: "#" } } }], unevaluatedProperties: false }],
  ])("checks a value of the maximum depth through recursive %s", (_name, schema) => {
    expect(compileJsonSchema(schema)(nested(511))).toEqual([]);
  });

  test("compiles a schema of the maximum depth", () => {
    let deep: JsonSchema = { required: ["last"] };
    for (let level = 0; level < 511; level++) deep = { properties: { child: deep } };
    expect(compileJsonSchema(deep)(nested(510))).toEqual([]);
    expect(compileJsonSchema(deep)(nested(511))).toEqual([
      { path: `${"child.".repeat(511)}last`, message: "required, got nothing" },
    ]);
  });

  test("refuses a schema that is nested too deeply or contains itself", () => {
    let deep: JsonSchema = {};
    for (let level = 0; level < 600; level++) deep = { not: deep };
    const cyclic: JsonSchema = {};
    cyclic["not"] = cyclic;
    for (const schema of [deep, cyclic]) expect(() => compileJsonSchema(schema)).toThrow(/more than 512 levels deep/);
  });

  test("refuses a schema with too many subschemas", () => {
    const wide = { anyOf: Array.from({ length: 10_000 }, () => ({ type: "string" })) };
    expect(() => compileJsonSchema(wide)).toThrow(/more than 10000 subschemas/);
    let shared: JsonSchema = { type: "string" };
    for (let level = 0; level < 60; level++) shared = { anyOf: [shared, shared] };
    expect(() => compileJsonSchema(shared)).toThrow(/more than 10000 subschemas/);
  });

  test("checks ten thousand alternatives", () => {
    const wide = { anyOf: Array.from({ length: 9_000 }, (_, index) => ({ const: index })) };
    const check = compileJsonSchema(wide);
    expect(check(8_999)).toEqual([]);
    expect(check("x")).toHaveLength(1);
  });

  test.each([true, false])("ends an exponential composition (trusted: %s)", (trusted) => {
    const $defs: JsonSchema = { s0: { type: "string" } };
    for (let level = 1; level <= 60; level++) {
      const $ref = `#/$defs/s${level - 1}`;
      $defs[`s${level}`] = { allOf: [{ $ref }, { $ref }] };
    }
    const check = compileJsonSchema({ $ref: "#/$defs/s60", $defs }, { trusted });
    expect(check("text")).toEqual([{ path: "", message: "takes too long to check" }]);
  });

  test("ends a reference to itself", () => {
    for (const schema of [{ $ref: "#" }, { allOf: [{ $ref: "#" }] }]) {
      expect(compileJsonSchema(schema)(1)).toEqual([{ path: "", message: "too deeply nested to check" }]);
    }
  });

  test("accepts nested identifiers", () => {
    let schema: JsonSchema = { type: "string" };
    for (let level = 0; level < 40; level++) schema = { $id: `https://example.org/${level}`, allOf: [schema] };
    expect(lines(schema, 1)).toEqual([": expected string, got number 1"]);
  });

  test("finds equal items in long arrays", () => {
    const items = Array.from({ length: 50_000 }, (_, id) => ({ id, tags: [id] }));
    const check = compileJsonSchema({ uniqueItems: true });
    expect(check(items)).toEqual([]);
    expect(check([...items, { tags: [7], id: 7 }])).toEqual([{ path: "", message: "expected items that all differ" }]);
  });

  const long = "x".repeat(1_000_000);
  const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`m${index}`, 1]));
  const items = Array.from({ length: 5_000 }, (_, index) => index);
  test.each<[string, JsonSchema, unknown]>([
    ["uniqueItems", { uniqueItems: true }, items],
    ["contains", { contains: true }, items],
    ["uniqueItems of long text", { uniqueItems: true }, [[long], 1]],
    ["maxLength", { maxLength: 1_000_000 }, long],
    ["pattern", { pattern: "x" }, `y${long}`],
    ["maxProperties", { maxProperties: 5_000 }, members],
    ["propertyNames", { propertyNames: true }, members],
    ["additionalProperties", { additionalProperties: { type: "number" } }, members],
    ["required", { required: Object.keys(members) }, members],
  ])("ends %s thousands of times", (_keyword, part, value) => {
    expect(compileJsonSchema({ allOf: Array(2).fill(part) })(value)).toEqual([]);
    const check = compileJsonSchema({ allOf: Array(4_000).fill(part) });
    expect(check(value)).toEqual([{ path: "", message: "takes too long to check" }]);
  });

  test("does not run many name patterns over many members", () => {
    const patterns = Array.from({ length: 5_000 }, (_, index) => [`^${index}$`, { type: "number" }]);
    const check = compileJsonSchema({ patternProperties: Object.fromEntries(patterns) });
    expect(check(members)).toEqual([{ path: "", message: "takes too long to check" }]);
  });

  test("checks a long enumeration as fast as a short one", () => {
    const check = compileJsonSchema({ items: { enum: Array.from({ length: 100_000 }, (_, index) => index) } });
    expect(check(Array(10_000).fill(99_999))).toEqual([]);
    expect(check(Array(10_000).fill("x"))).toHaveLength(10);
  });

  test("reports few issues for tens of thousands of wrong members", () => {
    const members = Array.from({ length: 80_000 }, (_, index) => [`m${index}`, "x"]);
    const schema = { properties: { a: { additionalProperties: { type: "number" } } } };
    const issues = compileJsonSchema(schema)({ a: Object.fromEntries(members) });
    expect(issues.length).toBeGreaterThan(0);
    expect(issues.length).toBeLessThanOrEqual(10);
  });

  test("checks a large valid value", () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `n${id}` }));
    const row = { type: "object", properties: { id: { type: "integer" }, name: { type: "string" } }, required: ["id"] };
    expect(compileJsonSchema({ type: "array", items: row })(rows)).toEqual([]);
  });

  test("accepts a member name with half a surrogate pair", () => {
    const check = compileJsonSchema({ additionalProperties: { type: "number" } });
    expect(check(JSON.parse('{"\\ud800": 1}'))).toEqual([]);
    expect(check(JSON.parse('{"\\ud800": "a"}'))).toHaveLength(1);
  });

  test("accepts members with names of Object.prototype", () => {
    const value = JSON.parse('{"__proto__": 1, "constructor": "a"}');
    const schema = JSON.parse('{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}}}');
    expect(lines(schema, value)).toEqual(["__proto__: expected string, got number 1"]);
    expect(lines({ required: ["toString"] }, {})).toEqual(["toString: required, got nothing"]);
  });
});

describe("patterns of untrusted schemas", () => {
  const hostile = `${"a".repeat(500)}!`;

  test.each([
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "([a-z]+)*x",
    "(.*a){20}",
    `${"a?".repeat(40)}${"a".repeat(40)}`,
    ".*.*.*.*.*x",
  ])("does not run %s, and warns", (pattern) => {
    const check = compileJsonSchema({ properties: { p: { pattern } } });
    expect(check({ p: hostile })).toEqual([]);
    expect(check.warnings).toEqual([expect.stringMatching(/^properties\/p: the pattern .* is not checked: it /)]);
  });

  test("runs ordinary patterns", () => {
    const check = compileJsonSchema({ pattern: "^\\d{4}-\\d{2}-\\d{2}$" });
    expect(check.warnings).toEqual([]);
    expect(check("2026-07-28")).toEqual([]);
    expect(check("28.7.2026")).toHaveLength(1);
  });

  test("always runs trusted patterns", () => {
    const check = compileJsonSchema({ pattern: "^(a+)+$" }, { trusted: true });
    expect(check.warnings).toEqual([]);
    expect(check("b")).toHaveLength(1);
  });

  test("does not run a pattern with several repeats on long text", () => {
    const check = compileJsonSchema({ properties: { a: { pattern: "^a*a*a*$" }, n: { type: "integer" } } });
    expect(check({ a: "ab" })).toHaveLength(1);
    expect(check({ a: `${"a".repeat(2_000)}b` })).toEqual([]);
    expect(check({ a: `${"a".repeat(2_000)}b`, n: "x" })).toEqual([
      { path: "n", message: 'expected integer, got "x"' },
    ]);
  });

  test("runs a linear pattern on long text", () => {
    const check = compileJsonSchema({ pattern: "^a*$" });
    expect(check("a".repeat(100_000))).toEqual([]);
    expect(check(`${"a".repeat(100_000)}b`)).toHaveLength(1);
  });

  const risky = { pattern: "(a+)+$" };
  test.each<[string, JsonSchema, unknown]>([
    ["not", { not: risky }, "text"],
    ["not, by reference", { not: { $ref: "#/$defs/risky" }, $defs: { risky } }, "text"],
    ["oneOf", { oneOf: [risky, { type: "string" }] }, "text"],
    ["if", { if: { not: risky }, else: false }, "text"],
    ["if and else", { if: risky, else: { minLength: 5 } }, "text"],
    ["contains", { contains: risky, maxContains: 0 }, ["text"]],
    ["propertyNames", { not: { propertyNames: risky } }, { some: "member" }],
    [
      "patternProperties under not",
      { not: { patternProperties: { "(a+)+$": {} }, additionalProperties: false } },
      { some: "member" },
    ],
    ["patternProperties", { patternProperties: { "(a+)+$": false }, additionalProperties: false }, { some: "member" }],
    [
      "unevaluatedProperties",
      { allOf: [{ patternProperties: { "(a+)+$": {} } }], unevaluatedProperties: false },
      { some: "member" },
    ],
  ])("accepts possibly valid values when a pattern is not run under %s", (_keyword, schema, value) => {
    const check = compileJsonSchema(schema);
    expect(check(value)).toEqual([]);
    expect(check.warnings).toHaveLength(1);
  });

  test("still rejects other mistakes when a pattern is not run", () => {
    expect(compileJsonSchema({ not: risky })(1)).toHaveLength(1);
    expect(compileJsonSchema({ oneOf: [risky, { type: "number" }] })(1)).toHaveLength(1);
    expect(compileJsonSchema({ anyOf: [{ ...risky, type: "string" }, { type: "null" }] })(1)).toHaveLength(1);
  });
});
