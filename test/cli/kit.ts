import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The program as it is published. */
export const program: string = fileURLToPath(new URL("../../packages/portolan/dist/cli/main.js", import.meta.url));

/** A home and a working folder in one, gone after the test. */
export async function makeHome(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-cli-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** How a run of the program ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program with nothing of this machine's configuration, and waits for its end. */
export async function runPortolan(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: { [name: string]: string }; readonly input?: string },
): Promise<Ran> {
  const { cwd, env = {}, input = "" } = options;
  const child = spawn(process.execPath, [program, ...args], { cwd, env: environment(cwd, env) });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code, stdout, stderr };
}

/** What the program sees of the environment. */
export function environment(home: string, env: { [name: string]: string } = {}): { [name: string]: string } {
  const { PATH = "" } = process.env;
  return { PATH, HOME: home, PORTOLAN_HOME: join(home, "state"), LANG: "C.UTF-8", ...env };
}
