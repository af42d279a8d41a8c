import { PortolanError } from "../../errors.ts";
import { headerKeys, headerNames } from "../../http/headers.ts";
import type { IncomingEvent } from "../../http/sse.ts";
import {
  type JsonObject,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import { statefulRevisions } from "../../protocol/revisions/index.ts";
import { isTransient } from "../failures.ts";
import type { HttpExchange } from "./exchange.ts";
import { HttpFailure, refused, unusable } from "./failure.ts";
import {
  deleteSessionMs,
  firstRetryMs,
  maxOpenAnswerChars,
  maxOpenAnswers,
  maxResumeFailures,
  maxRetryMs,
  minRetryMs,
  openStreamMs,
  retryGrowth,
  stableStreamMs,
} from "./limits.ts";
import type { Head, HttpHeaders } from "./options.ts";
import { HttpResponseReader, type ReplyEvents, sendOneWay } from "./reply.ts";
import { type HttpRequests, noIdentity, type SessionIdentity } from "./requests.ts";
import type { LinkRequest } from "./send.ts";

const visibleAscii = /^[!-~]+$/;

/** The session of a stateful server: its handshake, its stream, and its renewal after the server has lost it. */
export class HttpSession {
  readonly #requests: HttpRequests;
  /** Sends a request without waiting in the queue. */
  readonly #sendNow: (request: RpcRequest) => Promise<RpcResponse>;
  readonly #lost: (reason: Error) => void;
  readonly #openAnswers = new OpenAnswers();
  /** The pauses before answers that are posted again. */
  readonly #answerBackoffs = new Set<Backoff>();
  #initializeRequest: RpcRequest | undefined;
  #initialized: RpcNotification | undefined;
  /** Messages that wait until the server is ready; undefined while it is. */
  #queued: (() => void)[] | undefined;
  #renewal: Promise<void> | undefined;
  #failedRenewals = 0;
  #stream: GetStream | undefined;
  #hasNoStream = false;
  /** The server has opened a stream in this session: a 404 to another GET then means that the session is lost. */
  #hadStream = false;

  /** `lost` is called when the session must not be used any more. */
  constructor(
    requests: HttpRequests,
    sendNow: (request: RpcRequest) => Promise<RpcResponse>,
    lost: (reason: Error) => void,
  ) {
    this.#requests = requests;
    this.#sendNow = sendNow;
    this.#lost = lost;
  }

  /** Forgets an earlier session before a new handshake. */
  reset(): void {
    this.#stream?.stop();
    this.#hadStream = false;
    this.#requests.identity = noIdentity;
  }

  /** Takes the session id and version from the answer to the handshake. */
  begin(request: RpcRequest, { protocolVersion }: JsonObject, head: Head | undefined): void {
    const id = head?.header(headerKeys.session);
    if (id !== undefined && !visibleAscii.test(id)) this.#requests.invalid("a session id that is not visible ASCII");
    this.#initializeRequest = request;
    this.#requests.identity = toIdentity(
      id !== undefined && visibleAscii.test(id) ? id : undefined,
      typeof protocolVersion === "string" && visibleAscii.test(protocolVersion) ? protocolVersion : undefined,
    );
  }

  /** Completes the handshake. Messages wait meanwhile: each POST has its own connection and could overtake this one. */
  complete(initialized: RpcNotification): void {
    this.#initialized = initialized;
    this.#startQueue();
    this.#requests.post(initialized, (failure) => {
      if (failure) this.#requests.invalid(failure.message);
      this.#openStream().then(() => this.#flushQueue());
    });
  }

  /** Calls the function at once, or when the server is ready. */
  whenReady(run: () => void): void {
    if (this.#queued) this.#queued.push(run);
    else run();
  }

  /** Begins a new session. All requests that found the session lost share one renewal. */
  renew(lostId: string | undefined): Promise<void> {
    if (this.#renewal) return this.#renewal;
    if (this.#requests.identity.sessionId !== lostId) return Promise.resolve();
    this.#renewal = this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** Begins a new session for a request that found its own lost. A request that may have run fails. */
  moveOrFail(exchange: HttpExchange, failure: Error): void {
    const renewal = this.renew(exchange.sessionId);
    if (exchange.wasResumed) {
      renewal.catch((reason: Error) => this.#requests.invalid(reason.message));
      exchange.fail(failure);
      return;
    }
    exchange.wasMoved = true;
    renewal.then(
      () => exchange.send(),
      (reason) => exchange.fail(reason),
    );
  }

  /** Deletes the session on the server, and waits a short time for the answer. */
  async close(): Promise<void> {
    const { identity, clock } = this.#requests;
    this.#stream?.stop();
    for (const backoff of this.#answerBackoffs) backoff.stop();
    if (identity.sessionId === undefined) return;
    await new Promise<void>((resolve) => {
      const cancel = sendOneWay(this.#requests, toDelete(this.#requests), () => {
        stopWaiting();
        resolve();
      });
      const stopWaiting = clock.after(deleteSessionMs, () => {
        cancel();
        resolve();
      });
    });
    this.#requests.identity = noIdentity;
  }

  /** Sends an answer, unless its question is of an earlier session: the new session may have reused the id. */
  answer(response: RpcResponse, sessionId: string | undefined): void {
    const requests = this.#requests;
    if (requests.isClosed || sessionId !== requests.identity.sessionId) return;
    try {
      const text = serialize(response);
      this.#post(requests.toPost(response, text), sessionId, this.#openAnswers.add(text));
    } catch (reason) {
      if (isFlood(reason)) this.#lost(reason);
      else requests.invalid((reason as Error).message);
    }
  }

  /** Posts an answer until the server has accepted it: the server waits for it, and ignores a second one. */
  #post(request: LinkRequest, sessionId: string | undefined, done: () => void, failures = 0): void {
    const requests = this.#requests;
    sendOneWay(requests, request, (failure) => {
      const isCurrent = !requests.isClosed && sessionId === requests.identity.sessionId;
      if (failure && isTransient(failure) && isCurrent && failures < maxResumeFailures) {
        const backoff = new Backoff(requests, failures);
        this.#answerBackoffs.add(backoff);
        backoff.wait(failure, () => {
          this.#answerBackoffs.delete(backoff);
          this.#post(request, sessionId, done, failures + 1);
        });
        return;
      }
      done();
      if (failure) requests.invalid(failure.message);
    });
  }

  async #renew(): Promise<void> {
    const requests = this.#requests;
    const { identity } = requests;
    const initialize = this.#initializeRequest;
    const initialized = this.#initialized;
    if (!initialize || !initialized) throw new Error("a session begins with a handshake");
    this.#stream?.stop();
    this.#startQueue();
    try {
      requests.identity = noIdentity;
      const response = await this.#sendNow({ ...initialize, id: `portolan-initialize-${++requests.ownIds}` });
      if ("error" in response) throw renewalFailed(`refuses a new one: ${response.error.message}`);
      if (requests.identity.version !== identity.version)
        throw renewalFailed("offers a new one in another protocol version");
      await new Promise<void>((resolve, reject) => {
        requests.post(initialized, (failure) => (failure ? reject(failure) : resolve()));
      });
      this.#failedRenewals = 0;
      this.#hadStream = false;
      // The new session may have a stream even if the lost one had none.
      this.#hasNoStream = false;
      await this.#openStream();
    } catch (reason) {
      // The next request finds the session lost and tries again.
      requests.identity = identity;
      this.#failedRenewals += 1;
      // Without a request, the stream finds the session lost.
      void this.#openStream(reason as Error);
      throw reason;
    } finally {
      this.#flushQueue();
    }
    if (!requests.isClosed) requests.events.renewed?.();
  }

  #startQueue(): void {
    this.#queued ??= [];
  }

  #flushQueue(): void {
    const queued = this.#queued ?? [];
    this.#queued = undefined;
    for (const run of queued) run();
  }

  /** Resolves when the server has opened or refused the stream. Requests wait for it, because earlier events are lost. */
  #openStream(after?: Error, opened?: () => void): Promise<void> {
    this.#stream?.stop();
    if (this.#hasNoStream || this.#requests.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const stopWaiting = this.#requests.clock.after(openStreamMs, resolve);
      const settle = () => {
        stopWaiting();
        resolve();
      };
      const hasOpened = () => {
        this.#hadStream = true;
        settle();
        opened?.();
        opened = undefined;
      };
      const ended = (reason: Error) => {
        settle();
        this.#streamEnded(reason, stream);
      };
      const event = (one: IncomingEvent) => this.#requests.receiveEvent(one);
      const options = { failures: this.#failedRenewals };
      const stream = new GetStream(this.#requests, { opened: hasOpened, event, ended }, options);
      this.#stream = stream;
      if (this.#failedRenewals === 0) stream.open();
      else stream.openLater(after);
    });
  }

  #streamEnded(reason: Error, { hasRetried, lastEventId }: GetStream): void {
    const { sessionId } = this.#requests.identity;
    const status = reason instanceof HttpFailure ? reason.status : undefined;
    // The first answer of a server without streams is 404. A later one means that the session was lost meanwhile.
    const hasStreams = this.#hadStream || hasRetried || this.#failedRenewals > 0;
    if (status === 400 && lastEventId !== "") {
      // The events are lost. The session may not be, and calls in it may wait for answers.
      void this.#openStream(undefined, () => this.#requests.events.interrupted?.());
    } else if (sessionId !== undefined && hasStreams && (status === 404 || status === 400)) {
      this.renew(sessionId).catch((why: Error) => this.#requests.invalid(why.message));
    } else if (status === 405 || status === 404) this.#hasNoStream = true;
    else this.#requests.invalid(reason.message);
  }
}

/** The answers to requests of the server that it has not accepted yet. */
export class OpenAnswers {
  #count = 0;
  #chars = 0;

  /** Adds an answer, until the returned function is called. Throws "limit-reached" if there are too many. */
  add(text: string): () => void {
    const isTooLong = this.#count > 0 && this.#chars + text.length > maxOpenAnswerChars;
    if (this.#count >= maxOpenAnswers || isTooLong) {
      const open = isTooLong ? `${maxOpenAnswerChars} characters` : `${maxOpenAnswers} answers`;
      const why = `The server sends requests and does not accept their answers: more than ${open} are open`;
      throw new PortolanError("limit-reached", why);
    }
    this.#count += 1;
    this.#chars += text.length;
    return () => {
      this.#count -= 1;
      this.#chars -= text.length;
    };
  }
}

/** Recognizes the error of a server that does not accept the answers to its requests. */
export function isFlood(reason: unknown): reason is PortolanError {
  return reason instanceof PortolanError && reason.code === "limit-reached";
}

function toIdentity(sessionId: string | undefined, version: string | undefined): SessionIdentity {
  const headers: HttpHeaders = {
    ...(sessionId !== undefined && { [headerNames.session]: sessionId }),
    ...(version !== undefined && namesVersion(version) && { [headerNames.version]: version }),
  };
  return { sessionId, version, headers };
}

/** Older servers may refuse the version header, which they do not know. */
function namesVersion(version: string): boolean {
  return statefulRevisions.find((revision) => revision.version === version)?.http.namesVersion ?? true;
}

function toDelete({ url, identity }: HttpRequests): LinkRequest {
  return { method: "DELETE", url, headers: identity.headers, body: undefined, skipAuth: true };
}

/** Returns the GET that opens the session's stream, or resumes one. */
function toGet({ url, identity }: HttpRequests, lastEventId: string): LinkRequest {
  const resumed = lastEventId === "" ? {} : { [headerNames.lastEventId]: lastEventId };
  const headers = { Accept: "text/event-stream", ...identity.headers, ...resumed };
  return { method: "GET", url, headers, body: undefined, mayRepeat: () => true };
}

/** The error for a lost session that could not be renewed. */
export function renewalFailed(what: string): PortolanError {
  return new PortolanError("connection-closed", `The server has lost the session and ${what}`);
}

export interface GetStreamEvents {
  /** The server has opened the stream, the first time or again. */
  opened?(): void;
  event(event: IncomingEvent): void;
  /** The stream has ended and will not be opened again. */
  ended(reason: Error): void;
}

export interface GetStreamOptions {
  readonly lastEventId?: string;
  readonly retryMs?: number | undefined;
  /** Failures in a row before the stream ends. Default: no limit. */
  readonly maxFailures?: number;
  /** Failures of earlier streams, which lengthen the first pause. */
  readonly failures?: number;
}

/** A stream that is opened by GET, and resumed after a pause each time it ends. */
export class GetStream implements ReplyEvents {
  readonly #requests: HttpRequests;
  readonly #events: GetStreamEvents;
  readonly #maxFailures: number;
  readonly #backoff: Backoff;
  /** The stream ends with this session. */
  readonly #sessionId: string | undefined;
  #request: LinkRequest | undefined;
  #reply: HttpResponseReader | undefined;
  /** The position at which the stream is resumed; empty if there is none. */
  lastEventId: string;
  #openedAt = 0;
  #hasEvents = false;
  #isStopped = false;
  /** True if an attempt has failed and another one followed. */
  hasRetried = false;
  #stopHeadTimer: (() => void) | undefined;

  constructor(requests: HttpRequests, events: GetStreamEvents, options: GetStreamOptions = {}) {
    this.#requests = requests;
    this.#events = events;
    this.#sessionId = requests.identity.sessionId;
    this.lastEventId = options.lastEventId ?? "";
    this.#backoff = new Backoff(requests, options.failures, options.retryMs);
    this.#maxFailures = options.maxFailures ?? Number.POSITIVE_INFINITY;
  }

  open(): void {
    this.#hasEvents = false;
    this.#openedAt = this.#requests.clock.now();
    this.#request = toGet(this.#requests, this.lastEventId);
    this.#reply = new HttpResponseReader(this.#requests, this.#request, this);
    this.#reply.send();
    // Servers with keep-alives answer at once; others may answer with their first event only.
    if (this.#requests.keepsAlive) this.#startHeadTimer(this.#request);
  }

  /** Opens the stream after the pause that the server asked for, or one that grows with each failure. */
  openLater(after?: Error): void {
    this.#backoff.wait(after, () => {
      if (this.#requests.identity.sessionId === this.#sessionId) this.open();
      else this.#end(new HttpFailure("connection-closed", toGet(this.#requests, ""), "ended with its session"));
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopHeadTimer?.();
    this.#backoff.stop();
    this.#reply?.cancel();
  }

  started(head: Head): void {
    this.#stopHeadTimer?.();
    if (head.status < 300) this.#events.opened?.();
  }

  body(head: Head, text: string): void {
    const request = this.#request as LinkRequest;
    this.failed(head.status < 300 ? unusable(request, head, "no event stream") : refused(request, head, text));
  }

  event(event: IncomingEvent): void {
    this.#hasEvents = true;
    this.#events.event(event);
  }

  ended(reason: Error | undefined): void {
    const { lastEventId = "", retryMs } = this.#reply ?? {};
    if (lastEventId !== "") this.lastEventId = lastEventId;
    if (retryMs !== undefined) this.#backoff.retryMs = retryMs;
    const wasStable = this.#requests.clock.now() - this.#openedAt >= stableStreamMs;
    if (this.#hasEvents || wasStable) this.#backoff.failures = -1;
    this.#retryOrEnd(reason ?? new HttpFailure("connection-closed", this.#request as LinkRequest, "ended its stream"));
  }

  failed(reason: Error): void {
    this.#stopHeadTimer?.();
    if (reason instanceof HttpFailure && isTransient(reason)) this.#retryOrEnd(reason);
    else this.#end(reason);
  }

  /** Detects a half-open connection, which accepts a request and never answers it. */
  #startHeadTimer(request: LinkRequest): void {
    const { clock, idleStreamMs, sender } = this.#requests;
    this.#stopHeadTimer = clock.after(idleStreamMs, () => {
      if (sender.isAwaitingLogin) {
        this.#startHeadTimer(request);
        return;
      }
      this.#reply?.cancel();
      this.#retryOrEnd(new HttpFailure("connection-closed", request, `was not answered within ${idleStreamMs} ms`));
    });
  }

  #retryOrEnd(reason: Error): void {
    if (this.#isStopped) return;
    this.#backoff.failures += 1;
    if (this.#backoff.failures > this.#maxFailures) this.#end(reason);
    else {
      this.hasRetried = true;
      this.openLater(reason);
    }
  }

  #end(reason: Error): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#events.ended(reason);
  }
}

/** Exponential back-off between attempts to reach a server. The server's own wishes are the minimum. */
export class Backoff {
  readonly #requests: HttpRequests;
  /** Failed attempts in a row. */
  failures: number;
  /** The pause that the server's stream asked for. */
  retryMs: number | undefined;
  #stop: (() => void) | undefined;

  constructor(requests: HttpRequests, failures = 0, retryMs?: number) {
    this.#requests = requests;
    this.failures = failures;
    this.retryMs = retryMs;
  }

  get isWaiting(): boolean {
    return this.#stop !== undefined;
  }

  /** Calls after the next pause, which is at least the `Retry-After` of the last failure. */
  wait(reason: Error | undefined, call: () => void): void {
    const { clock, sender } = this.#requests;
    const base = Math.max(this.retryMs ?? firstRetryMs, minRetryMs);
    const grown = Math.max(base, Math.min(base * retryGrowth ** this.failures, maxRetryMs));
    const asked = reason instanceof HttpFailure ? (reason.retryAfterMs ?? 0) : 0;
    // Jitter: clients that lost their server at the same time do not come back at the same time.
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
