import { comment } from "../../transport/sse.ts";
import type { EventStream, HttpHeaders, HttpReply } from "./door.ts";
import type { HttpLimits } from "./options.ts";

const defaultMax = 5_000;
const defaultMaxPerPrincipal = 1_000;
const defaultBacklog = 8 * 1024 * 1024;
/** Above this a client is spared what it can do without; a burst of one turn may well be a megabyte. */
const softBacklog = 4 * 1024 * 1024;
const keepAlive = comment("");

/** The end of a permission to listen. */
export interface Expiry {
  readonly at: number;
  readonly end: () => void;
}

export interface StreamsOptions {
  readonly limits: HttpLimits;
  readonly keepAliveMs: number;
}

/** All event streams of an endpoint: how many there may be, and that they stay alive. */
export class Streams {
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #backlog: number;
  readonly #keepAliveMs: number;
  readonly #open = new Set<OpenStream>();
  readonly #perPrincipal = new Map<string, number>();
  /** Runs whenever streams are looked after. */
  onTick: (() => void) | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor({ limits, keepAliveMs }: StreamsOptions) {
    this.#max = limits.streams ?? defaultMax;
    this.#maxPerPrincipal = limits.streamsPerPrincipal ?? defaultMaxPerPrincipal;
    this.#backlog = limits.backlog ?? defaultBacklog;
    this.#keepAliveMs = keepAliveMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether one more stream may begin. */
  hasRoom(principal: string): boolean {
    return this.#open.size < this.#max && (this.#perPrincipal.get(principal) ?? 0) < this.#maxPerPrincipal;
  }

  /** Begins a stream; undefined when there are too many: none is cut to make room. */
  open(reply: HttpReply, headers: HttpHeaders, principal: string): OpenStream | undefined {
    if (!this.hasRoom(principal)) return undefined;
    const count = this.#perPrincipal.get(principal) ?? 0;
    const stream = new OpenStream(reply.stream(headers), this.#backlog, () => this.#forget(stream, principal));
    this.#open.add(stream);
    this.#perPrincipal.set(principal, count + 1);
    reply.onGone(() => stream.lose());
    this.#timer ??= startTimer(() => this.#keepAlive(), this.#keepAliveMs);
    return stream;
  }

  /** Ends whatever is still open. */
  closeAll(): void {
    for (const stream of [...this.#open]) stream.end();
  }

  #keepAlive(): void {
    this.onTick?.();
    const before = Date.now() - this.#keepAliveMs / 2;
    const now = Date.now();
    for (const stream of [...this.#open]) {
      if (stream.expiry && stream.expiry.at <= now) stream.expiry.end();
      else if (stream.writtenAt < before) stream.write(keepAlive);
    }
  }

  #forget(stream: OpenStream, principal: string): void {
    if (!this.#open.delete(stream)) return;
    const count = this.#perPrincipal.get(principal) ?? 1;
    if (count > 1) this.#perPrincipal.set(principal, count - 1);
    else this.#perPrincipal.delete(principal);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** One event stream to a client, which is cut when it does not read. */
export class OpenStream {
  writtenAt: number = Date.now();
  /** When whoever listens may listen no longer, and what to do then. */
  expiry: Expiry | undefined;
  readonly #stream: EventStream;
  readonly #maxBacklog: number;
  readonly #forget: () => void;
  #isOver = false;

  constructor(stream: EventStream, maxBacklog: number, forget: () => void) {
    this.#stream = stream;
    this.#maxBacklog = maxBacklog;
    this.#forget = forget;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the client reads so slowly that what it can do without is not sent. */
  get isSlow(): boolean {
    return this.#stream.backlog > softBacklog;
  }

  write(text: string): void {
    if (this.#isOver) return;
    if (this.#stream.backlog > this.#maxBacklog) {
      this.lose();
      this.#stream.destroy();
      return;
    }
    this.writtenAt = Date.now();
    this.#stream.write(text);
  }

  end(): void {
    if (this.#isOver) return;
    this.lose();
    this.#stream.end();
  }

  /** The connection is gone; nothing more is written. */
  lose(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forget();
  }
}

function startTimer(tick: () => void, ms: number): ReturnType<typeof setInterval> {
  const timer = setInterval(tick, ms);
  if (typeof timer === "object") timer.unref?.();
  return timer;
}
