import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { makeFolder, pathTo, type Run, run } from "./example.ts";

let tour: Run;

beforeAll(async () => {
  tour = await run(pathTo("scripts/tour.mjs"));
});

/** The tour with another server in the place of the travel example. */
async function tourOf(server: string): Promise<string> {
  const folder = await makeFolder();
  await cp(pathTo("scripts/tour.mjs"), join(folder, "scripts/tour.mjs"));
  await cp(pathTo("scripts/tour"), join(folder, "scripts/tour"), { recursive: true });
  await mkdir(join(folder, "examples/travel"), { recursive: true });
  await writeFile(join(folder, "examples/travel/server.mjs"), server);
  return join(folder, "scripts/tour.mjs");
}

test("the tour speaks all revisions with the travel server and says what to read next", async () => {
  const { code, stdout, stderr } = tour;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const blocks = revisions.map((revision) => stdout.split(`\n  ${revision}\n`)[1]?.split("\n\n")[0] ?? "");
  for (const [index, block] of blocks.entries()) {
    expect(block).toMatch(new RegExp(`negotiated .* ${revisions[index]} with .*tools`));
    expect(block).toMatch(/called +forecast\(Oslo\)\n +answered +\{"sky":"snow","celsius":-3\}/);
    expect(block).toMatch(/asked +the model .*→ {2}PT-101\n +answered +\{"id":"PT-101"/);
  }
  const [first, second, ...asking] = blocks;
  for (const block of [first, second]) expect(block).toMatch(/called +book_flight\(PT-101\)\n +refused/);
  for (const block of asking) expect(block).toMatch(/asked +the user .*→ {2}Ada, window\n.*\n +answered +\{"booking"/);
  const files = [...(stdout.split("Next")[1] ?? "").matchAll(/examples\/[\w./]*\w/g)].map(([file]) => file);
  expect(files).toContain("examples/travel/server.mjs");
  for (const file of files) expect(await readdir(pathTo(file)).catch(() => readFile(pathTo(file)))).toBeDefined();
});

test("what the tour prints to a pipe fits 100 columns and has no colours", () => {
  const { stdout } = tour;
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(stdout).not.toContain("\u001b");
});

test.each([
  ["leaves at once", 'console.error("no luck"); process.exit(3);', "tour: the server left with code 3: no luck\n"],
  ["says what is no JSON", 'console.log("hello"); process.stdin.resume();', "tour: the server said what is no JSON"],
])("a server that %s fails the tour with one clear line", async (_, server, expected) => {
  const { code, stderr } = await run(await tourOf(server));
  expect(code).toBe(1);
  expect(stderr).toContain(expected);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});
