import { expect, test } from "vitest";
import type { Tool } from "../protocol/types/index.ts";
import { maxOutputSchemaChars } from "./limits.ts";
import { OutputChecks } from "./output-check.ts";

function toolNamed(name: string, description: string): Tool {
  return { name, inputSchema: { type: "object" }, outputSchema: { type: "object", description } };
}

test("output schemas are kept up to a number of characters, and a replaced one no longer counts", () => {
  const checks = new OutputChecks(() => {});
  const half = "x".repeat(maxOutputSchemaChars / 2);
  checks.learn([toolNamed("a", half), toolNamed("b", half)]);
  expect([checks.find("a"), checks.find("b")]).toEqual([expect.anything(), undefined]);
  checks.learn([toolNamed("a", "short"), toolNamed("b", half)]);
  expect([checks.find("a"), checks.find("b")]).toEqual([expect.anything(), expect.anything()]);
  checks.learn([{ name: "b", inputSchema: { type: "object" } }, toolNamed("c", half)]);
  expect([checks.find("b"), checks.find("c")]).toEqual([undefined, expect.anything()]);
});
