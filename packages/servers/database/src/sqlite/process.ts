import { type ChildProcess, fork } from "node:child_process";
import { ToolError } from "portolan/server";
import type { Change } from "../database.ts";
import type { Pooled } from "../pool.ts";
import type { ChildOptions, Said } from "./child.ts";
import type { Order } from "./engine.ts";

/** How long a process may take to open the file. */
const startMs = 30_000;

/** One process with SQLite in it, for one order after the other. */
export class EngineProcess implements Pooled {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #isUsable = true;
  #heard: (said: Said | undefined) => void = () => {};

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    child.on("message", (said: Said) => this.#heard(said));
    child.on("error", () => this.#gone());
    child.on("exit", () => this.#gone());
  }

  /** Starts a process, and waits until it has opened the file. */
  static async start(options: ChildOptions): Promise<EngineProcess> {
    const { file, marker } = await import("./child.ts");
    const child = fork(new URL(file), [marker, JSON.stringify(options)], {
      execArgv: ["--max-old-space-size=128", "--disable-warning=ExperimentalWarning"],
      // Nothing of what the server knows, and nothing onto its output.
      env: {},
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const started = new EngineProcess(child);
    const timer = setTimeout(() => started.#kill(), startMs);
    const said = await started.#next();
    clearTimeout(timer);
    if (said && "ready" in said) {
      started.#rest();
      return started;
    }
    await started.close();
    throw new ToolError(
      said && "refused" in said ? `The database cannot be opened: ${said.refused}` : "SQLite could not be started",
    );
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Has an order carried out; ends the process if that takes too long or is no longer wanted. */
  async run(order: Order, timeoutMs: number, signal: AbortSignal): Promise<Change> {
    let why: unknown;
    const end = (reason: unknown) => {
      why = reason;
      this.#kill();
    };
    const timer = setTimeout(() => end(tooLong(timeoutMs)), timeoutMs);
    const abort = () => end(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    this.#child.ref();
    this.#child.channel?.ref();
    try {
      const answered = this.#next();
      this.#child.send(order, () => {});
      const said = await answered;
      if (said && "done" in said) return said.done;
      if (said && "error" in said) throw explain(said.error);
      throw why ?? new ToolError("The statement needed too much memory and was ended; select less, or aggregate");
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#rest();
    }
  }

  /** Statements leave nothing behind: transactions, settings and temporary tables are refused. */
  async reset(): Promise<void> {}

  async close(): Promise<void> {
    this.#kill();
    await this.#exited;
  }

  /** What the process says next; undefined if it ends instead. */
  #next(): Promise<Said | undefined> {
    if (!this.#isUsable) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }

  /** A process without work keeps no other one from ending. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #kill(): void {
    this.#isUsable = false;
    this.#child.kill("SIGKILL");
  }

  #gone(): void {
    this.#isUsable = false;
    this.#heard(undefined);
  }
}

function tooLong(timeoutMs: number): ToolError {
  return new ToolError(
    `The statement took longer than ${timeoutMs / 1000} s and was ended; narrow it, or see with explain what it does`,
  );
}

/** What the model can do about what SQLite says; its words stay the same, and not every failure has a code. */
const advice: readonly (readonly [said: RegExp, advice: string])[] = [
  [/^no such table/, "the tool tables lists what there is"],
  [/^no such column|has no column named/, "the tool describe lists the columns of a table"],
  [
    /not authorized|authorization denied/,
    "this is not allowed here: query only reads, execute (with --write) only changes, and neither leaves the database",
  ],
  [/constraint failed/, "nothing was changed; correct the values"],
  [/is locked/, "another program holds the database; try again"],
  [/readonly database/, "the file may only be read: tell the user"],
  [/too big/, "a value would be too long; select less of it, with substr"],
  [/out of memory/, "it needed too much memory; select less"],
  [/malformed|not a database|disk image/, "the file is damaged, or no database: tell the user"],
  [/disk is full|disk I\/O|unable to open/, "tell the user"],
];

/** What the model is told of a failure. */
export function explain(message: string): ToolError {
  const more = advice.find(([said]) => said.test(message))?.[1];
  return new ToolError(more === undefined ? `SQLite: ${message}` : `SQLite: ${message}; ${more}`);
}
