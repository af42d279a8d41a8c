import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { bounded } from "./bounded.mjs";

/** A child process that runs one implementation; `program` names a file in this folder that answers tasks. */
export class Child {
  #process;
  #name;
  #ended;

  constructor(name, program, settings) {
    this.#name = name;
    const file = fileURLToPath(new URL(program, import.meta.url));
    this.#process = fork(file, [JSON.stringify({ name, ...settings })], {
      // A peer that leaks listeners prints a warning at every call.
      execArgv: name === "portolan" ? [] : ["--disable-warning=MaxListenersExceededWarning"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ended = once(this.#process, "exit");
  }

  async ask(task) {
    const answered = new Promise((resolve, reject) => {
      this.#process.once("message", resolve);
      this.#ended.then(([code]) => reject(new Error(`${this.#name} exited with ${code}`)), reject);
    });
    this.#process.send(task);
    const reply = await bounded(answered, 60_000, `${this.#name}, ${task.run}`);
    if (reply.error) throw new Error(reply.error);
    return reply;
  }

  /** Lets the process exit by itself, so that it can end the server it started. */
  async close() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.disconnect();
    try {
      await bounded(this.#ended, 5_000, `${this.#name}, exit`);
    } catch {
      this.#process.kill("SIGKILL");
      await this.#ended;
    }
  }
}
