import type { Caller, Exhausted } from "../callers.ts";
import type { EventStream, HttpHeaders, HttpReply } from "./adapter.ts";
import { defaultBacklogCharacters, slowShare, uncountedBytes, unreadEndMs, verySlowShare } from "./limits.ts";

/** The time at which a principal may no longer listen. */
export interface Expiry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly end: () => void;
}

export interface StreamsOptions {
  /** Characters that a client may leave unread. */
  readonly backlog?: number | undefined;
  readonly keepAliveMs: number;
  /** Called when a call has to be answered without a stream. */
  readonly onRefused?: (caller: Caller, exhausted: Exhausted) => void;
}

/** All event streams of an endpoint. Counts them, keeps them alive, and closes those whose client does not read. */
export class Streams {
  readonly #backlog: number;
  readonly #keepAliveMs: number;
  readonly #open = new Set<OpenStream>();
  readonly #onRefused: StreamsOptions["onRefused"];
  /** Called with each keep-alive tick. */
  onTick: (() => void) | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor({ backlog = defaultBacklogCharacters, keepAliveMs, onRefused }: StreamsOptions) {
    this.#backlog = backlog;
    this.#keepAliveMs = keepAliveMs;
    this.#onRefused = onRefused;
  }

  /** Characters of one answer that are buffered until the end of the turn. */
  get maxBuffered(): number {
    return this.#backlog * slowShare;
  }

  /** Reserves a place for the stream of a call. Returns false if a limit is reached: its progress is lost then. */
  reserveForCall(caller: Caller): boolean {
    const exhausted = caller.take("streams");
    if (exhausted) this.#onRefused?.(caller, exhausted);
    return !exhausted;
  }

  /** Opens a stream whose place its caller has taken. */
  openReserved(reply: HttpReply, headers: HttpHeaders, caller: Caller): OpenStream {
    const stream = new OpenStream(this.#begin(reply, headers, caller), this.#backlog, caller, this.#open);
    // The rest of an ended stream stays in memory, and keeps its place, until the client has read it.
    reply.onSent(() => stream.close());
    this.#timer ??= startTimer(() => this.#keepAlive(), this.#keepAliveMs);
    return stream;
  }

  /** Ends all open streams. */
  closeAll(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #begin(reply: HttpReply, headers: HttpHeaders, caller: Caller): EventStream {
    try {
      return reply.stream(headers);
    } catch (cause) {
      caller.release("streams");
      throw cause;
    }
  }

  #keepAlive(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    this.onTick?.();
    const now = performance.now();
    const before = now - this.#keepAliveMs / 2;
    for (const stream of [...this.#open]) {
      if (stream.isClosed) {
        if (stream.isStalled(now)) stream.destroy();
      } else if (stream.expiry && stream.expiry.at <= Date.now()) stream.expiry.end();
      else if (stream.staysSlow()) stream.destroy();
      else if (stream.writtenAt < before) stream.write(keepAlive);
      if (!stream.isSlow) stream.sendDeferred();
      stream.countUnread();
    }
  }
}

/** An empty comment, which readers skip. */
const keepAlive = ": \n\n";

/** One event stream to a client. It is closed if the client does not read. */
export class OpenStream {
  /** By the monotonic clock. */
  writtenAt: number = performance.now();
  /** Ends the stream when its principal expires. */
  expiry: Expiry | undefined;
  /** Sends the latest progress, which waits while the client reads slowly. */
  deferred: (() => void) | undefined;
  /** Called once when the stream gives its place back: the client has read everything or is gone. */
  onOver: (() => void) | undefined;
  readonly #stream: EventStream;
  readonly #maxBacklog: number;
  readonly #caller: Caller;
  /** The streams that are counted, this one among them until its place is given back. */
  readonly #open: Set<OpenStream>;
  #isClosed = false;
  /** True once the client has read everything or is gone. */
  #isOver = false;
  #wasSlow = false;
  /** The unread rest of an ended stream, and the time at which it was last seen to change. */
  #rest = -1;
  #restAt = 0;
  /** Unread characters that count as kept bytes of the caller. */
  #counted = 0;

  constructor(stream: EventStream, maxBacklog: number, caller: Caller, open: Set<OpenStream>) {
    this.#stream = stream;
    this.#maxBacklog = maxBacklog;
    this.#caller = caller;
    this.#open = open.add(this);
  }

  /** True once nothing more can be written. The client may still be reading. */
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

  /**
   * Returns whether the client has read nothing of the rest of an ended stream for too long.
   *
   * @param now the time by the monotonic clock
   */
  isStalled(now: number): boolean {
    const { backlog } = this.#stream;
    if (backlog !== this.#rest) {
      this.#rest = backlog;
      this.#restAt = now;
    }
    return backlog > 0 && now - this.#restAt >= unreadEndMs;
  }

  sendDeferred(): void {
    const send = this.deferred;
    this.deferred = undefined;
    send?.();
  }

  write(text: string): void {
    if (this.#isClosed) return;
    if (this.#stream.backlog > this.#maxBacklog || !this.countUnread(text.length)) {
      this.destroy();
      return;
    }
    this.writtenAt = performance.now();
    this.#stream.write(text);
  }

  /** Counts what the client has not read, and what is added now. Returns false if the caller may not keep that much. */
  countUnread(added = 0): boolean {
    const unread = this.#isOver ? 0 : this.#stream.backlog + added;
    const more = (unread > uncountedBytes ? unread : 0) - this.#counted;
    const full = more > 0 && this.#caller.take("keptBytes", more);
    if (full) {
      this.#caller.refused({ limit: "keptBytes", exhausted: full });
      return false;
    }
    if (more < 0) this.#caller.release("keptBytes", -more);
    this.#counted += more;
    return true;
  }

  /** Writes a stored event, and waits while the client reads slowly. */
  async replay(text: string): Promise<void> {
    this.write(text);
    while (this.isSlow) await this.#stream.drained();
  }

  /** Ends the stream. It counts for its caller until the client has read it. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.end();
  }

  /** Closes the connection of a client that does not read. */
  destroy(): void {
    this.#isClosed = true;
    this.#stream.destroy();
    this.close();
  }

  /** Gives back the place of the stream: the client has read everything or is gone. */
  close(): void {
    this.#isClosed = true;
    if (this.#isOver) return;
    this.#isOver = true;
    this.countUnread();
    this.#open.delete(this);
    this.#caller.release("streams");
    this.onOver?.();
  }
}

function startTimer(tick: () => void, ms: number): ReturnType<typeof setInterval> {
  const timer = setInterval(tick, ms);
  if (typeof timer === "object") timer.unref?.();
  return timer;
}
