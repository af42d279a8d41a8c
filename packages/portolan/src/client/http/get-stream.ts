import type { IncomingEvent } from "../../transport/sse.ts";
import { HttpFailure, refused, unusable } from "./http-failure.ts";
import { Reply, type ReplyEvents } from "./reply.ts";
import type { Sending } from "./sender.ts";
import type { Traffic } from "./traffic.ts";
import type { Head } from "./transport.ts";

const firstDelayMs = 1_000;
const shortestDelayMs = 500;
const longestDelayMs = 60_000;
const growth = 1.6;
/** A stream that lived so long was no failure, even if nothing came. */
const goodLifeMs = 10_000;
/** Statuses that may be others the next time. */
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** What can be sent back in a header. */
const sendable = /^[ -~]+$/;

export interface GetStreamEvents {
  /** The server has opened it, the first time or again. */
  opened?(): void;
  event(event: IncomingEvent): void;
  /** It is over and will not go on. */
  ended(reason: Error): void;
}

export interface GetStreamOptions {
  readonly lastEventId?: string;
  readonly retryMs?: number | undefined;
  /** How often in a row it may fail; always again unless said. */
  readonly maxFailures?: number;
  /** How often others before it have failed. */
  readonly failures?: number;
}

/** Whether a stream can be gone on with after an event of this id. */
export function isResumable(lastEventId: string): boolean {
  return sendable.test(lastEventId);
}

/** A stream that is opened by GET, and opened again where it ended, after a while, as often as it must be. */
export class GetStream implements ReplyEvents {
  readonly #traffic: Traffic;
  readonly #events: GetStreamEvents;
  readonly #maxFailures: number;
  /** A stream belongs to its session and ends with it. */
  readonly #sessionId: string | undefined;
  #request: Sending | undefined;
  #reply: Reply | undefined;
  #lastEventId: string;
  #retryMs: number | undefined;
  #failures: number;
  #begunAt = 0;
  #hasHeard = false;
  #isStopped = false;
  #stopWaiting: (() => void) | undefined;

  constructor(traffic: Traffic, events: GetStreamEvents, options: GetStreamOptions = {}) {
    this.#traffic = traffic;
    this.#events = events;
    this.#sessionId = traffic.identity.sessionId;
    this.#lastEventId = options.lastEventId ?? "";
    this.#retryMs = options.retryMs;
    this.#failures = options.failures ?? 0;
    this.#maxFailures = options.maxFailures ?? Number.POSITIVE_INFINITY;
  }

  /** Opens it at once. */
  open(): void {
    this.#hasHeard = false;
    this.#begunAt = this.#traffic.clock.now();
    this.#request = this.#traffic.toGet(this.#lastEventId);
    this.#reply = new Reply(this.#traffic, this.#request, this);
    this.#reply.send();
  }

  /** Opens it after the time that the server asked for, or one that grows with every failure. */
  openLater(): void {
    const { clock, sender } = this.#traffic;
    const base = Math.max(this.#retryMs ?? firstDelayMs, shortestDelayMs);
    const grown = Math.max(base, Math.min(base * growth ** this.#failures, longestDelayMs));
    // Clients that lost their server together do not come back together.
    const delay = grown * (1 + Math.random() / 10);
    const release = sender.transport.hold();
    const stop = clock.after(delay, () => {
      release();
      this.#stopWaiting = undefined;
      if (this.#traffic.identity.sessionId === this.#sessionId) this.open();
      else this.#end(new HttpFailure("connection-closed", this.#traffic.toGet(""), "ended with its session"));
    });
    this.#stopWaiting = () => {
      release();
      stop();
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopWaiting?.();
    this.#reply?.cancel();
  }

  begun(head: Head): void {
    if (head.status < 300) this.#events.opened?.();
  }

  body(head: Head, text: string): void {
    const request = this.#request as Sending;
    if (head.status < 300) this.#end(unusable(request, head, "no event stream"));
    else if (passing.has(head.status) || head.status >= 500) this.#again(refused(request, head, text));
    else this.#end(refused(request, head, text));
  }

  event(event: IncomingEvent): void {
    this.#hasHeard = true;
    this.#note();
    this.#events.event(event);
  }

  over(reason: Error | undefined): void {
    this.#note();
    const hasLived = this.#traffic.clock.now() - this.#begunAt >= goodLifeMs;
    if (this.#hasHeard || hasLived) this.#failures = -1;
    this.#again(reason ?? new HttpFailure("connection-closed", this.#request as Sending, "ended its stream"));
  }

  failed(reason: Error): void {
    const isFinal = !(reason instanceof HttpFailure) || reason.code !== "connection-closed";
    if (isFinal) this.#end(reason);
    else this.#again(reason);
  }

  #note(): void {
    const { lastEventId = "", retryMs } = this.#reply ?? {};
    if (isResumable(lastEventId)) this.#lastEventId = lastEventId;
    if (retryMs !== undefined) this.#retryMs = retryMs;
  }

  #again(reason: Error): void {
    if (this.#isStopped) return;
    this.#failures += 1;
    if (this.#failures > this.#maxFailures) this.#end(reason);
    else this.openLater();
  }

  #end(reason: Error): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#events.ended(reason);
  }
}
