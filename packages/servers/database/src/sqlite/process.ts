import { type ChildProcess, fork } from "node:child_process";
import { ToolError } from "portolan/server";
import type { Change } from "../database.ts";
import type { Pooled } from "../pool.ts";
import type { ChildMessage, ChildOptions } from "./child.ts";
import type { EngineRequest } from "./engine.ts";

/** Time for a process to open the file. */
const startMs = 30_000;

/** One process that runs SQLite; it handles one request at a time. */
export class EngineProcess implements Pooled {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #isUsable = true;
  #heard: (said: ChildMessage | undefined) => void = () => {};

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    child.on("message", (said: ChildMessage) => this.#heard(said));
    child.on("error", () => this.#gone());
    child.on("exit", () => this.#gone());
  }

  /** Starts a process; resolves when it has opened the file. */
  static async start(options: ChildOptions): Promise<EngineProcess> {
    const { file, marker } = await import("./child.ts");
    const child = fork(new URL(file), [marker, JSON.stringify(options)], {
      execArgv: ["--max-old-space-size=128", "--disable-warning=ExperimentalWarning"],
      // The process gets no environment and cannot write to the server's output.
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

  /** Runs a request; kills the process on timeout or abort. */
  async run(request: EngineRequest, timeoutMs: number, signal: AbortSignal): Promise<Change> {
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
      this.#child.send(request, () => {});
      const said = await answered;
      if (said && "done" in said) return said.done;
      if (said && "error" in said) throw explain(said.error);
      throw why ?? new ToolError("The statement needed too much memory and was stopped; select less, or aggregate");
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#rest();
    }
  }

  /** Nothing to clean up: the authorizer denies transactions, settings and temporary tables. */
  async reset(): Promise<void> {}

  async close(): Promise<void> {
    this.#kill();
    await this.#exited;
  }

  /** Returns the next message of the process; undefined if it exits instead. */
  #next(): Promise<ChildMessage | undefined> {
    if (!this.#isUsable) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }

  /** An idle process does not keep the server alive. */
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
    `The statement took longer than ${timeoutMs / 1000} s and was stopped; narrow it, or check its plan with explain`,
  );
}

/** Advice for the model by SQLite's message: messages are stable, and not every failure has a code. */
const advice: readonly (readonly [message: RegExp, advice: string])[] = [
  [/^no such table/, "the tool tables lists the tables"],
  [/^no such column|has no column named/, "the tool describe lists the columns of a table"],
  [
    /not authorized|authorization denied/,
    "not allowed: query only reads, execute (with --write) only changes data, and neither leaves the database",
  ],
  [/constraint failed/, "nothing was changed; correct the values"],
  [/is locked/, "another program has locked the database; try again"],
  [/readonly database/, "the file is read-only: tell the user"],
  [/too big/, "a value is too long; select a part of it with substr"],
  [/out of memory/, "the statement needed too much memory; select less"],
  [/malformed|not a database|disk image/, "the file is damaged or not a database: tell the user"],
  [/disk is full|disk I\/O|unable to open/, "tell the user"],
];

/** Returns the error for the model. */
function explain(message: string): ToolError {
  const more = advice.find(([pattern]) => pattern.test(message))?.[1];
  const text = more === undefined ? `SQLite: ${message}` : `SQLite: ${message}; ${more}`;
  const isFull = /disk is full|disk I\/O/.test(message);
  return new ToolError(text, isFull ? { cause: Object.assign(new Error(message), { code: "SQLITE_FULL" }) } : {});
}
