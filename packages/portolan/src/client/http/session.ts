import { PortolanError } from "../../errors.ts";
import type { JsonObject, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { headerKeys } from "../../transport/headers.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import { isPassing } from "../failures.ts";
import { HttpFailure, refused, unusable } from "./failure.ts";
import type { Head } from "./options.ts";
import { HttpResponseReader, type ReplyEvents, sendOneWay } from "./reply.ts";
import type { HttpRequests } from "./requests.ts";
import type { Sending } from "./send.ts";

/** How long the server may take to forget a session that ends. */
const farewellMs = 2_000;
/** How long the server may take to open its stream before it is asked something; some open it with the first message. */
const openingMs = 500;
const visible = /^[!-~]+$/;

/** The handshake of a link, what followed from it, and what is done when the server has forgotten it. */
export class HttpSession {
  readonly #traffic: HttpRequests;
  /** Sends a request past all that waits. */
  readonly #ask: (request: RpcRequest) => Promise<RpcResponse>;
  #greeting: RpcRequest | undefined;
  #initialized: RpcNotification | undefined;
  /** What is sent when the server is ready; undefined while it is. */
  #held: (() => void)[] | undefined;
  #renewal: Promise<void> | undefined;
  #failedRenewals = 0;
  #stream: GetStream | undefined;
  #hasNoStream = false;
  /** Whether the server has opened a stream in this session: a 404 to another one then means that the session is lost. */
  #hadStream = false;

  constructor(traffic: HttpRequests, ask: (request: RpcRequest) => Promise<RpcResponse>) {
    this.#traffic = traffic;
    this.#ask = ask;
  }

  /** A handshake begins: what an earlier one led to is over. */
  reset(): void {
    this.#stream?.stop();
    this.#hadStream = false;
    this.#be(undefined, undefined);
  }

  /** The server has answered the handshake. */
  begin(request: RpcRequest, { protocolVersion }: JsonObject, head: Head | undefined): void {
    const id = head?.header(headerKeys.session);
    if (id !== undefined && !visible.test(id)) this.#traffic.odd("a session id that is not visible ASCII");
    this.#greeting = request;
    this.#be(
      id !== undefined && visible.test(id) ? id : undefined,
      typeof protocolVersion === "string" && visible.test(protocolVersion) ? protocolVersion : undefined,
    );
  }

  /** Ends the handshake; what is sent meanwhile waits, because every POST has its own way and could be the faster one. */
  complete(initialized: RpcNotification): void {
    this.#initialized = initialized;
    this.#hold();
    this.#traffic.post(initialized, (failure) => {
      if (failure) this.#traffic.odd(failure.message);
      this.#openStream().then(() => this.#release());
    });
  }

  /** Runs at once, or when the server is ready. */
  whenReady(run: () => void): void {
    if (this.#held) this.#held.push(run);
    else run();
  }

  /** Introduces the client anew, once for all whose requests found that this session was lost. */
  renew(lostId: string | undefined): Promise<void> {
    if (this.#renewal) return this.#renewal;
    if (this.#traffic.identity.sessionId !== lostId) return Promise.resolve();
    this.#renewal = this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Tells the server that the session is over, and waits for its answer, but not for long. */
  async close(): Promise<void> {
    const { identity, clock } = this.#traffic;
    this.#stream?.stop();
    if (identity.sessionId === undefined) return;
    await new Promise<void>((resolve) => {
      const giveUp = sendOneWay(this.#traffic, this.#traffic.toDelete(), () => {
        stopWaiting();
        resolve();
      });
      const stopWaiting = clock.after(farewellMs, () => {
        giveUp();
        resolve();
      });
    });
    this.#be(undefined, undefined);
  }

  async #renew(): Promise<void> {
    const traffic = this.#traffic;
    const { sessionId, version } = traffic.identity;
    const greeting = this.#greeting;
    const initialized = this.#initialized;
    if (!greeting || !initialized) throw new Error("a session begins with a handshake");
    this.#stream?.stop();
    this.#hold();
    try {
      this.#be(undefined, undefined);
      const response = await this.#ask({ ...greeting, id: traffic.ownId("initialize") });
      if ("error" in response) throw forgotten(`refuses a new one: ${response.error.message}`);
      if (traffic.identity.version !== version) throw forgotten("offers a new one in another protocol version");
      await new Promise<void>((resolve, reject) => {
        traffic.post(initialized, (failure) => (failure ? reject(failure) : resolve()));
      });
      this.#failedRenewals = 0;
      this.#hadStream = false;
      // That the lost session had none says nothing about this one.
      this.#hasNoStream = false;
      await this.#openStream();
    } catch (reason) {
      // The next request finds the session lost again, and so another attempt is made.
      this.#be(sessionId, version);
      this.#failedRenewals += 1;
      throw reason;
    } finally {
      this.#release();
    }
    if (!traffic.isClosed) traffic.events.renewed?.();
  }

  #be(sessionId: string | undefined, version: string | undefined): void {
    this.#traffic.identity.sessionId = sessionId;
    this.#traffic.identity.version = version;
  }

  #hold(): void {
    this.#held ??= [];
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const run of held) run();
  }

  /** Resolves when the server has opened the stream or will not: what it says before is lost, so it is not asked before. */
  #openStream(after?: Error): Promise<void> {
    this.#stream?.stop();
    if (this.#hasNoStream || this.#traffic.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const stopWaiting = this.#traffic.clock.after(openingMs, resolve);
      const settle = () => {
        stopWaiting();
        resolve();
      };
      const opened = () => {
        this.#hadStream = true;
        settle();
      };
      const ended = (reason: Error) => {
        settle();
        this.#streamEnded(reason);
      };
      const event = (one: IncomingEvent) => this.#traffic.receiveEvent(one);
      const options = { failures: this.#failedRenewals };
      const stream = new GetStream(this.#traffic, { opened, event, ended }, options);
      this.#stream = stream;
      if (this.#failedRenewals === 0) stream.open();
      else stream.openLater(after);
    });
  }

  #streamEnded(reason: Error): void {
    const { sessionId } = this.#traffic.identity;
    const status = reason instanceof HttpFailure ? reason.status : undefined;
    if (sessionId !== undefined && this.#hadStream && (status === 404 || status === 400)) {
      this.renew(sessionId).catch((why: Error) => {
        this.#traffic.odd(why.message);
        this.#openStream(why);
      });
    } else if (status === 405 || status === 404) this.#hasNoStream = true;
    else this.#traffic.odd(reason.message);
  }
}

function forgotten(what: string): PortolanError {
  return new PortolanError("connection-closed", `The server has forgotten the session and ${what}`);
}

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
  readonly #traffic: HttpRequests;
  readonly #events: GetStreamEvents;
  readonly #maxFailures: number;
  readonly #backoff: Backoff;
  /** A stream belongs to its session and ends with it. */
  readonly #sessionId: string | undefined;
  #request: Sending | undefined;
  #reply: HttpResponseReader | undefined;
  #lastEventId: string;
  #begunAt = 0;
  #hasHeard = false;
  #isStopped = false;
  #stopExpecting: (() => void) | undefined;

  constructor(traffic: HttpRequests, events: GetStreamEvents, options: GetStreamOptions = {}) {
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
    this.#reply = new HttpResponseReader(this.#traffic, this.#request, this);
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

const firstDelayMs = 1_000;
const shortestDelayMs = 500;
const longestDelayMs = 60_000;
const growth = 1.6;

/** The pauses between attempts to reach a server: as long as it asks for, and ever longer while they fail. */
export class Backoff {
  readonly #traffic: HttpRequests;
  /** How many attempts have failed in a row. */
  failures: number;
  /** The pause that the server's stream asked for. */
  retryMs: number | undefined;
  #stop: (() => void) | undefined;

  constructor(traffic: HttpRequests, failures = 0, retryMs?: number) {
    this.#traffic = traffic;
    this.failures = failures;
    this.retryMs = retryMs;
  }

  get isWaiting(): boolean {
    return this.#stop !== undefined;
  }

  /** Calls after the next pause, which is at least as long as the last failure asks for. */
  wait(reason: Error | undefined, call: () => void): void {
    const { clock, sender } = this.#traffic;
    const base = Math.max(this.retryMs ?? firstDelayMs, shortestDelayMs);
    const grown = Math.max(base, Math.min(base * growth ** this.failures, longestDelayMs));
    const asked = reason instanceof HttpFailure ? (reason.retryAfterMs ?? 0) : 0;
    // Clients that lost their server together do not come back together.
    const delay = Math.max(grown, asked) * (1 + Math.random() / 10);
    const release = sender.transport.hold();
    const stopTimer = clock.after(delay, () => {
      this.stop();
      call();
    });
    this.#stop = () => {
      release();
      stopTimer();
    };
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
