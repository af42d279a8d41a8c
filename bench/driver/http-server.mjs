import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ServerProcess } from "./server-process.mjs";

/** An HTTP server in a process of its own, which says where it listens and what it has used. */
export class HttpServer {
  #process;
  /** @type {Promise<string>} */
  #url;

  /**
   * @param {{ name: string, folder: string }} implementation
   * @param {{ era?: "stateful" | "stateless", reply?: "json" | "sse", extraTools?: number, flags?: string[] }} options
   *   `reply` is for those that must be told at their start what kind of answer to give, `flags` are for node
   */
  constructor({ name, folder }, { era = "stateful", reply = "json", extraTools = 0, flags = [] } = {}) {
    const env = { BENCH_ERA: era, BENCH_REPLY: reply, BENCH_EXTRA_TOOLS: String(extraTools) };
    this.#process = new ServerProcess(name, join(folder, "http.mjs"), { stdin: "ignore", env, flags });
    this.#url = new Promise((resolve) => {
      let text = "";
      this.#process.stdout.on("data", (chunk) => {
        text = (text + chunk).slice(-2000);
        const said = /^(http:\S+)\n/m.exec(text);
        if (said) resolve(said[1]);
      });
    });
  }

  url() {
    return this.#process.within(this.#url, "address");
  }

  cpu() {
    return this.#process.cpu();
  }

  memory() {
    return this.#process.memory();
  }

  /** The promise, unless the server ends before. */
  async during(promise, what) {
    try {
      return await this.#process.within(promise, what);
    } catch (error) {
      // Who talks to a server that ends hears of it first, and knows less.
      await Promise.race([this.#process.failed, pause(200)]);
      throw error;
    }
  }

  close() {
    return this.#process.close();
  }
}
