import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { win32 } from "node:path";
import { PortolanError } from "../../errors.ts";
import type { CommandTarget } from "../command.ts";
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
