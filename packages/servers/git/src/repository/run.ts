import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { isInsideAny } from "./jail.ts";

/** Options of a program run; `maxBytes` limits its output. */
export interface RunOptions {
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** Output and end of a program. */
export interface RunResult {
  /** Undefined for a program that was killed. */
  readonly code: number | undefined;
  readonly stdout: Buffer;
  readonly stderr: string;
  /** True if the program was killed because it printed more than `maxBytes`. */
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
}

const maxErrorBytes = 16 * 1024;
/** Time for git to remove its locks before it is killed. */
const graceMs = 2_000;

/** Runs a program without a shell, in its own process group, which is killed with it. */
export function run(file: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  const { cwd, env, maxBytes, timeoutMs, input, signal } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const child = spawn(file, args, { cwd, env, detached: hasGroups, stdio: ["pipe", "pipe", "pipe"] });
    const stopGroup = trackGroup(child);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let said = 0;
    let complained = 0;
    let isCut = false;
    let isTimedOut = false;
    let grace: NodeJS.Timeout | undefined;

    const end = () => {
      grace ??= setTimeout(() => stopGroup("SIGKILL"), graceMs);
      stopGroup("SIGTERM");
    };
    const timer = setTimeout(() => {
      isTimedOut = true;
      end();
    }, timeoutMs);
    signal?.addEventListener("abort", end, { once: true });
    const settle = () => {
      clearTimeout(timer);
      clearTimeout(grace);
      signal?.removeEventListener("abort", end);
    };

    child.stdout.on("data", (chunk: Buffer) => {
      const room = maxBytes - said;
      if (room > 0) stdout.push(chunk.subarray(0, room));
      said += chunk.length;
      if (said <= maxBytes || isCut) return;
      isCut = true;
      end();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (complained < maxErrorBytes) stderr.push(chunk);
      complained += chunk.length;
    });
    // A program that exits before it has read all input reports the reason by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.once("error", (reason) => {
      settle();
      stopGroup(undefined);
      reject(reason);
    });
    child.once("close", (code) => {
      settle();
      stopGroup(undefined);
      if (signal?.aborted) reject(signal.reason);
      else
        resolve({ code: code ?? undefined, stdout: Buffer.concat(stdout), stderr: textOf(stderr), isCut, isTimedOut });
    });
  });
}

const hasGroups = process.platform !== "win32";

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).subarray(0, maxErrorBytes).toString();
}

const running = new Set<ChildProcess>();

/** Tracks a running child, so that it does not outlive this process. */
function trackGroup(child: ChildProcess): (signal: NodeJS.Signals | undefined) => void {
  if (running.size === 0) process.on("exit", endAll);
  running.add(child);
  return (signal) => {
    if (signal !== undefined) {
      endGroup(child, signal);
      return;
    }
    running.delete(child);
    if (running.size === 0) process.off("exit", endAll);
  };
}

function endAll(): void {
  for (const child of running) endGroup(child, "SIGKILL");
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (hasGroups) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // The process has already exited.
  }
}

/** The git executable, and the PATH for it. */
export interface Program {
  readonly file: string;
  readonly path: string;
}

/**
 * Finds git on the PATH. Relative folders and folders inside a repository are skipped: nothing in a repository is run,
 * even if a package manager has put its bin folder on the PATH.
 */
export async function findProgram(path: string, roots: readonly string[]): Promise<Program | undefined> {
  const folders: string[] = [];
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const real = await realpath(folder).catch(() => undefined);
    if (real !== undefined && !isInsideAny(roots, real)) folders.push(real);
  }
  const name = process.platform === "win32" ? "git.exe" : "git";
  for (const folder of folders) {
    const file = await realpath(join(folder, name)).catch(() => undefined);
    if (file === undefined || isInsideAny(roots, file) || !(await isProgram(file))) continue;
    return { file: join(folder, name), path: folders.join(delimiter) };
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  const isAllowed = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isAllowed && (await stat(file)).isFile();
}
