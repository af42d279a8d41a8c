import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { pathTo } from "./example.ts";

test.each(["files", "travel", "notes"])("the %s server is one file of at most 100 lines", async (name) => {
  const source = await readFile(pathTo(`examples/${name}/server.mjs`), "utf8");
  const lines = source.trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(100);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(source).not.toMatch(/from "\.{1,2}\//);
});
