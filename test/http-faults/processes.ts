import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "portolan";
import type { ServeHttpOptions } from "portolan/server/http";
import { onTestFinished } from "vitest";

/** A process of the fixtures, gone with the test, and all it said. */
export class Forked {
  readonly said: JsonObject[] = [];
  /** All that it wrote to its output. */
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
      this.said.push(message);
      this.#wake();
    });
    onTestFinished(() => this.kill());
  }

  /** The first message that is the one; fails when the process ends before. */
  async heard(isIt: (message: JsonObject) => boolean): Promise<JsonObject> {
    for (;;) {
      const found = this.said.find(isIt);
      if (found) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the process has ended: ${this.output}`);
      }
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** What the process answers to a command. */
  async ask(command: string, details: JsonObject = {}): Promise<JsonObject> {
    this.#questions += 1;
    const id = this.#questions;
    this.#child.send({ ...details, do: command, id });
    const { value } = await this.heard(({ reply }) => reply === id);
    return value as JsonObject;
  }

  /** Ends it without a chance to say goodbye. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake();
  }
}

/** A server in a process of its own. */
export class ServerProcess {
  readonly url: string;
  readonly #process: Forked;

  private constructor(url: string, process: Forked) {
    this.url = url;
    this.#process = process;
  }

  static async start(options: ServeHttpOptions = {}, port = 0): Promise<ServerProcess> {
    const process = new Forked("server.mjs", [JSON.stringify(options), String(port)], ["--expose-gc"]);
    const { url } = await process.heard((message) => "url" in message);
    return new ServerProcess(String(url), process);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** What its handlers did, in order. */
  get notes(): string[] {
    return this.#process.said.flatMap(({ note }) => (note === undefined ? [] : [String(note)]));
  }

  get output(): string {
    return this.#process.output;
  }

  async noted(line: string): Promise<void> {
    await this.#process.heard(({ note }) => note === line);
  }

  ask(command: string, details?: JsonObject): Promise<JsonObject> {
    return this.#process.ask(command, details);
  }

  /** What the heap holds after everything was collected that can be. */
  async heapUsed(): Promise<number> {
    return Number((await this.ask("memory"))["heapUsed"]);
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }
}
