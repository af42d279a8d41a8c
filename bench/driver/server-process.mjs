import { spawn } from "node:child_process";
import { once } from "node:events";
import { bounded } from "./bounded.mjs";

const reporter = new URL("./reporter.mjs", import.meta.url).href;
const LIMIT_MS = 60_000;

/** A server in its own process, which reports its CPU time and memory, and the reason of its end. */
export class ServerProcess {
  #name;
  #child;
  #stderr = "";
  /** Rejects when the process ends. */
  failed;

  /**
   * @param {string} name of the implementation
   * @param {string} file the program
   * @param {{ stdin: "pipe" | "ignore", env: Record<string, string>, flags?: string[], measured?: boolean }} options
   *   `flags` are for node; without `measured` it starts as a user would start it, and reports nothing
   */
  constructor(name, file, { stdin, env, flags = [], measured = true }) {
    this.#name = name;
    this.#child = spawn(process.execPath, [...flags, ...(measured ? ["--import", reporter] : []), file], {
      stdio: [stdin, "pipe", "pipe", ...(measured ? ["ipc"] : [])],
      env: { ...process.env, ...env },
    });
    this.#child.stderr.on("data", (chunk) => {
      this.#stderr = (this.#stderr + chunk).slice(-2000);
    });
    this.failed = new Promise((_, reject) => {
      this.#child.once("error", reject);
      this.#child.once("exit", (code) => reject(new Error(`${name} exited with ${code}: ${this.#stderr}`)));
    });
    this.failed.catch(() => {});
  }

  get stdin() {
    return this.#child.stdin;
  }

  get stdout() {
    return this.#child.stdout;
  }

  /** CPU µs (user + system, all threads) so far, as the process reports it. */
  cpu() {
    return this.#ask("cpu");
  }

  /** Bytes in use, resident and by JavaScript, after garbage was collected; needs the flag --expose-gc. */
  memory() {
    return this.#ask("memory");
  }

  async #ask(question) {
    const answer = once(this.#child, "message");
    this.#child.send(question);
    const [told] = await this.within(answer, question);
    return told;
  }

  /** Resolves like the promise; rejects when the process ends before or it takes too long. */
  within(promise, what) {
    return bounded(Promise.race([promise, this.failed]), LIMIT_MS, `${this.#name}, ${what}`);
  }

  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}
