import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { bounded } from "./bounded.mjs";

const reporter = new URL("./reporter.mjs", import.meta.url).href;
const LIMIT_MS = 60_000;

/** An HTTP server in a process of its own, which says where it listens and what it has used. */
export class HttpServer {
  #child;
  #name;
  #stderr = "";
  #failed;
  /** @type {Promise<string>} */
  #url;

  /**
   * @param {{ name: string, folder: string }} implementation
   * @param {{ era?: "stateful" | "stateless", reply?: "json" | "sse", extraTools?: number, flags?: string[] }} options
   *   `reply` is for those that must be told at their start what kind of answer to give, `flags` are for node
   */
  constructor({ name, folder }, { era = "stateful", reply = "json", extraTools = 0, flags = [] } = {}) {
    this.#name = name;
    this.#child = spawn(process.execPath, [...flags, "--import", reporter, join(folder, "http.mjs")], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, BENCH_ERA: era, BENCH_REPLY: reply, BENCH_EXTRA_TOOLS: String(extraTools) },
    });
    this.#child.stderr.on("data", (chunk) => {
      this.#stderr = (this.#stderr + chunk).slice(-2000);
    });
    this.#failed = new Promise((_, reject) => {
      this.#child.once("error", reject);
      this.#child.once("exit", (code) => reject(new Error(`${name} exited with ${code}: ${this.#stderr}`)));
    });
    this.#failed.catch(() => {});
    this.#url = new Promise((resolve) => {
      let text = "";
      this.#child.stdout.on("data", (chunk) => {
        text = (text + chunk).slice(-2000);
        const said = /^(http:\S+)\n/m.exec(text);
        if (said) resolve(said[1]);
      });
    });
  }

  url() {
    return this.#within(this.#url, "address");
  }

  /** CPU µs (user + system, all threads) it has used so far, as told by itself. */
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
    const [told] = await this.#within(answer, question);
    return told;
  }

  /** The promise, unless the server ends before. */
  async during(promise, what) {
    try {
      return await this.#within(promise, what);
    } catch (error) {
      // Who talks to a server that ends hears of it first, and knows less.
      await Promise.race([this.#failed, pause(200)]);
      throw error;
    }
  }

  #within(promise, what) {
    return bounded(Promise.race([promise, this.#failed]), LIMIT_MS, `${this.#name}, ${what}`);
  }

  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}
