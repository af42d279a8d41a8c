import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { root } from "./kit.ts";

/** The system ends the program after so much time of a processor, which other programs on the machine do not change. */
const processorSeconds = 120;

/** Runs a program from its sources, and expects that it shows everything. */
function showAll(fixture: string): void {
  const program = `ulimit -t ${processorSeconds}; exec '${process.execPath}' --import tsx test/cli/fixtures/${fixture}`;
  const { stdout, stderr } = spawnSync("sh", ["-c", program], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, TSX_TSCONFIG_PATH: "tsconfig.sources.json" },
  });
  // The last line names the function, and the sign of the text that it did not finish.
  expect(stdout, stderr.trimEnd().split("\n").at(-1)).toBe("all shown\n");
}

test("shows long lines of blanks and markers without quadratic work", { timeout: 600_000 }, () => {
  showAll("render-lines.ts");
});

test("shows shorter lines of every three markers, sign by sign", { timeout: 600_000 }, () => {
  showAll("render-short-lines.ts");
});
