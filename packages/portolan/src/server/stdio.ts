import { PortolanError } from "../errors.ts";
import type { Channel, Incoming, Sendable } from "../jsonrpc/channel.ts";
import { LineReader } from "../jsonrpc/framing.ts";
import { serialize } from "../jsonrpc/message.ts";
import { type ServedChannel, serveChannel } from "./channel/serve-channel.ts";
import { runtimeOf, type Servable } from "./define/server.ts";

export interface ServeStdioOptions {
  /** The longest line that is read; 16 MiB unless said otherwise. Longer ones are refused, and the connection stays. */
  maxMessageBytes?: number;
  /** Whether the process ends with its standard input; true unless said otherwise. */
  exit?: boolean;
  /** How long running calls may go on after standard input has ended; 1.5 s unless said otherwise. */
  graceMs?: number;
}

const defaultGraceMs = 1_500;
const cleanupMs = 300;

/**
 * Serves the process's standard input and output. From here on standard output belongs to the protocol: what others
 * write there, `console.log` included, goes to standard error.
 */
export function serveStdio(server: Servable, options: ServeStdioOptions = {}): ServedChannel {
  const channel = new StdioChannel(takeStdout(), options.maxMessageBytes);
  const serving = serveChannel(server, channel);
  const { exit = true, graceMs = defaultGraceMs } = options;
  const inputEnded = channel.inputEnded.then(() => windDown(serving, graceMs));
  if (exit) {
    inputEnded.then(() => process.exit(0));
    exitOnSignals(serving, graceMs);
    runtimeOf(server).snapshot.loading?.catch(exitUnfit);
  }
  return serving;
}

type Write = (text: string) => boolean;

function takeStdout(): Write {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout) as Write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  // A client that does not want to read logs is served all the same.
  stderr.on("error", () => {});
  return write;
}

class StdioChannel implements Channel {
  readonly writesText = true;
  readonly #write: Write;
  readonly #maxBytes: number | undefined;
  #incoming: Incoming | undefined;
  readonly #flushLater = (): void => this.#flush();
  #pending = "";
  #isScheduled = false;
  #isClosed = false;
  #ended: (() => void)[] = [];
  /** Pending while the client reads too slowly. */
  #drained: Promise<void> | undefined;
  #settleDrained: () => void = () => {};

  constructor(write: Write, maxBytes: number | undefined) {
    this.#write = write;
    this.#maxBytes = maxBytes;
  }

  open(incoming: Incoming): void {
    this.#incoming = incoming;
    const { stdin } = process;
    const reader = new LineReader(incoming, this.#maxBytes === undefined ? {} : { maxBytes: this.#maxBytes });
    stdin.on("data", (chunk: Buffer) => reader.push(chunk));
    stdin.on("end", () => {
      reader.end();
      this.#inputEnded();
    });
    stdin.on("close", () => this.#inputEnded());
    stdin.on("error", () => this.#inputEnded());
    process.stdout.on("drain", () => this.#settle());
    process.stdout.on("error", (error: Error) => this.#fail(error));
  }

  /** What is sent in one turn of the event loop is written at once. */
  send(message: Sendable): void | Promise<void> {
    if (this.#isClosed) return;
    this.#pending += `${serialize(message)}\n`;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(this.#flushLater);
    }
    return this.#drained;
  }

  async close(): Promise<void> {
    this.#flush();
    await this.#drained;
    this.#fail();
  }

  /** Resolves when the client has closed its end. */
  get inputEnded(): Promise<void> {
    return new Promise((resolve) => this.#ended.push(resolve));
  }

  #inputEnded(): void {
    for (const resolve of this.#ended.splice(0)) resolve();
  }

  #flush(): void {
    this.#isScheduled = false;
    const text = this.#pending;
    if (text === "") return;
    this.#pending = "";
    if (this.#write(text) || this.#drained) return;
    this.#drained = new Promise((resolve) => {
      this.#settleDrained = resolve;
    });
  }

  #settle(): void {
    this.#drained = undefined;
    this.#settleDrained();
  }

  #fail(reason?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#settle();
    process.stdin.pause();
    this.#inputEnded();
    this.#incoming?.closed(
      reason && new PortolanError("connection-closed", "Standard output is gone", { cause: reason }),
    );
  }
}

/**
 * Lets running calls end within the grace; the rest is cancelled and gets a moment to clean up. Clients that lose
 * patience kill after two seconds, so all of it takes less.
 */
async function windDown(serving: ServedChannel, graceMs: number): Promise<void> {
  const deadline = after(graceMs);
  const isIdle = await Promise.race([serving.idle().then(() => true), deadline]);
  // Closing waits for a client that still reads, and not for ever for one that does not.
  await Promise.race([serving.close(), deadline]);
  if (!isIdle) await after(cleanupMs);
}

/** The second signal does not wait. */
function exitOnSignals(serving: ServedChannel, graceMs: number): void {
  let isLeaving = false;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (isLeaving) process.exit(0);
      isLeaving = true;
      windDown(serving, graceMs).then(() => process.exit(0));
    });
  }
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}

/** A definition that turns out to be wrong when all of it is loaded ends the process with its reason. */
function exitUnfit(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
