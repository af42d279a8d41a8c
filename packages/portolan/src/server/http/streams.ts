import { comment } from "../../transport/sse.ts";
import type { EventStream, HttpHeaders, HttpReply } from "./adapter.ts";
import type { HttpLimits } from "./options.ts";

const defaultMax = 5_000;
const defaultMaxPerPrincipal = 1_000;
const defaultBacklog = 8 * 1024 * 1024;
/** The share of the backlog above which a client gets no progress that is overtaken; a burst of one turn may well be a megabyte. */
const slowShare = 0.5;
/** The share above which it gets no log messages either. */
const verySlowShare = 0.75;
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

const { process } = globalThis as { process?: { nextTick?(call: () => void): void } };

/** Runs what is due behind everything of this turn; a macrotask of its own would keep the event loop from resting. */
function behindTurn(call: () => void): void {
  if (process?.nextTick) queueMicrotask(() => process.nextTick?.(call));
  else setTimeout(call, 0);
}

/** All event streams of an endpoint: how many there may be, and that they stay alive. */
export class Streams {
  readonly #max: number;
  readonly #maxPerPrincipal: number;
  readonly #backlog: number;
  readonly #keepAliveMs: number;
  readonly #open = new Set<OpenStream>();
  /** Places kept for answers that are not whole yet. */
  #held = 0;
  readonly #perPrincipal = new Map<string, number>();
  /** Runs whenever streams are looked after. */
  onTick: (() => void) | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #due: (() => void)[] = [];

  constructor({ limits, keepAliveMs }: StreamsOptions) {
    this.#max = limits.streams ?? defaultMax;
    this.#maxPerPrincipal = limits.streamsPerPrincipal ?? defaultMaxPerPrincipal;
    this.#backlog = limits.backlog ?? defaultBacklog;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Characters of one answer that may wait for the end of their turn. */
  get maxHeld(): number {
    return this.#backlog * slowShare;
  }

  /** Whether one more stream may begin. */
  hasRoom(principal: string): boolean {
    const isFull = this.#open.size + this.#held >= this.#max;
    return !isFull && (this.#perPrincipal.get(principal) ?? 0) < this.#maxPerPrincipal;
  }

  /** Keeps a place for a stream that may begin at the end of this turn, if there is one. */
  hold(principal: string): boolean {
    if (!this.hasRoom(principal)) return false;
    this.#held += 1;
    return true;
  }

  /** Gives it back. */
  letGo(): void {
    this.#held -= 1;
  }

  /** Begins a stream; undefined when there are too many: none is cut to make room. */
  open(reply: HttpReply, headers: HttpHeaders, principal: string): OpenStream | undefined {
    return this.hold(principal) ? this.openHeld(reply, headers, principal) : undefined;
  }

  /** Begins a stream for which a place is kept. */
  openHeld(reply: HttpReply, headers: HttpHeaders, principal: string): OpenStream {
    this.letGo();
    const stream = new OpenStream(reply.stream(headers), this.#backlog, () => this.#forget(stream, principal));
    this.#open.add(stream);
    this.#perPrincipal.set(principal, (this.#perPrincipal.get(principal) ?? 0) + 1);
    reply.onGone(() => stream.lose());
    this.#timer ??= startTimer(() => this.#keepAlive(), this.#keepAliveMs);
    return stream;
  }

  /** Calls back when all that is settled in this turn has been said. */
  afterTurn(call: () => void): void {
    if (this.#due.push(call) > 1) return;
    behindTurn(() => {
      for (const due of this.#due.splice(0)) due();
    });
  }

  /** Ends whatever is still open. */
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
      else if (stream.staysSlow()) stream.cut();
      else if (stream.writtenAt < before) stream.write(keepAlive);
      if (!stream.isSlow) stream.catchUp();
    }
  }

  #forget(stream: OpenStream, principal: string): void {
    if (!this.#open.delete(stream)) return;
    const count = this.#perPrincipal.get(principal) ?? 1;
    if (count > 1) this.#perPrincipal.set(principal, count - 1);
    else this.#perPrincipal.delete(principal);
  }
}

/** One event stream to a client, which is cut when it does not read. */
export class OpenStream {
  writtenAt: number = Date.now();
  /** When whoever listens may listen no longer, and what to do then. */
  expiry: Expiry | undefined;
  /** What waits for a client that reads slowly. */
  whenCalm: (() => void) | undefined;
  readonly #stream: EventStream;
  readonly #maxBacklog: number;
  readonly #forget: () => void;
  #isOver = false;
  #wasSlow = false;

  constructor(stream: EventStream, maxBacklog: number, forget: () => void) {
    this.#stream = stream;
    this.#maxBacklog = maxBacklog;
    this.#forget = forget;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the client has read all there was not long ago. */
  get isRead(): boolean {
    return !this.#isOver && this.#stream.backlog === 0;
  }

  /** Whether the client reads so slowly that what it can do without has to wait. */
  get isSlow(): boolean {
    return !this.#isOver && this.#stream.backlog > this.#maxBacklog * slowShare;
  }

  /** Whether it reads so slowly that what it can do without is left out. */
  get isVerySlow(): boolean {
    return !this.#isOver && this.#stream.backlog > this.#maxBacklog * verySlowShare;
  }

  /** Whether it was slow already when this was last asked. */
  staysSlow(): boolean {
    const wasSlow = this.#wasSlow;
    this.#wasSlow = this.isSlow;
    return wasSlow && this.#wasSlow;
  }

  /** Does what had to wait. */
  catchUp(): void {
    const said = this.whenCalm;
    this.whenCalm = undefined;
    said?.();
  }

  write(text: string): void {
    if (this.#isOver) return;
    if (this.#stream.backlog > this.#maxBacklog) {
      this.cut();
      return;
    }
    this.writtenAt = Date.now();
    this.#stream.write(text);
  }

  /** Writes what has been waiting for its client, who is given the time to read it. */
  async replay(text: string): Promise<void> {
    this.write(text);
    while (this.isSlow) await this.#stream.drained();
  }

  end(): void {
    if (this.#isOver) return;
    this.lose();
    this.#stream.end();
  }

  /** Gives up a client that does not read. */
  cut(): void {
    this.lose();
    this.#stream.destroy();
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
