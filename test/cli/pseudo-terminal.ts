import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import xterm from "@xterm/headless";
import { onTestFailed, onTestFinished } from "vitest";
import { environment, portolan } from "./kit.ts";

export interface PseudoTerminal {
  /** Waits until the screen or its scrollback shows this since the last `mark`. */
  see(what: string | RegExp): Promise<string>;
  /** Returns the screen with its scrollback, one line per row, without trailing spaces. */
  screen(): string;
  /** Returns the lines that the terminal had to break. */
  broken(): string[];
  /** Makes `see` ignore everything before. */
  mark(): void;
  type(text: string): void;
  /** Waits for a text, then types. */
  answer(what: string | RegExp, text: string): Promise<void>;
  readonly exited: Promise<number | null>;
  readonly pid: number;
  /** Returns the raw output with its sequences. */
  written(): string;
  /** Resizes the terminal. */
  resize(columns: number, rows: number): void;
  /** Sends a signal to the program alone. */
  signal(name: NodeJS.Signals): void;
}

export interface PseudoTerminalOptions {
  readonly cwd: string;
  readonly env?: { [name: string]: string };
  readonly columns?: number;
  readonly rows?: number;
  /** A program to run instead of the command. */
  readonly program?: readonly string[];
}

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** Runs the command in a real pseudo-terminal. */
export function openTerminal(args: readonly string[], options: PseudoTerminalOptions): PseudoTerminal {
  const { cwd, env = {}, columns = 100, rows = 40, program = [process.execPath, portolan] } = options;
  const words = [...program, ...args].map(quote).join(" ");
  const command = `trap : INT; stty rows ${rows} cols ${columns}; ${words}; code=$?; stty -a | grep -q ' icanon' || echo RAW; exit $code`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd,
    env: { TERM: "xterm-256color", ...environment(cwd, env) },
  });
  const shown = new xterm.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true });
  let from = 0;
  const waiters = new Set<() => void>();
  const screen = () => {
    const { active } = shown.buffer;
    const lines: string[] = [];
    for (let at = 0; at < active.length; at += 1) lines.push(active.getLine(at)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  };
  const seen = () => screen().slice(from);
  const written: Buffer[] = [];
  child.stdout.on("data", (bytes: Buffer) => {
    written.push(bytes);
    shown.write(bytes, () => {
      for (const check of waiters) check();
    });
  });
  child.stdin.on("error", () => {});
  // Wait until all output is on the screen.
  const exited = new Promise<number | null>((resolve) =>
    child.on("close", (code) => shown.write("", () => resolve(code))),
  );
  onTestFinished(async () => {
    // Cancels an open question, so that the program ends by itself and writes nothing afterwards.
    child.stdin.write("\u0003");
    const force = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await exited;
    clearTimeout(force);
  });
  onTestFailed(() => console.log(screen()));
  const see = (what: string | RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const text = seen();
        if (typeof what === "string" ? !text.includes(what) : !what.test(text)) return;
        waiters.delete(check);
        resolve(text);
      };
      waiters.add(check);
      exited.then(() => {
        // The last output may not be drawn yet.
        shown.write("", () => {
          check();
          reject(new Error(`the program has ended without showing ${what}:\n${screen()}`));
        });
      });
      check();
    });
  const mark = () => {
    from = screen().length;
  };
  return {
    see,
    screen,
    broken() {
      const { active } = shown.buffer;
      return Array.from({ length: active.length }, (_, at) => active.getLine(at))
        .filter((line) => line?.isWrapped)
        .map((line) => line?.translateToString(true) ?? "");
    },
    mark,
    type: (text) => void child.stdin.write(text),
    async answer(what, text) {
      await see(what);
      mark();
      child.stdin.write(text);
    },
    exited,
    pid: child.pid ?? 0,
    written: () => Buffer.concat(written).toString(),
    resize(toColumns, toRows) {
      const tty = readlinkSync(`/proc/${childOf(child.pid)}/fd/0`);
      shown.resize(toColumns, toRows);
      spawnSync("stty", ["-F", tty, "cols", String(toColumns), "rows", String(toRows)]);
    },
    signal: (name) => void process.kill(childOf(childOf(child.pid)), name),
  };
}

/** Returns the newest child process of a process. */
function childOf(pid: number | undefined): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").at(-1));
}
