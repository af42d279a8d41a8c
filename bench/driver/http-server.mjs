import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { usualKind } from "../handlers.mjs";
import { ServerProcess } from "./server-process.mjs";

/** An HTTP server in its own process, which reports its URL and its CPU time. */
export class HttpServer {
  #process;
  /** @type {Promise<string>} */
  #url;

  /**
   * @param {{ name: string, folder: string }} implementation
   * @param {{ era?: "stateful" | "stateless", reply?: "json" | "sse", extraTools?: number, handlers?: string, flags?: string[] }} options
   *   `reply` is for servers whose kind of answer is set at start, `flags` are for node
   */
  constructor(
    { name, folder },
    { era = "stateful", reply = "json", extraTools = 0, handlers = usualKind, flags = [] } = {},
  ) {
    const env = { BENCH_ERA: era, BENCH_REPLY: reply, BENCH_EXTRA_TOOLS: String(extraTools), BENCH_HANDLERS: handlers };
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

  /** Resolves like the promise; rejects when the server ends before. */
  async during(promise, what) {
    try {
      return await this.#process.within(promise, what);
    } catch (error) {
      // A client notices the end of its server first but does not know the reason.
      await Promise.race([this.#process.failed, pause(200)]);
      throw error;
    }
  }

  close() {
    return this.#process.close();
  }
}
