import type { ChildProcess } from "node:child_process";
import { PortolanError } from "../errors.ts";
import type { Channel, Incoming, Sendable } from "../jsonrpc/channel.ts";
import { LineReader, type LineReceiver } from "../jsonrpc/framing.ts";
import type { RequestId, RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import { serialize } from "../jsonrpc/message.ts";
import type { Link, LinkEvents, ResponseSink } from "./channel-link.ts";
import { channelLink } from "./channel-link.ts";
import { launch, ProcessGroup } from "./node/process.ts";
import { endOf, failedStart, StderrTail } from "./node/stderr.ts";
import type { CommandTarget } from "./options.ts";

export { childEnvironment, type Environment } from "./node/environment.ts";
export type { CommandTarget } from "./options.ts";

const defaultGraceMs = 2_000;
/** How long the other signs of a child's end may take after the first. */
const settleMs = 200;

/** A link to a server in a child process; opened again after it was lost, it starts the server anew. */
export interface StdioLink extends Link {
  /** The newest process. */
  readonly pid: number | undefined;
  /** The end of what the newest process wrote to its standard error, at most 256 KB. */
  readonly stderr: string;
}

/** A link to a server that is started when the link is opened. */
export function stdio(target: CommandTarget): StdioLink {
  return new ProcessLink(target);
}

/** A server in a child process, spoken to over its standard input and output. */
export class ProcessChannel implements Channel {
  readonly writesText = true;
  readonly #target: CommandTarget;
  readonly #tail: StderrTail;
  #incoming: Incoming | undefined;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  /** Resolves when the process is gone and its pipes are read to their ends, or were destroyed. */
  #finished: Promise<void> | undefined;
  #isClosed = false;
  #released: Promise<void> | undefined;
  /** What happened to the child, once something has. */
  #happened: string | undefined;
  #settling: NodeJS.Timeout | undefined;
  readonly #flushLater = (): void => this.#flush();
  #pending = "";
  #isScheduled = false;
  /** Pending while the server reads too slowly. */
  #drained: Promise<void> | undefined;
  #settleDrained: () => void = () => {};

  constructor(target: CommandTarget) {
    this.#target = target;
    this.#tail = new StderrTail(target.onStderr);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The end of what the process wrote to its standard error, at most 256 KB. */
  get stderr(): string {
    return this.#tail.text;
  }

  /** Resolves when the process is gone; absent while the channel is open. */
  get released(): Promise<void> | undefined {
    return this.#released;
  }

  open(incoming: Incoming): void {
    if (this.#incoming || this.#isClosed) {
      throw new PortolanError("invalid-argument", "open: a channel is opened once; make another");
    }
    this.#incoming = incoming;
    try {
      this.#child = launch(this.#target);
    } catch (error) {
      // The owner hears of the end after `open` has returned, as it does when the start fails later.
      queueMicrotask(() => this.#end(failedStart(this.#target, error)));
      return;
    }
    this.#listen(this.#child, incoming);
    if (this.#child.pid !== undefined) this.#group = new ProcessGroup(this.#child, this.#child.pid);
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
    this.#end();
    await this.#released;
  }

  #listen(child: ChildProcess, incoming: Incoming): void {
    const { maxMessageBytes } = this.#target;
    const { stdin, stdout, stderr } = child;
    const reader = new LineReader(
      this.#whileOpen(incoming),
      maxMessageBytes === undefined ? {} : { maxBytes: maxMessageBytes },
    );
    stdout?.on("data", (chunk: Buffer) => reader.push(chunk));
    stdout?.on("end", () => {
      reader.end();
      this.#fade("closed its standard output");
    });
    stdout?.on("error", () => this.#fade("closed its standard output"));
    stderr?.on("data", (chunk: Buffer) => this.#tail.push(chunk));
    stderr?.on("end", () => this.#tail.end());
    stderr?.on("error", () => {});
    stdin?.on("drain", () => this.#settle());
    stdin?.on("error", () => this.#fade("closed its standard input"));
    child.on("error", (error) => this.#end(failedStart(this.#target, error)));
    child.on("exit", (code, signal) => {
      this.#happened = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
      this.#fade(this.#happened);
    });
    this.#finished = new Promise((resolve) => {
      child.on("close", () => {
        this.#lose();
        resolve();
      });
    });
  }

  /** Drops what is read after the end, also the rest of a chunk whose first message led to it. */
  #whileOpen(incoming: Incoming): LineReceiver {
    return {
      message: (message) => {
        if (!this.#isClosed) incoming.message(message);
      },
      batch: (messages) => {
        if (!this.#isClosed) incoming.batch(messages);
      },
      unreadable: (problem) => {
        if (!this.#isClosed) incoming.unreadable(problem);
      },
    };
  }

  /**
   * The first sign of an end. What was written before is still read, and the exit code waited for, but not for long: a
   * grandchild may hold the pipes, or the child live on.
   */
  #fade(happened: string): void {
    if (this.#isClosed) return;
    this.#happened ??= happened;
    // After a turn that took long the timer comes before the pipes: they are read once more.
    this.#settling ??= setTimeout(() => setImmediate(() => this.#lose()), settleMs);
  }

  #lose(): void {
    this.#end(endOf(this.#target, this.#happened ?? "is gone", this.stderr));
  }

  #end(reason?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#settling);
    this.#settle();
    this.#released = this.#release();
    this.#incoming?.closed(reason);
  }

  async #release(): Promise<void> {
    this.#child?.stdin?.end();
    const isGone = await this.#group?.end(this.#target.graceMs ?? defaultGraceMs);
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    // A process that cannot be killed is not waited for.
    if (isGone !== false) await this.#finished;
  }

  #flush(): void {
    this.#isScheduled = false;
    const text = this.#pending;
    if (text === "" || this.#isClosed) return;
    this.#pending = "";
    if (this.#child?.stdin?.write(text) !== false || this.#drained) return;
    this.#drained = new Promise((resolve) => {
      this.#settleDrained = resolve;
    });
  }

  #settle(): void {
    this.#drained = undefined;
    this.#settleDrained();
  }
}

class ProcessLink implements StdioLink {
  readonly #link: Link;
  #newest: ProcessChannel | undefined;
  #closings = 0;

  constructor(target: CommandTarget) {
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

  async open(events: LinkEvents): Promise<void> {
    const closings = this.#closings;
    // Two processes of one server may be in each other's way.
    if (this.#newest?.released) await this.#newest.released;
    if (closings !== this.#closings)
      throw new PortolanError("connection-closed", "The link was closed before it opened");
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
