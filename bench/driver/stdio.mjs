import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { bounded } from "./bounded.mjs";
import { calls, check, initialize, initialized, paramsOf, request } from "./messages.mjs";

const reporter = new URL("./reporter.mjs", import.meta.url).href;
const IN_FLIGHT = 64;
const LIMIT_MS = 60_000;

/** A child server and the one hand-written driver that talks to it; its costs fall on this process, not the child. */
export class StdioDriver {
  #child;
  #name;
  #era;
  #stderr = "";
  #partial = [];
  #nextId = 1;
  /** @type {(chunk: Buffer) => void} */
  #sink = () => {};
  #failed;

  constructor(implementation, options = {}) {
    const { era = "stateful", program = "stdio", extraTools = 0, maxBytes = 0, measured = true } = options;
    this.#name = implementation.name;
    this.#era = era;
    const path = join(implementation.folder, `${program}.mjs`);
    const args = measured ? ["--import", reporter, path] : [path];
    this.#child = spawn(process.execPath, args, {
      stdio: measured ? ["pipe", "pipe", "pipe", "ipc"] : ["pipe", "pipe", "pipe"],
      env: {
        ...process.env,
        BENCH_EXTRA_TOOLS: String(extraTools),
        ...(maxBytes > 0 && { PORTOLAN_BENCH_MAX_BYTES: String(maxBytes) }),
      },
    });
    this.#child.stdout.on("data", (chunk) => this.#sink(chunk));
    this.#child.stderr.on("data", (chunk) => {
      this.#stderr = (this.#stderr + chunk).slice(-2000);
    });
    this.#child.stdin.on("error", () => {});
    this.#failed = new Promise((_, reject) => {
      this.#child.once("error", reject);
      this.#child.once("exit", (code) => reject(new Error(`${this.#name} exited with ${code}: ${this.#stderr}`)));
    });
    this.#failed.catch(() => {});
  }

  /** Says hello (in the stateful era) and proves that the tools answer rightly. */
  async open() {
    if (this.#era === "stateful") await this.hello();
    for (const call of ["echo", "add"]) {
      const { response } = await this.exchange("tools/call", calls[call].params);
      check(this.#name, call, response);
    }
  }

  async hello() {
    const { response } = await this.#send(initialize);
    if (!response.result) throw new Error(`${this.#name} refused initialize: ${JSON.stringify(response)}`);
    this.#child.stdin.write(`${JSON.stringify(initialized)}\n`);
  }

  /** CPU µs (user + system, all threads) the child has used so far, as told by itself. */
  async cpu() {
    const answer = once(this.#child, "message");
    this.#child.send("cpu");
    const [microseconds] = await this.#within(answer, "cpu");
    return microseconds;
  }

  /** One request; `notifications` counts the lines that came before its response. */
  exchange(method, params) {
    return this.#send(request(this.#era, this.#nextId++, method, params));
  }

  #send(message) {
    const answered = new Promise((resolve, reject) => {
      let notifications = 0;
      this.#sink = (chunk) =>
        this.#lines(chunk, (line) => {
          // Notifications are only counted: the driver must not be the slow part.
          if (line.length < 400 && line.includes('"notifications/')) {
            notifications++;
            return;
          }
          try {
            const response = JSON.parse(line.toString("utf8"));
            if (response.id === message.id) resolve({ response, notifications, bytes: line.length });
          } catch (cause) {
            reject(new Error(`${this.#name} wrote what is no JSON: ${line.subarray(0, 200)}`, { cause }));
          }
        });
    });
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    return this.#within(answered, message.method);
  }

  /** Writes one line as it is and counts the bytes of the one line that answers: for messages too big to parse here. */
  exchangeBytes(line) {
    const answered = new Promise((resolve) => {
      let bytes = 0;
      this.#sink = (chunk) => {
        bytes += chunk.length;
        if (chunk[chunk.length - 1] === 10) resolve(bytes);
      };
    });
    this.#child.stdin.write(line);
    return this.#within(answered, `${line.length} bytes`);
  }

  /** Makes `count` calls with 64 in flight; every thousandth answer is checked, all are counted. */
  pump(call, count) {
    const params = JSON.stringify(paramsOf(this.#era, calls[call].params));
    const lineOf = () => `{"jsonrpc":"2.0","id":${this.#nextId++},"method":"tools/call","params":${params}}\n`;
    const done = new Promise((resolve, reject) => {
      let sent = Math.min(IN_FLIGHT, count);
      let received = 0;
      this.#sink = (chunk) => {
        let arrived = 0;
        this.#lines(chunk, (line) => {
          arrived++;
          if ((received + arrived) % 1000 !== 0) return;
          try {
            check(this.#name, call, JSON.parse(line.toString("utf8")));
          } catch (error) {
            reject(error);
          }
        });
        received += arrived;
        const more = Math.min(arrived, count - sent);
        sent += more;
        let text = "";
        for (let i = 0; i < more; i++) text += lineOf();
        if (more > 0) this.#child.stdin.write(text);
        if (received === count) resolve(count);
      };
      let text = "";
      for (let i = 0; i < sent; i++) text += lineOf();
      this.#child.stdin.write(text);
    });
    return this.#within(done, `${count} × ${call}`);
  }

  #lines(chunk, onLine) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      let line = chunk.subarray(start, end);
      if (this.#partial.length > 0) {
        line = Buffer.concat([...this.#partial, line]);
        this.#partial = [];
      }
      start = end + 1;
      onLine(line);
    }
    if (start < chunk.length) this.#partial.push(chunk.subarray(start));
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
