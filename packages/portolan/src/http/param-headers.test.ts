import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../jsonrpc/message.ts";
import { type ParamPlan, paramHeaders, planParamHeaders, problemOfParamHeaders } from "./param-headers.ts";

const named = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name });
const withProperties = (properties: JsonObject): JsonObject => ({ type: "object", properties });

function plan(properties: JsonObject): ParamPlan {
  const found = planParamHeaders(withProperties(properties));
  if ("problem" in found) throw new Error(found.problem);
  return found;
}

function problem(schema: JsonObject): string | undefined {
  const found = planParamHeaders(schema);
  return "problem" in found ? found.problem : undefined;
}

type Headers = readonly (readonly [name: string, value: string])[];

function check(params: ParamPlan, args: JsonObject | undefined, headers: Headers): string | undefined {
  return problemOfParamHeaders(params, args, (prefix) => {
    const small = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
    return small.filter(([name]) => name.startsWith(prefix));
  });
}

const region = plan({ region: named("Region") });

test("annotated properties are found at any depth", () => {
  const found = plan({
    region: named("Region"),
    where: withProperties({ zone: named("Zone-1", "integer"), deep: withProperties({ dry: named("dry", "boolean") }) }),
    query: { type: "string" },
  });
  expect(found).toEqual([
    { name: "Mcp-Param-Region", key: "mcp-param-region", path: ["region"] },
    { name: "Mcp-Param-Zone-1", key: "mcp-param-zone-1", path: ["where", "zone"] },
    { name: "Mcp-Param-dry", key: "mcp-param-dry", path: ["where", "deep", "dry"] },
  ]);
});

test("schemas without annotations share one empty plan and need no header lookup", () => {
  const empty = plan({});
  expect(planParamHeaders({ type: "object", properties: { a: { type: "string" } } })).toBe(empty);
  expect(empty).toEqual([]);
  expect(paramHeaders(empty, { a: 1 })).toBe(paramHeaders(empty, { b: 2 }));
  const lookUp = () => {
    throw new Error("looked up");
  };
  expect(problemOfParamHeaders(empty, { a: 1 }, lookUp)).toBeUndefined();
});

test("ignores members that only look like annotations", () => {
  const harmless = { "x-mcp-header": "no name" };
  const schema = {
    ...withProperties({
      "x-mcp-header": { type: "string" },
      a: { const: harmless, enum: [harmless], default: harmless },
    }),
    examples: [harmless],
    required: ["x-mcp-header"],
    patternProperties: { "x-mcp-header": true },
    $defs: { "x-mcp-header": { type: "string" } },
    vendor: harmless,
  };
  expect(planParamHeaders(schema)).toEqual([]);
});

test.each([
  ["", '""'],
  ["My Region", '"My Region"'],
  ["Region:Primary", '"Region:Primary"'],
  ["Région", '"Région"'],
  ["Region\t1", '"Region\\t1"'],
  ["a\r\nSet-Cookie", '"a\\r\\nSet-Cookie"'],
  ["Region\n", '"Region\\n"'],
  [5, "number 5"],
  [null, "null"],
  [["Region"], "an array"],
])("%j is not a valid header name", (name, shown) => {
  expect(problem(withProperties({ region: named(name) }))).toBe(
    `inputSchema: "region": x-mcp-header: expected the letters, digits and marks of an HTTP token, got ${shown}`,
  );
});

test.each([
  ["number", '"number"'],
  ["object", '"object"'],
  ["array", '"array"'],
  ["null", '"null"'],
  [["string", "null"], "an array"],
  [undefined, "nothing"],
])("a value of type %j is not repeated", (type, shown) => {
  expect(problem(withProperties({ value: { "x-mcp-header": "Value", type } }))).toBe(
    `inputSchema: "value": x-mcp-header "Value": expected on an integer, a string or a boolean, got type ${shown}`,
  );
});

test("a name may be used once, whatever its case", () => {
  for (const other of ["MyField", "myfield"]) {
    expect(problem(withProperties({ a: named("MyField"), b: withProperties({ c: named(other) }) }))).toBe(
      `inputSchema: "b.c": x-mcp-header "${other}": expected once, whatever its capitals, got it twice`,
    );
  }
});

test.each(
  [
    ...["items", "additionalItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"],
    ...["propertyNames", "contentSchema", "not", "if", "then", "else"],
  ].flatMap((keyword): [string, JsonObject][] => [
    [keyword, { [keyword]: named("Region") }],
    [keyword, { [keyword]: withProperties({ below: { anyOf: [named("Region")] } }) }],
  ]),
)("an annotation below %s is not allowed", (keyword, schema) => {
  const reason = `x-mcp-header "Region": expected only on what properties alone lead to, got it below ${keyword}`;
  expect(problem(schema)).toContain(reason);
  expect(problem(withProperties({ a: schema }))).toContain(`"a`);
});

test.each(["allOf", "anyOf", "oneOf", "prefixItems", "items"])(
  "an annotation in a list of %s is not allowed",
  (keyword) => {
    expect(problem({ [keyword]: [true, {}, named("Region")] })).toContain(`got it below ${keyword}`);
  },
);

test.each(["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"])(
  "an annotation in %s is not allowed",
  (keyword) => {
    expect(problem({ [keyword]: { listed: ["a"], one: named("Region") } })).toContain(`got it below ${keyword}`);
  },
);

test("an annotation of the schema itself is not allowed", () => {
  expect(problem({ type: "string", "x-mcp-header": "All" })).toBe(
    'inputSchema: x-mcp-header "All": expected on a property, got it on the schema itself',
  );
});

test("annotations are limited in depth and number; schemas without them are not", () => {
  const nested = (levels: number, leaf: JsonObject) => {
    let schema = leaf;
    for (let level = 0; level < levels; level++) schema = withProperties({ a: schema });
    return schema;
  };
  const many = (count: number) =>
    withProperties(Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, named(`H${at}`)])));
  expect(planParamHeaders(nested(32, named("Deep")))).toHaveLength(1);
  expect(problem(nested(33, named("Deep")))).toContain("got it below 32 levels of properties");
  expect(planParamHeaders(nested(20_000, {}))).toEqual([]);
  expect(planParamHeaders(many(100))).toHaveLength(100);
  expect(problem(many(101))).toContain("expected at most 100 of them");
  const wide = { anyOf: Array.from({ length: 100_000 }, () => ({})) };
  expect(problem(wide)).toBe("inputSchema: expected at most 100000 subschemas, got more");
});

test("arguments are sent as text, encoded where HTTP needs it", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"];
  const all = plan(Object.fromEntries(names.map((name) => [name, named(name.toUpperCase())])));
  const args = { a: "us-west1", b: "", c: " Größe", d: 42, e: -7, f: true, g: false, other: "no" };
  expect(paramHeaders(all, args)).toEqual([
    ["Mcp-Param-A", "us-west1"],
    ["Mcp-Param-B", ""],
    ["Mcp-Param-C", "=?base64?IEdyw7bDn2U=?="],
    ["Mcp-Param-D", "42"],
    ["Mcp-Param-E", "-7"],
    ["Mcp-Param-F", "true"],
    ["Mcp-Param-G", "false"],
  ]);
});

test("values that are null, absent or not expressible have no header", () => {
  for (const value of [null, undefined, {}, ["a"], 2 ** 53, -(2 ** 53), Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(paramHeaders(region, { region: value })).toEqual([]);
  }
  expect(paramHeaders(region, {})).toEqual([]);
  expect(paramHeaders(region, undefined)).toEqual([]);
  expect(paramHeaders(region, { region: 2 ** 53 - 1 })).toEqual([["Mcp-Param-Region", "9007199254740991"]]);
});

test("only own members of objects are arguments", () => {
  const inherited = plan({ constructor: named("C"), toString: withProperties({ name: named("N") }) });
  expect(paramHeaders(inherited, {})).toEqual([]);
  expect(check(inherited, {}, [])).toBeUndefined();
  const below = plan({ list: withProperties({ 0: named("First"), length: named("Length") }) });
  expect(paramHeaders(below, { list: ["a"] })).toEqual([]);
  expect(paramHeaders(below, { list: "text" })).toEqual([]);
});

test("the server accepts the headers of our own client", () => {
  const both = plan({ a: named("A"), b: withProperties({ c: named("C", "integer") }) });
  const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const value = fc.oneof(
    fc.string({ unit: codeUnit }),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    fc.constant(null),
  );
  fc.assert(
    fc.property(value, value, (a, c) => {
      const args = JSON.parse(JSON.stringify({ a, b: { c } })) as JsonObject;
      expect(check(both, args, paramHeaders(both, args))).toBeUndefined();
    }),
  );
});

test("a header with another value is refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.boolean()), fc.string(), (value, other) => {
      fc.pre(String(value) !== other);
      const sent = paramHeaders(region, { region: other });
      expect(check(region, { region: value }, sent)).toMatch(/^Mcp-Param-Region: expected /);
    }),
  );
});

test.each([
  ["42", true],
  ["42.0", true],
  [" 42 ", true],
  ["=?base64?NDI=?=", true],
  ["4.2e1", true],
  ["43", false],
  ["0x2A", false],
  ["", false],
  ["4 2", false],
  ["42, 42", false],
])("a header %j for the number 42 passes: %j", (header, passes) => {
  const reason = check(region, { region: 42 }, [["Mcp-Param-Region", header]]);
  if (passes) expect(reason).toBeUndefined();
  else expect(reason).toContain('expected "42" as in the body');
});

test("zero differs from an absent value", () => {
  expect(check(region, { region: 0 }, [["Mcp-Param-Region", ""]])).toContain('expected "0"');
  expect(check(region, { region: "" }, [["Mcp-Param-Region", ""]])).toBeUndefined();
  expect(check(region, { region: "" }, [])).toContain('expected "" as in the body, got no such header');
});

test.each([
  [{ region: "eu" }, [], 'Mcp-Param-Region: expected "eu" as in the body, got no such header'],
  [{ region: "eu" }, [["Mcp-Param-Region", "us"]], 'Mcp-Param-Region: expected "eu" as in the body, got "us"'],
  [{ region: true }, [["Mcp-Param-Region", "TRUE"]], 'Mcp-Param-Region: expected "true" as in the body, got "TRUE"'],
  [
    { region: "Hello" },
    [["Mcp-Param-Region", "=?base64?SGVsbG8?="]],
    'Mcp-Param-Region: expected "Hello" as in the body, got "=?base64?SGVsbG8?=", which is neither visible ASCII nor base64 of UTF-8',
  ],
  [
    { region: "eu" },
    [
      ["Mcp-Param-Region", "eu"],
      ["mcp-param-region", "us"],
    ],
    'Mcp-Param-Region: expected "eu" as in the body, got "eu, us" (was it sent twice?)',
  ],
  [
    { region: null },
    [["Mcp-Param-Region", "eu"]],
    'Mcp-Param-Region: expected no such header, because the body has no argument "region"',
  ],
  [
    undefined,
    [["Mcp-Param-Region", "eu"]],
    'Mcp-Param-Region: expected no such header, because the body has no argument "region"',
  ],
  [
    { region: { deep: 1 } },
    [],
    'Mcp-Param-Region: expected argument "region" to be a string, a boolean or an integer within ±(2^53-1), got an object',
  ],
  [
    { region: 2 ** 53 },
    [["Mcp-Param-Region", "9007199254740993"]],
    'Mcp-Param-Region: expected argument "region" to be a string, a boolean or an integer within ±(2^53-1), got number 9007199254740992',
  ],
] as [JsonObject | undefined, Headers, string][])(
  "arguments %j with headers %j are refused with a reason",
  (args, headers, reason) => {
    expect(check(region, args, headers)).toBe(reason);
  },
);

test("headers that the schema does not name are ignored", () => {
  const headers: Headers = [
    ["Mcp-Param-Other", "\x00"],
    ["MCP-PARAM-REGION", "eu"],
  ];
  expect(check(region, { region: "eu" }, headers)).toBeUndefined();
});
