import { comment } from "../../transport/sse.ts";
import type { EventStream, HttpHeaders, HttpReply } from "./adapter.ts";
import {
  defaultBacklogCharacters,
  defaultMaxStreams,
  defaultMaxStreamsPerPrincipal,
  slowShare,
  verySlowShare,
} from "./limits.ts";
import type { HttpLimits } from "./options.ts";

/** The time at which a principal may no longer listen. */
export interface Expiry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly end: () => void;
}

export interface StreamsOptions {
  readonly limits: HttpLimits;
  readonly keepAliveMs: number;
}

/** All event streams of an endpoint. Bounds their number, keeps them alive, and closes those whose client does not read. */
export class Streams {
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #backlog: number;
  readonly #keepAliveMs: number;
  readonly #open = new Set<OpenStream>();
  /** Places for streams that may open at the end of this turn. */
  #reserved = 0;
  readonly #perPrincipal = new Map<string, number>();
  /** Called with each keep-alive tick. */
  onTick: (() => void) | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #due: (() => void)[] = [];

  constructor({ limits, keepAliveMs }: StreamsOptions) {
    this.#max = limits.streams ?? defaultMaxStreams;
    this.#maxPerPrincipal = limits.streamsPerPrincipal ?? defaultMaxStreamsPerPrincipal;
    this.#backlog = limits.backlog ?? defaultBacklogCharacters;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Characters of one answer that are buffered until the end of the turn. */
  get maxBuffered(): number {
    return this.#backlog * slowShare;
  }

  /** Returns whether the principal may open one more stream. */
  hasRoom(principal: string): boolean {
    const isFull = this.#open.size + this.#reserved >= this.#max;
    return !isFull && (this.#perPrincipal.get(principal) ?? 0) < this.#maxPerPrincipal;
  }

  /** Reserves a place for a stream that may open at the end of this turn. Returns false if there is none. */
  reserve(principal: string): boolean {
    if (!this.hasRoom(principal)) return false;
    this.#reserved += 1;
    return true;
  }

  /** Gives a reserved place back. */
  release(): void {
    this.#reserved -= 1;
  }

  /** Opens a stream. Returns undefined if there are too many; none is closed to make room. */
  open(reply: HttpReply, headers: HttpHeaders, principal: string): OpenStream | undefined {
    return this.reserve(principal) ? this.openReserved(reply, headers, principal) : undefined;
  }

  /** Opens a stream in a reserved place. */
  openReserved(reply: HttpReply, headers: HttpHeaders, principal: string): OpenStream {
    this.release();
    const stream = new OpenStream(reply.stream(headers), this.#backlog, () => this.#remove(stream, principal));
    this.#open.add(stream);
    this.#perPrincipal.set(principal, (this.#perPrincipal.get(principal) ?? 0) + 1);
    reply.onGone(() => stream.close());
    this.#timer ??= startTimer(() => this.#keepAlive(), this.#keepAliveMs);
    return stream;
  }

  /** Calls the function after this turn, when every promise that settled in it has been handled. */
  afterTurn(call: () => void): void {
    if (this.#due.push(call) > 1) return;
    afterMicrotasks(() => {
      for (const due of this.#due.splice(0)) due();
    });
  }

  /** Ends all open streams. */
  closeAll(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #keepAlive(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    this.onTick?.();
    const before = Date.now() - this.#keepAliveMs / 2;
    const now = Date.now();
    for (const stream of [...this.#open]) {
      if (stream.expiry && stream.expiry.at <= now) stream.expiry.end();
      else if (stream.staysSlow()) stream.destroy();
      else if (stream.writtenAt < before) stream.write(keepAlive);
      if (!stream.isSlow) stream.sendDeferred();
    }
  }

  #remove(stream: OpenStream, principal: string): void {
    if (!this.#open.delete(stream)) return;
    const count = this.#perPrincipal.get(principal) ?? 1;
    if (count > 1) this.#perPrincipal.set(principal, count - 1);
    else this.#perPrincipal.delete(principal);
  }
}

const keepAlive = comment("");

const { process } = globalThis as { process?: { nextTick?(call: () => void): void } };

/** Calls the function after the microtasks of this turn. A macrotask would keep the event loop of node busy. */
function afterMicrotasks(call: () => void): void {
  if (process?.nextTick) queueMicrotask(() => process.nextTick?.(call));
  else setTimeout(call, 0);
}

/** One event stream to a client. It is closed if the client does not read. */
export class OpenStream {
  writtenAt: number = Date.now();
  /** Ends the stream when its principal expires. */
  expiry: Expiry | undefined;
  /** Sends the latest progress, which waits while the client reads slowly. */
  deferred: (() => void) | undefined;
  readonly #stream: EventStream;
  readonly #maxBacklog: number;
  readonly #onClosed: () => void;
  #isClosed = false;
  #wasSlow = false;

  constructor(stream: EventStream, maxBacklog: number, onClosed: () => void) {
    this.#stream = stream;
    this.#maxBacklog = maxBacklog;
    this.#onClosed = onClosed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True if the client has read everything. */
  get isRead(): boolean {
    return !this.#isClosed && this.#stream.backlog === 0;
  }

  /** True if the client reads so slowly that progress is deferred. */
  get isSlow(): boolean {
    return !this.#isClosed && this.#stream.backlog > this.#maxBacklog * slowShare;
  }

  /** True if the client reads so slowly that log messages are dropped. */
  get isVerySlow(): boolean {
    return !this.#isClosed && this.#stream.backlog > this.#maxBacklog * verySlowShare;
  }

  /** Returns whether the client is slow and was slow at the previous call. */
  staysSlow(): boolean {
    const wasSlow = this.#wasSlow;
    this.#wasSlow = this.isSlow;
    return wasSlow && this.#wasSlow;
  }

  sendDeferred(): void {
    const send = this.deferred;
    this.deferred = undefined;
    send?.();
  }

  write(text: string): void {
    if (this.#isClosed) return;
    if (this.#stream.backlog > this.#maxBacklog) {
      this.destroy();
      return;
    }
    this.writtenAt = Date.now();
    this.#stream.write(text);
  }

  /** Writes a stored event, and waits while the client reads slowly. */
  async replay(text: string): Promise<void> {
    this.write(text);
    while (this.isSlow) await this.#stream.drained();
  }

  end(): void {
    if (this.#isClosed) return;
    this.close();
    this.#stream.end();
  }

  /** Closes the connection of a client that does not read. */
  destroy(): void {
    this.close();
    this.#stream.destroy();
  }

  /** Marks the stream as closed; nothing more is written. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed();
  }
}

function startTimer(tick: () => void, ms: number): ReturnType<typeof setInterval> {
  const timer = setInterval(tick, ms);
  if (typeof timer === "object") timer.unref?.();
  return timer;
}
