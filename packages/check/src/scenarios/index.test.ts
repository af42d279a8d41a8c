import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scenarios } from "./index.ts";

const source = join(import.meta.dirname, "..");
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
  /(?<!\.test)\.ts$/.test(file),
);
const read = (file: string) => readFileSync(join(source, file), "utf8");

test("every scenario has an id of its own and names the rows it is for", () => {
  const ids = scenarios.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { id, title, requirements } of scenarios) {
    expect(id).toMatch(/^[a-z-]+\/[a-z0-9-]+$/);
    expect(title, id).not.toMatch(/\.$/);
    expect(requirements.length, id).toBeGreaterThan(0);
    for (const row of requirements) expect(row, id).toMatch(/^([A-Z]\d+|\d+(\.\d+)+)$/);
  }
});

test.each(files)("%s is neutral: it imports nothing but its own files and Node's", (file) => {
  const imports = [...read(file).matchAll(/from "([^"]+)"/g)].map(([, specifier]) => specifier);
  for (const specifier of imports) expect(specifier).toMatch(/^(\.{1,2}\/|node:)/);
});

test.each(files)("%s stays under 500 lines", (file) => {
  expect(read(file).split("\n").length).toBeLessThanOrEqual(501);
});
