import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { ByteBudget, type Post, type Sink, type Wire } from "./wire.ts";

/** A server that is started by a command. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Passes the environment of this process to the server, too. Default: true. */
  readonly inherits?: boolean;
  readonly cwd?: string;
}

const graceMs = 500;

/** Server processes to kill when this process exits. */
const living = new Set<ChildProcess>();

function killLiving(): void {
  for (const child of living) child.kill("SIGKILL");
}

/** A client over the standard streams of a server process. */
export class StdioWire implements Wire {
  /** Resolves when the process has ended, to a description of how. */
  readonly gone: Promise<string>;
  readonly #child: ChildProcess;
  readonly #sink: Sink;
  readonly #allowance = new ByteBudget();
  readonly #lines = new LineSplitter();
  readonly #sentLines = new LineSplitter();
  #lastWords = "";
  #isGone = false;

  constructor({ command, args = [], env, inherits = true, cwd }: CommandTarget, sink: Sink) {
    this.#sink = sink;
    this.#child = spawn(command, [...args], {
      stdio: "pipe",
      env: inherits ? { ...process.env, ...env } : { ...env },
      ...(cwd !== undefined && { cwd }),
    });
    if (living.size === 0) process.on("exit", killLiving);
    living.add(this.#child);
    const { stdin, stdout, stderr } = this.#child;
    // Writing to an ended process fails; its end is reported anyway.
    stdin?.on("error", () => {});
    stderr?.on("data", (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk).slice(-200);
    });
    stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    this.gone = new Promise((resolve) => {
      const end = (how: string) => {
        this.#isGone = true;
        living.delete(this.#child);
        if (living.size === 0) process.off("exit", killLiving);
        sink.closed(`the server ${how}${this.#lastWords && `, last on stderr: ${this.#lastWords.trim()}`}`);
        resolve(how);
      };
      this.#child.once("error", (error) => end(`could not be started: ${error.message}`));
      this.#child.once("close", (code, signal) => end(`exited with ${signal ?? `code ${code}`}`));
    });
  }

  post(body: string | Uint8Array): Post {
    return this.write(body, "\n");
  }

  /** Writes the parts one by one, so that they may arrive separately. */
  write(...parts: readonly (string | Uint8Array)[]): Post {
    for (const part of parts) {
      if (this.#sink.sent) for (const line of this.#sentLines.read(part)) this.#sink.sent(line);
      this.#child.stdin?.write(part);
    }
    const posted = Promise.resolve({ status: undefined, headers: {}, body: "" });
    return { begun: posted, finished: posted, drop: () => {} };
  }

  /** Closes the input of the server. */
  end(): void {
    this.#child.stdin?.end();
  }

  async close(): Promise<void> {
    this.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#isOver(graceMs)) return;
      this.#child.kill(signal);
    }
    await this.#isOver(graceMs);
    // A grandchild may keep the streams open.
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    this.#child.unref();
  }

  #isOver(withinMs: number): Promise<boolean> {
    if (this.#isGone) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), withinMs);
      this.gone.then(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  #read(chunk: Buffer): void {
    if (!this.#allowance.take(chunk.length)) {
      this.#child.stdout?.destroy();
      this.#child.kill("SIGKILL");
      this.#sink.closed("the server flooded its output");
      return;
    }
    for (const line of this.#lines.read(chunk)) this.#line(line);
  }

  #line(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      this.#sink.noise(line);
      return;
    }
    this.#sink.received(value);
  }
}

/** Splits chunks of any size into lines. */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  #partial: string[] = [];

  /** Returns the completed lines. */
  read(chunk: string | Uint8Array): string[] {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    const [first = "", ...rest] = text.split("\n");
    this.#partial.push(first);
    return rest.map((next) => {
      const line = this.#partial.join("");
      this.#partial = [next];
      return line;
    });
  }
}
