import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { grade } from "../../packages/check/src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-grade-"));
const empty = join(folder, "empty.db");
writeFileSync(empty, "");
const main = (name: string) => join(import.meta.dirname, `../../packages/servers/${name}/dist/main.js`);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["calendar", ["--folder", join(folder, "calendar")]],
  ["database", [empty]],
  ["fetch", []],
  ["memory", ["--file", join(folder, "memory.log")]],
  ["time", []],
  ["weather", []],
])("the %s server conforms to the protocol on every revision", async (name, flags) => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [main(name), ...flags] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken).length).toBe(5);
  expect(isPassed).toBe(true);
});
