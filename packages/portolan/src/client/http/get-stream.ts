import type { IncomingEvent } from "../../transport/sse.ts";
import { isPassing } from "../failures.ts";
import { Backoff } from "./backoff.ts";
import { HttpFailure, refused, unusable } from "./failure.ts";
import { Reply, type ReplyEvents } from "./reply.ts";
import type { Traffic } from "./requests.ts";
import type { Sending } from "./send.ts";
import type { Head } from "./transport.ts";

/** A stream that lived so long was no failure, even if nothing came. */
const goodLifeMs = 10_000;

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

/** A stream that is opened by GET, and opened again where it ended, after a while, as often as it must be. */
export class GetStream implements ReplyEvents {
  readonly #traffic: Traffic;
  readonly #events: GetStreamEvents;
  readonly #maxFailures: number;
  readonly #backoff: Backoff;
  /** A stream belongs to its session and ends with it. */
  readonly #sessionId: string | undefined;
  #request: Sending | undefined;
  #reply: Reply | undefined;
  #lastEventId: string;
  #begunAt = 0;
  #hasHeard = false;
  #isStopped = false;
  #stopExpecting: (() => void) | undefined;

  constructor(traffic: Traffic, events: GetStreamEvents, options: GetStreamOptions = {}) {
    this.#traffic = traffic;
    this.#events = events;
    this.#sessionId = traffic.identity.sessionId;
    this.#lastEventId = options.lastEventId ?? "";
    this.#backoff = new Backoff(traffic, options.failures, options.retryMs);
    this.#maxFailures = options.maxFailures ?? Number.POSITIVE_INFINITY;
  }

  /** Opens it at once. */
  open(): void {
    this.#hasHeard = false;
    this.#begunAt = this.#traffic.clock.now();
    this.#request = this.#traffic.toGet(this.#lastEventId);
    this.#reply = new Reply(this.#traffic, this.#request, this);
    this.#reply.send();
    // Who keeps streams alive opens them at once; the others may wait until there is something to say.
    if (this.#traffic.keepsAlive) this.#expectHead(this.#request);
  }

  /** Opens it after the time that the server asked for, or one that grows with every failure. */
  openLater(after?: Error): void {
    this.#backoff.wait(after, () => {
      if (this.#traffic.identity.sessionId === this.#sessionId) this.open();
      else this.#end(new HttpFailure("connection-closed", this.#traffic.toGet(""), "ended with its session"));
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopExpecting?.();
    this.#backoff.stop();
    this.#reply?.cancel();
  }

  begun(head: Head): void {
    this.#stopExpecting?.();
    if (head.status < 300) this.#events.opened?.();
  }

  body(head: Head, text: string): void {
    const request = this.#request as Sending;
    this.failed(head.status < 300 ? unusable(request, head, "no event stream") : refused(request, head, text));
  }

  event(event: IncomingEvent): void {
    this.#hasHeard = true;
    this.#events.event(event);
  }

  over(reason: Error | undefined): void {
    const { lastEventId = "", retryMs } = this.#reply ?? {};
    if (lastEventId !== "") this.#lastEventId = lastEventId;
    if (retryMs !== undefined) this.#backoff.retryMs = retryMs;
    const hasLived = this.#traffic.clock.now() - this.#begunAt >= goodLifeMs;
    if (this.#hasHeard || hasLived) this.#backoff.failures = -1;
    this.#again(reason ?? new HttpFailure("connection-closed", this.#request as Sending, "ended its stream"));
  }

  failed(reason: Error): void {
    this.#stopExpecting?.();
    if (reason instanceof HttpFailure && isPassing(reason)) this.#again(reason);
    else this.#end(reason);
  }

  /** A connection that has gone silent takes a request and never answers it. */
  #expectHead(request: Sending): void {
    const { clock, idleStreamMs, sender } = this.#traffic;
    this.#stopExpecting = clock.after(idleStreamMs, () => {
      if (sender.isHeld) {
        this.#expectHead(request);
        return;
      }
      this.#reply?.cancel();
      this.#again(new HttpFailure("connection-closed", request, `was not answered in ${idleStreamMs} ms`));
    });
  }

  #again(reason: Error): void {
    if (this.#isStopped) return;
    this.#backoff.failures += 1;
    if (this.#backoff.failures > this.#maxFailures) this.#end(reason);
    else this.openLater(reason);
  }

  #end(reason: Error): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#events.ended(reason);
  }
}
