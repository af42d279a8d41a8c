import type { ChildProcess } from "node:child_process";
import { whenDone } from "../async.ts";
import { nameOf, PortolanError } from "../errors.ts";
import { ByteBlock, largeFrom, release } from "../jsonrpc/byte-block.ts";
import type { Channel, ChannelEvents, Sendable } from "../jsonrpc/channel.ts";
import { type ByteCollection, ByteList, LineReader, type LineReceiver } from "../jsonrpc/framing.ts";
import { defaultMaxMessageBytes } from "../jsonrpc/limits.ts";
import type { RequestId, RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import { serialize } from "../jsonrpc/message.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../options.ts";
import type { Link, LinkEvents, ResponseSink } from "./channel-link.ts";
import { channelLink } from "./channel-link.ts";
import { defaultGraceMs, exitSettleMs, maxUnreadAnswerBytes } from "./limits.ts";
import { launch, ProcessGroup, pathExists } from "./node/process.ts";
import { StderrTail } from "./node/stderr.ts";
import type { CommandTarget } from "./options.ts";
import type * as ProcessErrors from "./process-errors.ts";
import type { KeptStderr } from "./process-errors.ts";

export { childEnvironment, type Environment } from "./node/environment.ts";
export type { CommandTarget } from "./options.ts";
export type { ProcessEnd, ProcessFailure } from "./process-errors.ts";

/** A link to a server in a child process. Opened again after a loss, it starts a new process. */
export interface StdioLink extends Link {
  /** The id of the newest process. */
  readonly pid: number | undefined;
  /** The last 256 KB of the newest process's standard error. */
  readonly stderr: string;
}

/** Creates a link to a server that is started when the link is opened. */
export function stdio(target: CommandTarget): StdioLink {
  checkOptions(target, targetOptions, "stdio");
  checkNumbers(target, "maxMessageBytes", "graceMs");
  const { command, args = [], env = {} } = target;
  if (typeof command !== "string" || command === "") throw unexpected("command", "a program", command);
  if (!Array.isArray(args) || !args.every(isText)) throw unexpected("args", "an array of strings", args);
  const values = Object.values(env).filter((value) => value !== undefined);
  if (typeof env !== "object" || !values.every(isText)) throw unexpected("env", "an object of strings", env);
  return new ProcessLink(target);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function unexpected(name: string, what: string, got: unknown): PortolanError {
  return new PortolanError("invalid-argument", `stdio: ${name}: expected ${what}, got ${nameOf(got)}`);
}

const targetOptions = {
  command: 1,
  args: 1,
  cwd: 1,
  env: 1,
  maxMessageBytes: 1,
  onStderr: 1,
  graceMs: 1,
} satisfies OptionNames<CommandTarget>;

class ProcessLink implements StdioLink {
  readonly #link: Link;
  readonly #target: CommandTarget;
  #newest: ProcessChannel | undefined;
  #closings = 0;

  constructor(target: CommandTarget) {
    this.#target = target;
    this.#link = channelLink(() => {
      this.#newest = new ProcessChannel(target);
      return this.#newest;
    });
  }

  get pid(): number | undefined {
    return this.#newest?.pid;
  }

  get stderr(): string {
    return this.#newest?.stderr ?? "";
  }

  async recentOutput(): Promise<string> {
    const kept = this.#newest?.kept;
    return kept ? (await import("./process-errors.ts")).causeIn(this.#target, kept) : "";
  }

  async open(events: LinkEvents): Promise<void> {
    const closings = this.#closings;
    // Two processes of one server may conflict over files or ports.
    if (this.#newest?.released) await this.#newest.released;
    if (closings !== this.#closings) {
      throw new PortolanError("connection-closed", "The link was closed before it was open");
    }
    await this.#link.open(events);
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    this.#link.exchange(request, sink);
  }

  exchangeText(id: RequestId, text: string, sink: ResponseSink): void {
    this.#link.exchangeText?.(id, text, sink);
  }

  cancel(id: RequestId, reason: string): void {
    this.#link.cancel(id, reason);
  }

  notify(notification: RpcNotification): void {
    this.#link.notify(notification);
  }

  async close(): Promise<void> {
    this.#closings += 1;
    await this.#link.close();
    await this.#newest?.released;
  }
}

/** A channel over the standard input and output of a child process. */
export class ProcessChannel implements Channel {
  readonly writesText = true;
  readonly #target: CommandTarget;
  readonly #stderrTail: StderrTail;
  #incoming: ChannelEvents | undefined;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  /** Resolves when the process has exited and its pipes are read to their ends or destroyed. */
  #finished: Promise<void> | undefined;
  #isClosed = false;
  #released: Promise<void> | undefined;
  /** How the process ended, in words; undefined while it runs. */
  #ending: string | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  readonly #flushLater = (): void => this.#flush();
  #pending = "";
  #isScheduled = false;
  /** Set while the server reads too slowly. */
  #drained: Promise<void> | undefined;
  #resolveDrained: () => void = () => {};

  constructor(target: CommandTarget) {
    this.#target = target;
    this.#stderrTail = new StderrTail(target.onStderr);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get stderr(): string {
    return this.#stderrTail.text;
  }

  get kept(): KeptStderr {
    return this.#stderrTail;
  }

  /** Resolves when the process is gone; undefined while the channel is open. */
  get released(): Promise<void> | undefined {
    return this.#released;
  }

  open(incoming: ChannelEvents): void {
    if (this.#incoming || this.#isClosed) {
      throw new PortolanError("invalid-argument", "open: a channel can be opened only once");
    }
    this.#incoming = incoming;
    const { tap } = incoming;
    if (tap) this.#stderrTail.listen((line) => tap.stderr(line));
    try {
      this.#child = launch(this.#target);
    } catch (error) {
      this.#fail(({ startError }) => startError(this.#target, error, pathExists));
      return;
    }
    this.#listen(this.#child, incoming);
    if (this.#child.pid !== undefined) this.#group = new ProcessGroup(this.#child, this.#child.pid);
  }

  /** Messages of one turn of the event loop are written together at its end. */
  send(message: Sendable): void | Promise<void> {
    if (this.#isClosed) return;
    // Our own requests are bounded by their callers, the answers to requests of the server by nothing else.
    const isAnswer = "result" in message || "error" in message;
    if (this.#drained && isAnswer && this.#unreadBytes > maxUnreadAnswerBytes) {
      this.#noteEnd("sends requests and does not read the answers");
      this.#endAsLost();
      return;
    }
    const text = serialize(message);
    this.#incoming?.tap?.sent(text);
    this.#pending += `${text}\n`;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(this.#flushLater);
    }
    return this.#drained;
  }

  async close(): Promise<void> {
    this.#flush();
    this.#end();
    await this.#released;
  }

  #listen(child: ChildProcess, incoming: ChannelEvents): void {
    const { maxMessageBytes = defaultMaxMessageBytes } = this.#target;
    const { stdin, stdout, stderr } = child;
    const reader = new LineReader(this.#whileOpen(incoming), { maxBytes: maxMessageBytes }, new LineBytes());
    stdout?.on("data", (chunk: Buffer) => reader.push(chunk));
    stdout?.on("end", () => {
      whenDone(reader.end(), () => this.#noteEnd("closed its standard output"));
    });
    stdout?.on("error", () => this.#noteEnd("closed its standard output"));
    stderr?.on("data", (chunk: Buffer) => this.#stderrTail.push(chunk));
    stderr?.on("end", () => this.#stderrTail.end());
    stderr?.on("error", () => {});
    stdin?.on("drain", () => this.#resumeSending());
    stdin?.on("error", () => this.#noteEnd("closed its standard input"));
    child.on("error", (error) => this.#fail(({ startError }) => startError(this.#target, error, pathExists)));
    child.on("exit", (code, signal) => {
      this.#ending = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
      this.#noteEnd(this.#ending);
    });
    this.#finished = new Promise((resolve) => {
      child.on("close", () => {
        this.#endAsLost();
        resolve();
      });
    });
  }

  /** Drops input after the end, also the rest of a chunk whose first message closed the channel. */
  #whileOpen(incoming: ChannelEvents): LineReceiver {
    return {
      tap: incoming.tap,
      message: (message) => {
        if (!this.#isClosed) incoming.message(message);
      },
      batch: (messages) => {
        if (!this.#isClosed) incoming.batch(messages);
      },
      unreadable: (problem) => {
        if (problem.isTooLarge) problem.why += "; raise maxMessageBytes if that is right";
        if (!this.#isClosed) incoming.unreadable(problem);
      },
    };
  }

  /**
   * Notes the first sign of an end. The rest of the output and the exit code may still come, but not for long: a
   * grandchild may hold the pipes open, or the child may keep running.
   */
  #noteEnd(ending: string): void {
    if (this.#isClosed) return;
    this.#ending ??= ending;
    // After a long turn of the event loop the timer fires before the pipes are read: read them once more.
    this.#endTimer ??= setTimeout(() => setImmediate(() => this.#endAsLost()), exitSettleMs);
  }

  #endAsLost(): void {
    this.#fail(({ exitError }) => exitError(this.#target, this.#ending ?? "is gone", this.kept));
  }

  /** Ends with an error whose text is composed by a part that is loaded first, so never inside `open`. */
  #fail(describe: (errors: typeof ProcessErrors) => Error): void {
    if (this.#isClosed) return;
    import("./process-errors.ts").then(describe).then(
      (reason) => this.#end(reason),
      // For example when the process has too many open files.
      (cause) => this.#end(new PortolanError("connection-closed", `The server ${this.#ending ?? "failed"}`, { cause })),
    );
  }

  #end(reason?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#endTimer);
    this.#resumeSending();
    this.#released = this.#release();
    this.#incoming?.closed(reason);
  }

  async #release(): Promise<void> {
    this.#child?.stdin?.end();
    const isGone = await this.#group?.end(this.#target.graceMs ?? defaultGraceMs);
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    // Do not wait for a process that cannot be killed.
    if (isGone !== false) await this.#finished;
  }

  #flush(): void {
    this.#isScheduled = false;
    const text = this.#pending;
    if (text === "" || this.#isClosed) return;
    this.#pending = "";
    if (this.#child?.stdin?.write(text) !== false || this.#drained) return;
    this.#drained = new Promise((resolve) => {
      this.#resolveDrained = resolve;
    });
  }

  get #unreadBytes(): number {
    return (this.#child?.stdin?.writableLength ?? 0) + this.#pending.length;
  }

  #resumeSending(): void {
    this.#drained = undefined;
    this.#resolveDrained();
  }
}

/** Collects the bytes of a line in pieces or, if there are many, in a block. */
class LineBytes implements ByteCollection {
  readonly #pieces = new ByteList();
  #block: ByteBlock | undefined;
  length = 0;

  push(piece: Uint8Array): void {
    this.length += piece.length;
    if (!this.#block && this.#pieces.length + piece.length < largeFrom) {
      this.#pieces.push(piece);
      return;
    }
    this.#block ??= new ByteBlock();
    for (const earlier of this.#pieces.takePieces()) this.#block.push(earlier);
    this.#block.push(piece);
  }

  take(): Uint8Array {
    const block = this.#block;
    this.#block = undefined;
    this.length = 0;
    return block ? block.take() : this.#pieces.take();
  }

  takePieces(): Uint8Array[] {
    if (this.#block) return [this.take()];
    this.length = 0;
    return this.#pieces.takePieces();
  }

  release(bytes: Uint8Array): void {
    release(bytes);
  }
}
