import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { bounded } from "../driver/bounded.mjs";

const timeoutMs = 30_000;
/** Unit of CPU time in /proc. */
const ticksPerSecond = 100;

/** A server process over stdio, with its CPU time and memory as reported by the kernel. */
export class Program {
  #child;
  #exited;
  #waiting = new Map();
  #rest = "";
  #lastId = 0;

  constructor(args, options = {}) {
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], ...options });
    this.#exited = once(this.#child, "exit");
    this.#child.stdin.on("error", () => {});
    this.#child.stdout.setEncoding("utf8").on("data", (text) => this.#hear(text));
  }

  /** Performs the handshake that every server supports. */
  async hello() {
    const clientInfo = { name: "bench", version: "1.0.0" };
    await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }

  ask(method, params = {}) {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return bounded(answered, timeoutMs, method);
  }

  async call(name, args) {
    const result = await this.ask("tools/call", { name, arguments: args });
    if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
    return result;
  }

  /** Returns the CPU time so far in milliseconds, including threads. */
  cpuMs() {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond;
  }

  /** Returns the resident memory in megabytes. */
  memoryMb() {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }

  async close() {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await this.#exited;
    clearTimeout(timer);
  }

  #hear(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines.filter((one) => one.startsWith("{"))) {
      const { id, result, error, method } = JSON.parse(line);
      if (method !== undefined) continue;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(new Error(JSON.stringify(error)));
      else waiting?.resolve(result);
    }
  }
}
