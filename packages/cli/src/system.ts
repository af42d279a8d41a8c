import { homedir } from "node:os";

/**
 * The process and the machine, as commands see them. Only this file reads `process`: everything that a command reads,
 * writes or waits for is passed to it, so that a test can replace it.
 */
export interface System {
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly pid: number;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** The file of the command, to start it again in another process. */
  readonly self: string;
  /** The file of Node.js. */
  readonly execPath: string;
  /** True if Node.js runs TypeScript files itself. */
  readonly runsTypeScript: boolean;
  /** Ends the process at once. */
  exit(code: number): never;
  /** Calls `work` when the process ends, in whichever way. Returns a function that cancels this. */
  onExit(work: () => void): () => void;
  /** Calls `work` when nothing is left to do, before the process ends by itself. */
  onIdle(work: () => void): void;
  /** Calls `handle` at each of these signals, with the number of the signal. Returns a function that cancels this. */
  onSignal(signals: readonly NodeJS.Signals[], handle: (signal: number) => void): () => void;
  /** Sets variables of this process, for a module in it. */
  setVariables(variables: { readonly [name: string]: string }): void;
  /** Changes the working folder of this process, for a module in it. `cwd` stays the folder of the shell. */
  changeFolder(path: string): void;
  /** Replaces the arguments that a module in this process sees, from the file of the program on. */
  replaceArguments(args: readonly string[]): void;
}

/** Returns the system of this process. `self` is the file of the command. */
export function createSystem(self: string): System {
  const { argv, env, platform, pid, stdin, stdout, stderr, execPath } = process;
  return {
    argv: argv.slice(2),
    env,
    platform,
    pid,
    stdin,
    stdout,
    stderr,
    execPath,
    cwd: process.cwd(),
    home: env["HOME"] || homedir(),
    self,
    runsTypeScript: "typescript" in process.features,
    exit: (code) => process.exit(code),
    onExit(work) {
      process.once("exit", work);
      return () => process.off("exit", work);
    },
    onIdle: (work) => void process.once("beforeExit", work),
    onSignal(signals, handle) {
      const received = (_: string, signal: number) => handle(signal);
      for (const signal of signals) process.on(signal, received);
      return () => {
        for (const signal of signals) process.off(signal, received);
      };
    },
    setVariables: (variables) => void Object.assign(process.env, variables),
    changeFolder: (path) => process.chdir(path),
    replaceArguments: (args) => void process.argv.splice(1, process.argv.length, ...args),
  };
}
