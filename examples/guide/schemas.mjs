// @ts-check
// One tool for each supported schema library, and one with plain JSON Schema.
import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createServer, withJsonSchema } from "portolan/server";
import * as v from "valibot";
import { z } from "zod";

const toFahrenheit = (/** @type {number} */ celsius) => `${celsius * 1.8 + 32} °F`;

export const server = createServer({ name: "schemas", version: "1.0.0" })
  .tool("with_zod", {
    input: z.object({ celsius: z.number().default(20) }),
    run: ({ celsius }) => toFahrenheit(celsius),
  })
  .tool("with_arktype", {
    input: type({ celsius: "number" }),
    run: ({ celsius }) => toFahrenheit(celsius),
  })
  .tool("with_valibot", {
    input: withJsonSchema(v.object({ celsius: v.number() }), toJsonSchema),
    run: ({ celsius }) => toFahrenheit(celsius),
  })
  .tool("with_json_schema", {
    input: { type: "object", properties: { celsius: { type: "number" } }, required: ["celsius"] },
    run: ({ celsius }) => toFahrenheit(Number(celsius)),
  });
