import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleConsole } from "../../scripts/bundle-console.mjs";
import { makeFolder } from "./kit.ts";

/** The most that the page loads before a person sees something, compressed. */
const maxFirstBytes = 120_000;
const maxStyleBytes = 20_000;

const sizeOf = (file: string) => gzipSync(readFileSync(file), { level: 9 }).length;

/** Returns a script and everything that it imports at once. */
function withImports(folder: string, name: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  const code = readFileSync(join(folder, name), "utf8");
  for (const [, part = ""] of code.matchAll(/\b(?:import|export)\b[^"'`;()]*?["']\.\/([\w.-]+\.js)["']/g)) {
    withImports(folder, part, found);
  }
  return found;
}

test("the first load of the page is at most 120 KB of compressed script, and the sides for developers come later", async () => {
  const folder = await makeFolder();
  await bundleConsole(join(import.meta.dirname, "../.."), folder);
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const first = withImports(folder, "app.js");
  const bytes = [...first].reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(maxFirstBytes);
  expect(sizeOf(join(folder, "app.css"))).toBeLessThanOrEqual(maxStyleBytes);
  const late = scripts.filter((name) => !first.has(name)).map((name) => name.replace(/-[\w-]{8}\.js$/, ""));
  expect(late).toEqual(expect.arrayContaining(["inspect", "timeline"]));
  const page = readFileSync(join(folder, "index.html"), "utf8");
  expect([...page.matchAll(/<script[^>]*src="\/([^"]+)"/g)].map(([, name]) => name)).toEqual(["app.js"]);
  for (const name of scripts) expect(readFileSync(join(folder, name), "utf8"), name).not.toMatch(/["']node:/);
});
