// Tools for the requirements on tools. Each call creates a new server.
import { createServer, live, ToolError } from "portolan/server";
import { z } from "zod";

const inputSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    pair: { type: "array", prefixItems: [{ type: "string" }, { $ref: "#/$defs/count" }], items: false },
    kind: { enum: ["a", "b"], "x-vendor": { kept: true } },
  },
  required: ["pair"],
  additionalProperties: false,
  if: { properties: { kind: { const: "b" } }, required: ["kind"] },
  then: { properties: { pair: { minItems: 2 } } },
  $defs: { count: { $anchor: "count", type: "integer", minimum: 0 } },
};

export default function createToolServer() {
  const runs = [];
  const errors = [];
  const server = createServer(
    { name: "tools", version: "1.0.0" },
    { pageSize: 3, onError: (error, about) => errors.push({ message: String(error?.message ?? error), ...about }) },
  )
    .tool("verbatim", { input: inputSchema, run: (args) => JSON.stringify(args) })
    .tool("plain", { run: () => "plain" })
    .tool("Plain", { run: () => "another" })
    .tool("titled", { title: "The title", annotations: { title: "The hint" }, run: () => "" })
    .tool("hinted", {
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      run: () => "",
    })
    .tool("counted", {
      input: z.object({ n: z.number().int().max(3) }),
      run: ({ n }) => {
        runs.push(n);
        return String(n);
      },
    })
    .tool("runs", { run: () => JSON.stringify(runs) })
    .tool("errors", { run: () => JSON.stringify(errors) })
    .tool("object_output", { output: z.object({ ok: z.boolean() }), run: () => ({ ok: true }) })
    .tool("with_own_text", {
      output: z.object({ ok: z.boolean() }),
      run: () => ({ content: [{ type: "text", text: "own" }], structuredContent: { ok: true } }),
    })
    .tool("no_structured", {
      output: z.object({ ok: z.boolean() }),
      run: () => ({ content: [{ type: "text", text: "only text" }] }),
    })
    .tool("sum", {
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    })
    .tool("numbers", { output: z.array(z.number()), run: () => [1, 2, 3] })
    .tool("fails", {
      run: () => {
        throw new ToolError("No city named Atlantis");
      },
    })
    .tool("is_error", {
      output: z.object({ sum: z.number() }),
      run: () => ({ content: [{ type: "text", text: "it went wrong" }], isError: true }),
    })
    .tool("wrong_output", { output: z.object({ sum: z.number() }), run: () => ({ sum: "three" }) })
    .tool("zero", { output: z.number(), run: () => 0 })
    .tool("no", { output: z.boolean(), run: () => false })
    .tool("empty", { output: z.string(), run: () => "" })
    .tool("null", { output: z.null(), run: () => null })
    .tool("referring", {
      output: {
        $defs: { row: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } },
        type: "array",
        items: { $ref: "#/$defs/row" },
      },
      run: () => [{ id: 1 }],
    })
    .tool("image_and_output", {
      output: z.object({ ok: z.boolean() }),
      run: () => ({
        content: [{ type: "image", data: "aW1hZ2U=", mimeType: "image/png" }],
        structuredContent: { ok: true },
      }),
    })
    .tool("throws_late", {
      async run() {
        await null;
        throw new Error("token=abc");
      },
    });
  const served = live(server);
  let made = 0;
  served.update((current) =>
    current
      .tool("burst", {
        run() {
          for (let n = 0; n < 3; n += 1) served.update((now) => now.tool(`made_${made++}`, { run: () => "made" }));
          return "burst";
        },
      })
      .tool("no_change", {
        run() {
          served.update((now) => now);
          return "same";
        },
      }),
  );
  return served;
}
