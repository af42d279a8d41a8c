import { expect, test } from "vitest";
import type { Tool } from "../protocol/types/index.ts";
import { maxOutputSchemaBytes } from "./limits.ts";
import { OutputChecks } from "./output-check.ts";

function toolNamed(name: string, description: string): Tool {
  return { name, inputSchema: { type: "object" }, outputSchema: { type: "object", description } };
}

test("output schemas are kept up to a number of bytes, and a replaced one no longer counts", () => {
  const checks = new OutputChecks(() => {});
  const half = "x".repeat(maxOutputSchemaBytes / 2);
  checks.learn([toolNamed("a", half), toolNamed("b", half)]);
  expect([checks.find("a"), checks.find("b")]).toEqual([expect.anything(), undefined]);
  checks.learn([toolNamed("a", "short"), toolNamed("b", half)]);
  expect([checks.find("a"), checks.find("b")]).toEqual([expect.anything(), expect.anything()]);
  checks.learn([{ name: "b", inputSchema: { type: "object" } }, toolNamed("c", half)]);
  expect([checks.find("b"), checks.find("c")]).toEqual([undefined, expect.anything()]);
});

test("an output schema that is nested deeper than the stack fails the calls of its own tool only", () => {
  const checks = new OutputChecks(() => {});
  const nested = JSON.parse(`${'{"not":'.repeat(100_000)}{}${"}".repeat(100_000)}`);
  checks.learn([{ ...toolNamed("deep", ""), outputSchema: nested }, toolNamed("good", "")]);
  expect(checks.find("good")?.invalid).toBeUndefined();
  expect(checks.find("good")).toBeDefined();
  expect(checks.find("deep")?.invalid).toBeDefined();
});
