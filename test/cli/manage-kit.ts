import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { environment, portolan, type Ran, runPortolan as runCommand } from "./kit.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A file of this repository. */
export const fileOf = (path: string): string => join(root, path);
/** A server that works. */
export const notes: string = fileOf("examples/notes/server.mjs");
/** A server with a fault, which its argument names. */
export const broken: string = fileOf("test/cli/fixtures/broken.mjs");

export interface RunOptions {
  readonly cwd: string;
  readonly env?: { [name: string]: string };
  /** The input of the command. */
  readonly input?: string;
}

/** Returns the state folder of a command that runs in a folder. */
export const stateOf = (cwd: string): string => join(cwd, "state");

/** Runs the real command in a folder that is also its home. */
export function runPortolan(args: readonly string[], options: RunOptions): Promise<Ran> {
  return runCommand(args, { ...options, env: own(options) });
}

function own({ cwd, env }: RunOptions): { [name: string]: string } {
  return { PORTOLAN_HOME: stateOf(cwd), ...env };
}

/** Runs a command that must succeed. Returns its JSON. */
export async function showOf<T = { [member: string]: unknown }>(
  args: readonly string[],
  options: RunOptions,
): Promise<T> {
  const { code, stdout, stderr } = await runPortolan(args, options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as T;
}

/** Returns the error of a failed command. */
export function errorOf({ stderr }: Ran): { kind: string; message: string; next?: string } {
  return JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error;
}

/** Writes a file below a folder; an object becomes JSON. */
export function put(home: string, path: string, content: unknown): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** A running command. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  /** Lines of its standard output so far. */
  readonly lines: string[];
  /** Lines of its standard error so far. */
  readonly said: string[];
  readonly ended: Promise<number | null>;
  /** Resolves to the first matching line of either stream. */
  until(fits: RegExp): Promise<string>;
}

/** Starts the command. It ends with the test. */
export function startPortolan(args: readonly string[], options: RunOptions): Running {
  const { cwd } = options;
  const child = spawn(process.execPath, [portolan, ...args], { cwd, env: environment(cwd, own(options)) });
  const lines: string[] = [];
  const said: string[] = [];
  let wake = () => {};
  let isOver = false;
  const hear = (stream: NodeJS.ReadableStream, into: string[]) =>
    createInterface({ input: stream }).on("line", (line) => {
      into.push(line);
      wake();
    });
  hear(child.stdout, lines);
  hear(child.stderr, said);
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", (code) => {
      isOver = true;
      wake();
      resolve(code);
    });
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    child,
    lines,
    said,
    ended,
    async until(fits) {
      for (;;) {
        const found = [...lines, ...said].find((line) => fits.test(line));
        if (found !== undefined) return found;
        if (isOver) throw new Error(`ended without ${fits}: ${[...lines, ...said].join("\n")}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
