import { type MaybePromise, whenDone } from "../async.ts";
import { PortolanError } from "../errors.ts";
import type { Channel, ChannelEvents, Sendable } from "../jsonrpc/channel.ts";
import { LineReader } from "../jsonrpc/framing.ts";
import { serialize } from "../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { type ServedChannel, serveChannel } from "./channel/serve-channel.ts";
import { runtimeOf, type Servable } from "./define/server.ts";
import { defaultMaxMessageBytes, defaultStdioGraceMs, maxUnwrittenCharacters, stdioCleanupMs } from "./limits.ts";

/** Options of `serveStdio`. */
export interface ServeStdioOptions {
  /** Longest line that is read. A longer one is refused, and the connection stays open. Default: 16 MiB. */
  maxMessageBytes?: number;
  /** Exits the process when standard input ends or a signal arrives. Default: true. */
  exit?: boolean;
  /** Time that running calls have after standard input ended. Default: 1.5 s. */
  graceMs?: number;
}

const optionNames = { maxMessageBytes: 1, exit: 1, graceMs: 1 } satisfies OptionNames<ServeStdioOptions>;

/**
 * Serves standard input and output of the process. Standard output belongs to the protocol from then on: everything else
 * that is written there, `console.log` included, goes to standard error.
 */
export function serveStdio(server: Servable, options: ServeStdioOptions = {}): ServedChannel {
  checkOptions(options, optionNames, "serveStdio");
  const { exit = true, graceMs = defaultStdioGraceMs, maxMessageBytes = defaultMaxMessageBytes } = options;
  const channel = new StdioChannel(takeStdout(), maxMessageBytes);
  const serving = serveChannel(server, channel);
  runtimeOf(server).preload();
  const inputEnded = channel.inputEnded.then(() => windDown(serving, graceMs));
  if (exit) {
    inputEnded.then(() => process.exit(0));
    exitOnSignals(serving, graceMs);
  }
  serving.ready.catch(exit ? exitWithError : () => serving.close());
  return serving;
}

type Write = (text: string) => boolean;

/** Returns the write function of standard output, and redirects all other writers to standard error. */
function takeStdout(): Write {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout) as Write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  // A client that closes standard error is served all the same.
  stderr.on("error", () => {});
  return write;
}

class StdioChannel implements Channel {
  readonly writesText = true;
  readonly network = "pipe";
  readonly #write: Write;
  readonly #maxBytes: number;
  #incoming: ChannelEvents | undefined;
  readonly #flushLater = (): void => this.#flush();
  #pending = "";
  #isScheduled = false;
  #isClosed = false;
  #ended: (() => void)[] = [];
  /** Pending while the client does not read. */
  #drained: Promise<void> | undefined;
  #settleDrained: () => void = () => {};

  constructor(write: Write, maxBytes: number) {
    this.#write = write;
    this.#maxBytes = maxBytes;
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
    const { stdin } = process;
    const reader = new LineReader(incoming, { maxBytes: this.#maxBytes });
    stdin.on("data", (chunk: Buffer) => reader.push(chunk));
    // A line that cannot be parsed may still be looked at when the input ends.
    let last: MaybePromise<void> | undefined;
    const ended = () => whenDone(last, () => this.#inputEnded());
    stdin.on("end", () => {
      last = reader.end();
      ended();
    });
    stdin.on("close", ended);
    stdin.on("error", () => this.#inputEnded());
    process.stdout.on("drain", () => this.#settle());
    process.stdout.on("error", (error: Error) => this.#end(error));
  }

  /** Messages of one turn of the event loop are written together at its end. */
  send(message: Sendable): void | Promise<void> {
    if (this.#isClosed) return;
    this.#pending += `${serialize(message)}\n`;
    if (this.#pending.length > maxUnwrittenCharacters) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(this.#flushLater);
    }
    return this.#drained;
  }

  async close(): Promise<void> {
    this.#flush();
    await this.#drained;
    this.#end();
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

  #end(reason?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#settle();
    process.stdin.pause();
    this.#inputEnded();
    this.#incoming?.closed(
      reason && new PortolanError("connection-closed", "Standard output was closed", { cause: reason }),
    );
  }
}

/**
 * Waits for running calls at most `graceMs`, then cancels the others and gives them a moment to clean up. All of it takes
 * less than two seconds, after which clients kill the process.
 */
async function windDown(serving: ServedChannel, graceMs: number): Promise<void> {
  const deadline = after(graceMs);
  const isIdle = await Promise.race([serving.idle().then(() => true), deadline]);
  // Bounded, because closing waits for a client that does not read.
  await Promise.race([serving.close(), deadline]);
  if (!isIdle) await after(stdioCleanupMs);
}

/** Exits on signals: after winding down on the first one, at once on the second one. */
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

/** Exits with the reason if a schema or template turns out to be invalid. */
function exitWithError(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
