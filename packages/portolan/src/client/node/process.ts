import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, win32 } from "node:path";
import { PortolanError } from "../../errors.ts";
import type { CommandTarget } from "../options.ts";
import { childEnvironment, type Environment } from "./environment.ts";

/** Starts a command without a shell, in a process group of its own, with pipes to all three of its streams. */
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

/** What Windows is to be given: a program, and whether its arguments are quoted already. */
export interface WindowsProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly verbatim: boolean;
}

/**
 * Finds what a command means on Windows. A `.cmd` file, as npx is one, can only be run by cmd.exe, which reads more into
 * an argument than its characters: those that cannot be quoted are refused.
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
    const advice = 'start the program behind it instead, for example "node" with its script';
    throw new PortolanError(
      "invalid-argument",
      `the batch file ${win32.basename(command)} cannot be given " % ! or a line break safely; ${advice}`,
    );
  }
  // A backslash before the closing quote would take the quote with it.
  const line = words.map((word) => `"${word.replace(/\\+$/, "$&$&")}"`).join(" ");
  const shell = win32.join(variable(env, "SYSTEMROOT") ?? "C:\\Windows", "System32", "cmd.exe");
  return { command: shell, args: ["/d", "/s", "/v:off", "/c", `"${line}"`], verbatim: true };
}

/** The current directory is not searched: a program may have been put there for us to find. */
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

const isWindows = process.platform === "win32";
const pollMs = 10;

/** The groups that must not outlive this process. */
const living = new Set<ProcessGroup>();

function killLiving(): void {
  for (const group of living) group.kill();
}

/** A child that leads a process group of its own, and whatever it started there. */
export class ProcessGroup {
  readonly #pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.#pid = pid;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    if (living.size === 0) process.on("exit", killLiving);
    living.add(this);
  }

  /**
   * Waits for the child to leave by itself, then asks the whole group to, then makes it; each step takes at most
   * `graceMs`. False when even that did not end the child.
   */
  async end(graceMs: number): Promise<boolean> {
    await within(graceMs, this.#exited);
    if (!isWindows && this.#isAlive()) {
      this.#signal("SIGTERM");
      await this.#dies(graceMs);
    }
    if (this.#isAlive()) {
      if (isWindows) await endTree(this.#pid);
      else this.#signal("SIGKILL");
    }
    const isGone = await within(graceMs, this.#exited);
    // From here on the id may belong to somebody else: it is not signalled again.
    living.delete(this);
    if (living.size === 0) process.off("exit", killLiving);
    this.#child.unref();
    return isGone;
  }

  /** Kills all of it before this process is gone, so without waiting. */
  kill(): void {
    if (!isWindows) this.#signal("SIGKILL");
    else if (this.#isAlive()) spawnSync(...endTreeCommand(this.#pid));
  }

  /** Without a child there is no telling on Windows who belongs to it. */
  #isAlive(): boolean {
    return isWindows ? this.#child.exitCode === null && this.#child.signalCode === null : this.#signal(0);
  }

  /** False when nobody is left to hear the signal. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#pid, signal);
    } catch {
      return false;
    }
  }

  /** Grandchildren do not tell when they are gone, so they have to be asked. */
  #dies(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = performance.now() + graceMs;
      const timer = setInterval(() => {
        if (this.#isAlive() && performance.now() < deadline) return;
        clearInterval(timer);
        resolve();
      }, pollMs);
    });
  }
}

function within(ms: number, event: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    event.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function endTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const killer = spawn(...endTreeCommand(pid));
    killer.once("error", () => resolve());
    killer.once("exit", () => resolve());
  });
}

function endTreeCommand(pid: number): [string, string[], { stdio: "ignore"; windowsHide: true }] {
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  return [program, ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }];
}
