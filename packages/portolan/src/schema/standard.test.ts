import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3-25";
import { z as z40 } from "zod-4-0";
import { z as z41 } from "zod-4-1";
import { withJsonSchema } from "./infer.ts";
import type { JsonSchema, Schema } from "./standard.ts";

type Members = { [member: string]: unknown };

interface Tool<I> {
  input?: Schema<I>;
  run(args: I): void;
}

function argumentsOf<I = Members>(tool: Tool<I>): I {
  return tool as never;
}

test("the arguments of a tool are inferred from its schema", () => {
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

test("a plain JSON Schema, or none, gives arguments of unknown members", () => {
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

test("a schema for another type is refused", () => {
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
