import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bounded } from "./bounded.mjs";

/**
 * What each memory.mjs exports: serves the bench's tools in this process, calls `receive` with each message that comes
 * back, and returns the function that sends one.
 * @typedef {(options: { extraTools: number, era: "stateful" | "stateless", schemaOf?: <S>(schema: S) => S },
 *   receive: (message: object) => void) => ((message: object) => unknown) | Promise<(message: object) => unknown>} Connect
 */

const program = fileURLToPath(new URL("./memory-child.mjs", import.meta.url));

/** A child process in which one implementation is driven through its in-memory door. */
export class MemoryDriver {
  #child;
  #name;

  constructor(implementation, { era = "stateful", extraTools = 0 } = {}) {
    this.#name = implementation.name;
    const module = join(implementation.folder, "memory.mjs");
    const args = [JSON.stringify({ module, name: implementation.name, era, extraTools })];
    this.#child = fork(program, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  }

  /** Runs a task of the child; see memory-child.mjs. */
  async ask(task) {
    const answer = Promise.race([
      once(this.#child, "message"),
      once(this.#child, "exit").then(([code]) => {
        throw new Error(`${this.#name} exited with ${code}`);
      }),
    ]);
    this.#child.send(task);
    const [reply] = await bounded(answer, 60_000, `${this.#name}, ${task.run}`);
    if (reply.error) throw new Error(reply.error);
    return reply;
  }

  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}
