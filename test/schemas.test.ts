import { toJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { PortolanError } from "portolan";
import { createServer, type Server, withJsonSchema } from "portolan/server";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod-3-25";
import { z as z40 } from "zod-4-0";
import { z as z41 } from "zod-4-1";
import { connectMemory } from "./kit/raw-peer.ts";

const begin = (onError: (error: unknown) => void = () => {}) =>
  createServer({ name: "schemas", version: "1.0.0" }, { onError });
const run = ({ a, b }: { a: number; b: number }) => ({ sum: a + b });

const libraries: { [library: string]: Server } = {
  zod: begin().tool("add", {
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
    run,
  }),
  "zod 3.25": begin().tool("add", {
    input: z3.object({ a: z3.number(), b: z3.number() }),
    output: z3.object({ sum: z3.number() }),
    run,
  }),
  "zod 4.0": begin().tool("add", {
    input: z40.object({ a: z40.number(), b: z40.number() }),
    output: z40.object({ sum: z40.number() }),
    run,
  }),
  "zod 4.1": begin().tool("add", {
    input: z41.object({ a: z41.number(), b: z41.number() }),
    output: z41.object({ sum: z41.number() }),
    run,
  }),
  arktype: begin().tool("add", {
    input: type({ a: "number", b: "number" }),
    output: type({ sum: "number" }),
    run,
  }),
  valibot: begin().tool("add", {
    input: withJsonSchema(v.object({ a: v.number(), b: v.number() }), toJsonSchema),
    output: withJsonSchema(v.object({ sum: v.number() }), toJsonSchema),
    run,
  }),
  "JSON Schema": begin().tool("add", {
    input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
    output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
    run: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  }),
};

describe.each(Object.entries(libraries))("a tool by %s", (_, server) => {
  test.each(["2024-11-05", "2026-07-28"] as const)("is listed, called and checked on %s", async (revision) => {
    const peer = await connectMemory(server, { revision });
    const [{ inputSchema }] = (await peer.request("tools/list")).result.tools;
    expect(inputSchema).toMatchObject({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    });
    const called = await peer.callTool("add", { a: 1, b: 2 });
    expect(called.result.content).toEqual([{ type: "text", text: '{"sum":3}' }]);
    const refused = await peer.callTool("add", { a: 1, b: "two" });
    expect(refused.result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/"add": b: /) }] });
    await peer.close();
  });
});

test("a mounted tool is listed with its schema, even if that is still loading", async () => {
  const child = begin().tool("old", { input: z3.object({ a: z3.string() }), run: ({ a }) => a });
  const peer = await connectMemory(begin().mount("child_", child), { revision: "2025-11-25" });
  const [tool] = (await peer.request("tools/list")).result.tools;
  expect(tool).toMatchObject({ name: "child_old", inputSchema: { properties: { a: { type: "string" } } } });
  expect((await peer.callTool("child_old", { a: "x" })).result.content).toEqual([{ type: "text", text: "x" }]);
});

test("a tool with an invalid JSON Schema is left out and reported by its name", async () => {
  const errors: unknown[] = [];
  const server = begin((error) => errors.push(error)).tool("bad", {
    input: { type: "object", minProperties: "1" },
    run: () => "",
  });
  const peer = await connectMemory(server, { revision: "2026-07-28" });
  expect(await peer.callTool("bad")).toMatchObject({ error: { code: -32602, message: "Unknown tool: bad" } });
  expect(errors[0]).toBeInstanceOf(PortolanError);
  expect(String(errors[0])).toMatch(/Tool "bad": input: .*minProperties/);
});
