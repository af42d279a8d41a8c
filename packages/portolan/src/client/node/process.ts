import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve, win32 } from "node:path";
import { PortolanError } from "../../errors.ts";
import { exitPollMs } from "../limits.ts";
import type { CommandTarget } from "../options.ts";
import { childEnvironment, type Environment } from "./environment.ts";

/** Starts a command without a shell, in its own process group, with pipes for its three standard streams. */
export function launch(target: CommandTarget): ChildProcess {
  const env = childEnvironment(process.env, target.env);
  const isWindows = process.platform === "win32";
  const { command, args, verbatim } = isWindows
    ? windowsProgram(target, env)
    : { command: target.command, args: target.args ?? [], verbatim: false };
  const options: SpawnOptions = {
    env,
    stdio: "pipe",
    shell: false,
    detached: !isWindows,
    windowsHide: true,
    windowsVerbatimArguments: verbatim,
    ...(target.cwd !== undefined && { cwd: target.cwd }),
  };
  return spawn(command, args, options);
}

/** A program to start on Windows. */
export interface WindowsProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** The arguments are quoted already. */
  readonly verbatim: boolean;
}

/**
 * Finds the program of a command on Windows. Only cmd.exe can run a `.cmd` file such as npx. It interprets some characters
 * of the arguments even inside quotes, so arguments with these characters are refused.
 */
export function windowsProgram(
  target: CommandTarget,
  env: Environment,
  isFile: (path: string) => boolean = existsSync,
): WindowsProgram {
  const args = target.args ?? [];
  const command = findProgram(target, env, isFile) ?? target.command;
  if (!/\.(cmd|bat)$/i.test(command)) return { command, args, verbatim: false };
  const words = [command, ...args];
  if (words.some((word) => /["%!\r\n\0]/.test(word))) {
    const advice = 'start its program directly, for example "node"';
    throw new PortolanError(
      "invalid-argument",
      `the arguments of the batch file ${win32.basename(command)} must not contain " % ! or a line break; ${advice}`,
    );
  }
  // A backslash before the closing quote would escape it.
  const line = words.map((word) => `"${word.replace(/\\+$/, "$&$&")}"`).join(" ");
  const shell = win32.join(variable(env, "SYSTEMROOT") ?? "C:\\Windows", "System32", "cmd.exe");
  return { command: shell, args: ["/d", "/s", "/v:off", "/c", `"${line}"`], verbatim: true };
}

/** Does not search the current directory: an attacker may have put a program there. */
function findProgram(
  { command, cwd }: CommandTarget,
  env: Environment,
  isFile: (path: string) => boolean,
): string | undefined {
  const endings = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((ending) => ending !== "");
  const hasEnding = endings.some((ending) => command.toLowerCase().endsWith(ending.toLowerCase()));
  const names = hasEnding ? [command] : endings.map((ending) => command + ending);
  const folders = /[\\/]/.test(command)
    ? [cwd ?? "."]
    : (variable(env, "PATH") ?? "").split(";").filter((folder) => folder !== "");
  for (const folder of folders) {
    const found = names.map((name) => win32.resolve(folder, name)).find(isFile);
    if (found !== undefined) return found;
  }
  return undefined;
}

function variable(env: Environment, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

/** Tells if there is a file or folder at a path, which may be relative to a folder before it. */
export function pathExists(...path: string[]): boolean {
  return existsSync(resolve(...path));
}

const isWindows = process.platform === "win32";

/** The process groups that must not outlive this process. */
const runningGroups = new Set<ProcessGroup>();

function killRunning(): void {
  for (const group of runningGroups) group.kill();
}

/** A child process and the processes that it started. */
export class ProcessGroup {
  readonly #pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.#pid = pid;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    if (runningGroups.size === 0) process.on("exit", killRunning);
    runningGroups.add(this);
  }

  /**
   * Waits for the child to exit, then sends SIGTERM to the group, then SIGKILL; each step takes at most `graceMs`.
   * Returns false if the child still runs.
   */
  async end(graceMs: number): Promise<boolean> {
    await settlesWithin(graceMs, this.#exited);
    if (!isWindows && this.#isAlive()) {
      this.#signal("SIGTERM");
      await this.#awaitExit(graceMs);
    }
    if (this.#isAlive()) {
      if (isWindows) await killTree(this.#pid);
      else this.#signal("SIGKILL");
    }
    const isGone = await settlesWithin(graceMs, this.#exited);
    // Do not signal this id again: the system may reuse it for another process.
    runningGroups.delete(this);
    if (runningGroups.size === 0) process.off("exit", killRunning);
    this.#child.unref();
    return isGone;
  }

  /** Kills the group without waiting, while this process exits. */
  kill(): void {
    if (!isWindows) this.#signal("SIGKILL");
    else if (this.#isAlive()) spawnSync(...killTreeCommand(this.#pid));
  }

  /** Windows has no process groups: without the child its descendants cannot be found. */
  #isAlive(): boolean {
    return isWindows ? this.#child.exitCode === null && this.#child.signalCode === null : this.#signal(0);
  }

  /** Returns false if no process of the group is left. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#pid, signal);
    } catch {
      return false;
    }
  }

  /** Polls, because grandchildren send no event when they exit. */
  #awaitExit(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = performance.now() + graceMs;
      const timer = setInterval(() => {
        if (this.#isAlive() && performance.now() < deadline) return;
        clearInterval(timer);
        resolve();
      }, exitPollMs);
    });
  }
}

function settlesWithin(ms: number, event: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    event.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function killTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const killer = spawn(...killTreeCommand(pid));
    killer.once("error", () => resolve());
    killer.once("exit", () => resolve());
  });
}

function killTreeCommand(pid: number): [string, string[], { stdio: "ignore"; windowsHide: true }] {
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  return [program, ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }];
}
