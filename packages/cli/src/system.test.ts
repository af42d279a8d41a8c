import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = import.meta.dirname;
const mayReadProcess = new Set(["main.ts", "system.ts"]);

test("only main.ts and system.ts read process", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !mayReadProcess.has(file),
  );
  expect(files.length).toBeGreaterThan(50);
  const readers = files.filter((file) => {
    const code = readFileSync(join(folder, file), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    return /\bprocess\s*[.[;,)]|\bprocess\.|from "node:process"/.test(code);
  });
  expect(readers).toEqual([]);
});
