import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** The published command. */
export const portolan: string = join(root, "packages/portolan/dist/cli/main.js");

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Removed after the file, not after a test: some tests share them. */
const homes = new Set<string>();
afterAll(() => {
  for (const folder of homes) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Creates a folder that is both home and working folder. It is removed afterwards. */
export function makeHome(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-cli-")));
  homes.add(folder);
  return folder;
}

/** An environment that isolates the command from this machine. */
export function environment(home: string, env: { [name: string]: string } = {}): { [name: string]: string } {
  const path = process.env["PATH"] ?? "";
  // What the command has compiled is no state of a test.
  const compiled = join(root, "node_modules/.cache/portolan-test-command");
  const own = { PATH: path, HOME: home, PORTOLAN_HOME: join(home, ".portolan"), LANG: "C.UTF-8" };
  return { ...own, XDG_CACHE_HOME: compiled, ...env };
}

/** Runs the command to its end. */
export function runPortolan(
  args: readonly string[],
  options: { cwd: string; env?: { [name: string]: string }; input?: string },
): Promise<Ran> {
  const { cwd, env, input = "" } = options;
  const child = spawn(process.execPath, [portolan, ...args], { cwd, env: environment(cwd, env) });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}).end(input);
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}
