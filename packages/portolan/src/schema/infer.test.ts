import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3-25";
import { z as z40 } from "zod-4-0";
import { z as z41 } from "zod-4-1";
import { compileSchema, conversions, type JsonSchema, type Schema, withJsonSchema } from "./infer.ts";

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"],
};

const libraries: { library: string; schema: Schema<unknown> }[] = [
  { library: "zod 4.6", schema: z.object({ name: z.string(), age: z.int().optional() }) },
  { library: "zod 4.1", schema: z41.object({ name: z41.string(), age: z41.int().optional() }) },
  { library: "zod 4.0", schema: z40.object({ name: z40.string(), age: z40.int().optional() }) },
  { library: "zod 3.25", schema: z3.object({ name: z3.string(), age: z3.number().int().optional() }) },
  { library: "arktype", schema: type({ name: "string", "age?": "number.integer" }) },
  {
    library: "valibot",
    schema: withJsonSchema(
      v.object({ name: v.string(), age: v.optional(v.pipe(v.number(), v.integer())) }),
      toJsonSchema,
    ),
  },
  { library: "JSON Schema", schema: person },
];

describe.each(libraries)("$library", ({ schema }) => {
  const compiled = compileSchema(schema, "input");
  beforeAll(() => compiled.loading);

  test("has a JSON Schema", () => {
    expect(compiled.jsonSchema).toMatchObject({
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" } },
      required: ["name"],
    });
  });

  test("returns a valid value synchronously", () => {
    // The library's own answer is passed on, whatever else it holds.
    expect(compiled.validate({ name: "Ada", age: 36 })).toMatchObject({ value: { name: "Ada", age: 36 } });
  });

  test("reports issues with their path", () => {
    expect(compiled.validate({ name: "Ada", age: "36" })).toEqual({
      issues: [{ path: "age", message: expect.stringMatching(/number|integer/i) }],
    });
    expect(compiled.validate({})).toMatchObject({ issues: [{ path: "name" }] });
    expect(compiled.validate("Ada")).toMatchObject({ issues: [{ path: "" }] });
  });

  test("does not convert while validating", () => {
    const before = conversions();
    void compiled.validate({ name: "Ada" });
    void compiled.jsonSchema;
    expect(conversions()).toBe(before);
  });
});

test("writes paths with indexes and quoted names", () => {
  const compiled = compileSchema(z.object({ rows: z.array(z.object({ "a b": z.string() })) }), "input");
  expect(compiled.validate({ rows: [{ "a b": "x" }, { "a b": 1 }] })).toMatchObject({
    issues: [{ path: 'rows[1]["a b"]' }],
  });
  const items = v.object({ rows: v.array(v.object({ id: v.string() })) });
  expect(compileSchema(withJsonSchema(items, {}), "input").validate({ rows: [{ id: 1 }] })).toMatchObject({
    issues: [{ path: "rows[0].id" }],
  });
});

test.each([
  ["zod 4.6", z.object({ a: z.number().default(3) })],
  ["zod 4.1", z41.object({ a: z41.number().default(3) })],
  ["zod 3.25", z3.object({ a: z3.number().default(3) })],
])("%s: makes a member with a default optional in the input and required in the output", async (_library, schema) => {
  const input = compileSchema<unknown>(schema, "input");
  const output = compileSchema<unknown>(schema, "output");
  await Promise.all([input.loading, output.loading]);
  expect(input.jsonSchema["required"] ?? []).toEqual([]);
  expect(input.validate({})).toEqual({ value: { a: 3 } });
  expect(output.jsonSchema["required"]).toEqual(["a"]);
});

test("returns a promise for asynchronous checks", async () => {
  const compiled = compileSchema(z.object({ a: z.string().refine(async (a) => a === "x") }), "input");
  const answer = compiled.validate({ a: "x" });
  expect(answer).toBeInstanceOf(Promise);
  expect(await answer).toEqual({ value: { a: "x" } });
  expect(await compiled.validate({ a: "y" })).toMatchObject({ issues: [{ path: "a" }] });
});

test("converts a library's schema once, and a JSON Schema never", () => {
  const before = conversions();
  compileSchema(z.object({}), "input");
  expect(conversions()).toBe(before + 1);
  compileSchema(person, "input");
  expect(conversions()).toBe(before + 1);
});

test("keeps a JSON Schema unchanged, with unknown keywords", () => {
  const schema = { ...person, "x-order": ["name"], $anchor: "person" };
  expect(compileSchema(schema, "input").jsonSchema).toBe(schema);
});

test("falls back to draft-07", () => {
  const convert = ({ target }: { target: string }): { [keyword: string]: unknown } => {
    if (target !== "draft-07") throw new Error(`no ${target}`);
    return { $schema: "http://json-schema.org/draft-07/schema#" };
  };
  const schema = {
    "~standard": {
      version: 1,
      vendor: "old",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: convert, output: convert },
    },
  } as const;
  expect(compileSchema(schema, "input").jsonSchema).toEqual({ $schema: "http://json-schema.org/draft-07/schema#" });
});

test("accepts a converter or a JSON Schema", () => {
  const schema = v.object({ a: v.string() });
  const seen: unknown[] = [];
  const byConverter = withJsonSchema(schema, (given) => {
    seen.push(given);
    return { type: "object" };
  });
  expect(compileSchema(byConverter, "input").jsonSchema).toEqual({ type: "object" });
  expect(seen).toEqual([schema]);
  expect(compileSchema(withJsonSchema(schema, person), "output").jsonSchema).toBe(person);
});

describe("invalid definitions", () => {
  test("names a library without JSON Schema, and the solution", () => {
    expect(() => compileSchema(v.string(), "input")).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: expect.stringMatching(/valibot.*withJsonSchema\(schema, converter\)/),
      }),
    );
  });

  test("reports the reason if a library cannot convert a schema", async () => {
    expect(() => compileSchema(z.object({ a: z.bigint() }), "input")).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: expect.stringMatching(/zod schema .*BigInt/i) }),
    );
    const older = compileSchema(z3.object({ a: z3.bigint() }), "input");
    await expect(older.loading).rejects.toThrow(/zod schema at a: ZodBigInt/);
  });

  test.each([null, undefined, "string", 5, [], () => 1])("%s is no schema", (value) => {
    expect(() => compileSchema(value as never, "input")).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: expect.stringContaining("expected a Standard Schema"),
      }),
    );
  });

  test("refuses a malformed JSON Schema once the validator is loaded", async () => {
    const compiled = compileSchema({ type: "objekt" }, "input");
    await expect(compiled.loading).rejects.toThrow(/JSON Schema: type: expected a type name/);
    await expect(compiled.validate({})).rejects.toThrow(/JSON Schema: type: expected a type name/);
  });

  test("waits for the validator to load", async () => {
    const compiled = compileSchema(person, "input");
    expect(await compiled.validate({ name: 1 })).toMatchObject({ issues: [{ path: "name" }] });
    expect(compiled.loading).toBeUndefined();
  });
});

type Members = { [member: string]: unknown };

interface Tool<I> {
  input?: Schema<I>;
  run(args: I): void;
}

function argumentsOf<I = Members>(tool: Tool<I>): I {
  return tool as never;
}

test("infers the arguments of a tool from its schema", () => {
  type Expected = { a: string; b: number };
  expectTypeOf(
    argumentsOf({ input: z.object({ a: z.string(), b: z.number().default(1) }), run: (args) => args.b.toFixed() }),
  ).toEqualTypeOf<Expected>();
  expectTypeOf(
    argumentsOf({
      input: z41.object({ a: z41.string(), b: z41.number().default(1) }),
      run: (args) => args.b.toFixed(),
    }),
  ).toEqualTypeOf<Expected>();
  expectTypeOf(
    argumentsOf({
      input: z40.object({ a: z40.string(), b: z40.number().default(1) }),
      run: (args) => args.b.toFixed(),
    }),
  ).toEqualTypeOf<Expected>();
  expectTypeOf(
    argumentsOf({ input: z3.object({ a: z3.string(), b: z3.number().default(1) }), run: (args) => args.b.toFixed() }),
  ).toEqualTypeOf<Expected>();
  expectTypeOf(
    argumentsOf({ input: type({ a: "string", b: "number = 1" }), run: (args) => args.b.toFixed() }),
  ).toEqualTypeOf<Expected>();
  const valibot = v.object({ a: v.string(), b: v.optional(v.number(), 1) });
  expectTypeOf(argumentsOf({ input: valibot, run: (args) => args.b.toFixed() })).toEqualTypeOf<Expected>();
  expectTypeOf(
    argumentsOf({ input: withJsonSchema(valibot, toJsonSchema), run: (args) => args.b.toFixed() }),
  ).toEqualTypeOf<Expected>();
});

test("infers unknown members without a schema or from a JSON Schema", () => {
  const run = (args: Members): unknown => args["a"];
  expectTypeOf(argumentsOf({ input: { type: "object", properties: { a: {} } }, run })).toEqualTypeOf<Members>();
  expectTypeOf(
    argumentsOf({
      run(args) {
        void args["a"];
      },
    }),
  ).toEqualTypeOf<Members>();
  expectTypeOf<{ readonly type: "object" }>().toExtend<Schema<string>>();
  expectTypeOf<Members>().toExtend<JsonSchema>();
});

test("rejects a schema of another type", () => {
  // @ts-expect-error the output is a number
  const fromZod: Schema<string> = z.number();
  // @ts-expect-error the output is a number
  const fromZod3: Schema<string> = z3.number();
  // @ts-expect-error the output is a number
  const fromValibot: Schema<string> = v.number();
  // @ts-expect-error the output is a number
  const fromArktype: Schema<string> = type("number");
  // @ts-expect-error no schema at all
  const fromText: Schema<string> = "string";
  void [fromZod, fromZod3, fromValibot, fromArktype, fromText];
});
