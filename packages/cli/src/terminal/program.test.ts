import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { programWords } from "./program.ts";

/** Makes a folder with a `portolan` in it, below a new one. */
function folderWithCommand(path: string): string {
  const root = mkdtempSync(join(tmpdir(), "portolan-program-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, path, "portolan"), "");
  return join(root, path);
}

const platform = "linux";

test("a command that was started without npm is portolan", () => {
  expect(programWords({ env: { PATH: "/nowhere" }, platform })).toBe("portolan");
});

test("a command that npm started, and only npm finds, is npx portolan", () => {
  const PATH = folderWithCommand("node_modules/.bin");
  for (const npm_command of ["exec", "run-script", "start"]) {
    expect(programWords({ env: { PATH, npm_command }, platform })).toBe("npx portolan");
  }
});

test("a command that npm started, and the shell finds too, is portolan", () => {
  const PATH = `${folderWithCommand("node_modules/.bin")}:${folderWithCommand("bin")}`;
  expect(programWords({ env: { PATH, npm_command: "exec" }, platform })).toBe("portolan");
});
