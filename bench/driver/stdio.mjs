import { join } from "node:path";
import { calls, check, initialize, initialized, paramsOf, request } from "./messages.mjs";
import { ServerProcess } from "./server-process.mjs";

const IN_FLIGHT = 64;

/** A child server and its hand-written driver, whose costs fall on this process, not on the child. */
export class StdioDriver {
  #process;
  #name;
  #era;
  #partial = [];
  #nextId = 1;
  /** @type {(chunk: Buffer) => void} */
  #sink = () => {};

  constructor({ name, folder }, options = {}) {
    const { era = "stateful", program = "stdio", extraTools = 0, maxBytes = 0, measured = true } = options;
    this.#name = name;
    this.#era = era;
    const env = {
      BENCH_EXTRA_TOOLS: String(extraTools),
      ...(maxBytes > 0 && { PORTOLAN_BENCH_MAX_BYTES: String(maxBytes) }),
    };
    this.#process = new ServerProcess(name, join(folder, `${program}.mjs`), { stdin: "pipe", env, measured });
    this.#process.stdout.on("data", (chunk) => this.#sink(chunk));
    this.#process.stdin.on("error", () => {});
  }

  /** Performs the handshake (in the stateful era) and checks the answers of the tools. */
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
    this.#process.stdin.write(`${JSON.stringify(initialized)}\n`);
  }

  cpu() {
    return this.#process.cpu();
  }

  /** Sends one request; `notifications` counts the lines before its response. */
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
            reject(new Error(`${this.#name} wrote a line that is not JSON: ${line.subarray(0, 200)}`, { cause }));
          }
        });
    });
    this.#process.stdin.write(`${JSON.stringify(message)}\n`);
    return this.#process.within(answered, message.method);
  }

  /** Writes one raw line and counts the bytes of the answering line, for messages too large to parse here. */
  exchangeBytes(line) {
    const answered = new Promise((resolve) => {
      let bytes = 0;
      this.#sink = (chunk) => {
        bytes += chunk.length;
        if (chunk[chunk.length - 1] === 10) resolve(bytes);
      };
    });
    this.#process.stdin.write(line);
    return this.#process.within(answered, `${line.length} bytes`);
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
        if (more > 0) this.#process.stdin.write(text);
        if (received === count) resolve(count);
      };
      let text = "";
      for (let i = 0; i < sent; i++) text += lineOf();
      this.#process.stdin.write(text);
    });
    return this.#process.within(done, `${count} × ${call}`);
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

  close() {
    return this.#process.close();
  }
}
