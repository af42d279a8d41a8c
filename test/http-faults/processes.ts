import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "portolan";
import type { ServeHttpOptions } from "portolan/server/http";
import { onTestFinished } from "vitest";

/** A fixture process and its messages. It is killed at the end of the test. */
export class Forked {
  readonly messages: JsonObject[] = [];
  /** Everything it wrote to standard output and standard error. */
  output = "";
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  #watchers: (() => void)[] = [];
  #questions = 0;

  constructor(file: string, args: readonly string[], execArgv: readonly string[] = []) {
    const path = fileURLToPath(new URL(`./fixtures/${file}`, import.meta.url));
    this.#child = fork(path, [...args], { execArgv: [...execArgv], silent: true });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk;
      });
    }
    this.#gone = once(this.#child, "exit").then(() => this.#wake());
    this.#child.on("message", (message: JsonObject) => {
      this.messages.push(message);
      this.#wake();
    });
    onTestFinished(() => this.kill());
  }

  /** Resolves to the first message that matches; throws when the process ends before. */
  async received(matches: (message: JsonObject) => boolean): Promise<JsonObject> {
    for (;;) {
      const found = this.messages.find(matches);
      if (found) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the process has ended: ${this.output}`);
      }
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Sends a command and resolves to the answer of the process. */
  async ask(command: string, details: JsonObject = {}): Promise<JsonObject> {
    this.#questions += 1;
    const id = this.#questions;
    this.#child.send({ ...details, do: command, id });
    const { value } = await this.received(({ reply }) => reply === id);
    return value as JsonObject;
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

export interface ProcessOptions {
  /** Takes the Authorization header as the principal. Default: all callers are anonymous. */
  readonly byToken?: boolean;
  /** Further flags of node. */
  readonly flags?: readonly string[];
}

/** A server in its own process. */
export class ServerProcess {
  readonly url: string;
  readonly #process: Forked;

  private constructor(url: string, process: Forked) {
    this.url = url;
    this.#process = process;
  }

  static async start(
    options: ServeHttpOptions = {},
    port = 0,
    { byToken = false, flags = [] }: ProcessOptions = {},
  ): Promise<ServerProcess> {
    const args = [JSON.stringify(options), String(port), ...(byToken ? ["by-token"] : [])];
    const process = new Forked("server.mjs", args, ["--expose-gc", ...flags]);
    const { url } = await process.received((message) => "url" in message);
    return new ServerProcess(String(url), process);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The actions of its handlers, in order. */
  get notes(): string[] {
    return this.#process.messages.flatMap(({ note }) => (note === undefined ? [] : [String(note)]));
  }

  get output(): string {
    return this.#process.output;
  }

  async noted(line: string): Promise<void> {
    await this.#process.received(({ note }) => note === line);
  }

  ask(command: string, details?: JsonObject): Promise<JsonObject> {
    return this.#process.ask(command, details);
  }

  /** The size of the heap after a garbage collection. */
  async heapUsed(): Promise<number> {
    return Number((await this.ask("memory"))["heapUsed"]);
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }
}
