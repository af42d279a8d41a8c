import type { Tool } from "portolan";
import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "../terminal/screen.ts";
import { signatureOf } from "./signature.ts";

const system = { stdin: {}, stdout: {}, stderr: {}, env: { LANG: "C.UTF-8" }, platform: "linux" } as unknown as System;

test("formats alternatives, references and enumerations", () => {
  const inputSchema = {
    type: "object",
    properties: {
      path: { type: "string" },
      limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
      tags: { anyOf: [{ type: "array", items: { type: "string" } }, { type: "null" }] },
      size: { $ref: "#/$defs/Size" },
      id: { type: ["string", "number"] },
      any: {},
      edits: { type: "array", items: { type: "object" } },
      near: { $ref: "#/$defs/Place" },
      stops: { type: "array", items: { $ref: "#/$defs/Place" } },
      tree: { $ref: "#/$defs/Tree" },
    },
    required: ["path"],
    $defs: {
      Size: { type: "string", enum: ["s", "m"] },
      Tree: { type: "array", items: { $ref: "#/$defs/Tree" } },
      Place: { type: "object", properties: { lat: {}, lon: {}, label: {} }, required: ["lat", "lon"] },
    },
  };
  const tool = { name: "find", inputSchema } as unknown as Tool;
  expect(signatureOf(tool, new Screen(system))).toBe(
    'find(path: string, limit?: int, tags?: string[], size?: "s"|"m", id?: string|number, any?: any, edits?: object[], near?: { lat, lon, label? }, stops?: { lat, lon, label? }[], tree?: any[][][][])',
  );
});
