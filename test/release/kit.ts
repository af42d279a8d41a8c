import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, onTestFinished } from "vitest";
import type { TestRegistry } from "./registry.ts";

export const root: string = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** Values of release.json with which nothing stops a release. */
export const decided = {
  repository: "https://github.com/ada/portolan",
  homepage: "https://example.com/portolan",
  bugs: "https://github.com/ada/portolan/issues",
  author: "Ada Lovelace",
  mcpNamespace: "io.github.ada",
};

const folders = new Set<string>();
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}, 60_000);

/** Creates an empty folder, which is removed after the file. */
export function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-release-")));
  folders.add(folder);
  return folder;
}

/** Writes files by path; values that are no texts become JSON. */
export function writeFiles(folder: string, files: { readonly [path: string]: unknown }): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
}

/**
 * Returns an environment that has nothing of this machine but its programs: an empty home, an empty cache, and the
 * registry. `npm test` sets dozens of variables that would otherwise reach the inner npm.
 */
export function emptyMachine(registry: TestRegistry): { [name: string]: string } {
  const home = makeFolder();
  const config = join(home, "npmrc");
  writeFileSync(config, `//${new URL(registry.url).host}/:_authToken=test\n`);
  return {
    PATH: process.env["PATH"] ?? "",
    LANG: "C.UTF-8",
    HOME: home,
    npm_config_registry: registry.url,
    npm_config_cache: join(home, "cache"),
    npm_config_userconfig: config,
    npm_config_globalconfig: join(home, "global-npmrc"),
    npm_config_update_notifier: "false",
  };
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export function run(command: readonly string[], cwd: string, env: { [name: string]: string }): Promise<Ran> {
  const [program = "", ...args] = command;
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, env, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
      resolve({ code, stdout, stderr: stderr || (error?.message ?? "") });
    });
    child.stdin?.end();
  });
}

/** Starts a program in a process group of its own, and waits for a line of its output that matches. */
export async function startUntil(
  command: readonly string[],
  cwd: string,
  env: { [name: string]: string },
  line: RegExp,
): Promise<{ readonly match: RegExpExecArray; stop(): Promise<number | null> }> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const signal = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // All processes of the group have ended.
    }
  };
  onTestFinished(() => signal("SIGKILL"));
  let output = "";
  const found = new Promise<RegExpExecArray>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const match = line.exec(output);
        if (match !== null) resolve(match);
      });
    }
    exited.then((code) => reject(new Error(`${command.join(" ")} ended with ${code}:\n${output}`)));
  });
  return {
    match: await found,
    stop: () => {
      // As Ctrl-C does: to all processes of the group.
      signal("SIGINT");
      return exited;
    },
  };
}
