import { PortolanError } from "../../errors.ts";
import type { IncomingEvent } from "../../http/sse.ts";
import type { Channel, ChannelEvents, Sendable } from "../../jsonrpc/channel.ts";
import {
  checkMessage,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import { channelLink, type Link, type LinkEvents, type ResponseSink } from "../channel-link.ts";
import { isTransient, toError } from "../failures.ts";
import type { HttpExchange } from "./exchange.ts";
import { addressOf, HttpFailure, refused, unusable } from "./failure.ts";
import { reconnectMs } from "./limits.ts";
import type { Head } from "./options.ts";
import { HttpResponseReader, type ReplyEvents, sendOneWay } from "./reply.ts";
import { type HttpRequests, isCancellation, isRepeatable } from "./requests.ts";
import type { LinkRequest } from "./send.ts";
import { Backoff, isFlood, OpenAnswers, renewalFailed } from "./session.ts";

/** A request that waits for a stream. */
interface QueuedRequest {
  readonly request: RpcRequest;
  readonly sink: ResponseSink;
}

/**
 * HTTP+SSE as a link. The server identifies a client by its stream: when that is lost, pending requests fail, and the
 * link performs the handshake again on a new stream.
 */
export class SseLink {
  readonly #requests: HttpRequests;
  readonly #lost: (reason: Error) => void;
  readonly #backoff: Backoff;
  #channel: SseChannel;
  readonly #link: Link = channelLink(() => this.#channel);
  readonly #events: LinkEvents;
  #initializeRequest: RpcRequest | undefined;
  #version: unknown;
  #initialized: RpcNotification | undefined;
  /** Requests that wait for a new stream; undefined while there is one. */
  #queued: QueuedRequest[] | undefined;
  /** The reason why a new stream was lost during its handshake. */
  #lostDuringRenewal: Error | undefined;
  #isOpen = false;
  #isClosed = false;

  /** `lost` is called when there is no stream and will be none. */
  constructor(requests: HttpRequests, lost: (reason: Error) => void) {
    this.#requests = requests;
    this.#lost = lost;
    this.#backoff = new Backoff(requests);
    this.#channel = new SseChannel(requests);
    const { events } = requests;
    this.#events = {
      request: (request, answer, during) => {
        const channel = this.#channel;
        // Drop answers to questions of an earlier stream: the new one may have reused their ids.
        events.request(request, (response) => channel === this.#channel && answer(response), during);
      },
      notification: (notification) => events.notification(notification),
      invalid: (why) => requests.invalid(why),
      lost: (reason) => this.#streamLost(reason),
    };
  }

  /** True once the server has named its endpoint. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Opens the stream, and sends a handshake that was refused over Streamable HTTP. If there is no HTTP+SSE either, the
   * reason tells both.
   */
  async open(refusal?: { readonly handshake: HttpExchange; readonly failure: HttpFailure }): Promise<void> {
    try {
      await this.#channel.connect();
      await this.#link.open(this.#events);
    } catch (reason) {
      if (!refusal) throw reason;
      const { failure } = refusal;
      const why = `${failure.message}; the server does not support HTTP+SSE either: ${toError(reason).message}`;
      throw new PortolanError("http-status", why, { cause: failure });
    }
    this.#isOpen = true;
    if (!refusal || refusal.handshake.isOver) return;
    const { handshake } = refusal;
    handshake.detach();
    this.exchange(handshake.request, handshake.sink);
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    if (request.method === "initialize") {
      this.#initializeRequest = request;
      this.#initialized = undefined;
    }
    if (this.#queued) this.#enqueue({ request, sink });
    else this.#link.exchange(request, request === this.#initializeRequest ? this.#noteVersion(sink) : sink);
  }

  cancel(id: RequestId, reason: string): void {
    const at = this.#queued?.findIndex(({ request }) => request.id === id) ?? -1;
    if (at === -1) this.#link.cancel(id, reason);
    else this.#queued?.splice(at, 1);
  }

  notify(notification: RpcNotification): void {
    if (notification.method === "notifications/initialized") this.#initialized = notification;
    this.#link.notify(notification);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.stop();
    await this.#link.close();
    await this.#channel.close();
    this.#failQueued(new PortolanError("connection-closed", "The connection was closed"));
  }

  #noteVersion(sink: ResponseSink): ResponseSink {
    return {
      failed: (reason) => sink.failed(reason),
      response: (response) => {
        if ("result" in response) this.#version = response.result["protocolVersion"];
        sink.response(response);
      },
    };
  }

  #streamLost(reason: Error): void {
    if (this.#isClosed) return;
    if (isFlood(reason)) this.#lost(reason);
    else if (this.#queued) this.#lostDuringRenewal = reason;
    else if (!this.#initialized) this.#lost(reason);
    else {
      this.#queued = [];
      this.#requests.invalid(reason.message);
      this.#renewLater(reason);
    }
  }

  /** Queues a request and ends the back-off: the next attempt is made at once. */
  #enqueue(queued: QueuedRequest): void {
    this.#queued?.push(queued);
    if (!this.#backoff.isWaiting) return;
    this.#backoff.stop();
    this.#renew();
  }

  #renewLater(reason: Error): void {
    this.#backoff.retryMs = this.#channel.retryMs;
    this.#backoff.wait(reason, () => this.#renew());
  }

  async #renew(): Promise<void> {
    const channel = new SseChannel(this.#requests);
    this.#channel = channel;
    this.#lostDuringRenewal = undefined;
    let stopTimer = () => {};
    const watch = () => {
      stopTimer = this.#requests.clock.after(reconnectMs, () => {
        // A person who signs in may take longer than a server.
        if (this.#requests.sender.isAwaitingLogin) watch();
        else channel.expire(reconnectMs);
      });
    };
    watch();
    try {
      await channel.connect();
      await this.#link.open(this.#events);
      await this.#initialize();
      // The stream may have ended right after the answer.
      if (this.#lostDuringRenewal) throw this.#lostDuringRenewal;
    } catch (thrown) {
      await this.#failed(toError(thrown));
      return;
    } finally {
      stopTimer();
    }
    this.#backoff.failures = 0;
    const queued = this.#queued ?? [];
    this.#queued = undefined;
    for (const one of queued) this.#sendQueued(one);
    this.#requests.events.renewed?.();
  }

  async #initialize(): Promise<void> {
    const initialize = this.#initializeRequest;
    const initialized = this.#initialized;
    if (!initialize || !initialized) throw new Error("a stream is opened again after a handshake");
    const response = await new Promise<RpcResponse>((resolve, failed) => {
      const request = { ...initialize, id: `portolan-initialize-${++this.#requests.ownIds}` };
      this.#link.exchange(request, { response: resolve, failed });
    });
    if ("error" in response) throw renewalFailed(`refuses a new one: ${response.error.message}`);
    if (response.result["protocolVersion"] !== this.#version) {
      throw renewalFailed("offers a new one in another protocol version");
    }
    this.#link.notify(initialized);
  }

  async #failed(reason: Error): Promise<void> {
    await this.#channel.close();
    if (this.#isClosed) return;
    this.#backoff.failures += 1;
    this.#failQueued(reason);
    if (reason instanceof HttpFailure && isTransient(reason)) {
      this.#requests.invalid(reason.message);
      this.#renewLater(reason);
    } else this.#lost(reason);
  }

  /** Fails the queued requests. They were never sent, whatever the reason is. */
  #failQueued(reason: Error): void {
    const failure = new PortolanError("connection-closed", reason.message, { cause: reason });
    for (const { sink } of this.#queued?.splice(0) ?? []) sink.failed(Object.assign(failure, { neverRan: true }));
  }

  #sendQueued({ request, sink }: QueuedRequest): void {
    try {
      this.#link.exchange(request, sink);
    } catch (reason) {
      sink.failed(toError(reason));
    }
  }
}

const postHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** HTTP+SSE as a channel: messages arrive on one stream, and each message out is a POST. */
class SseChannel implements Channel, ReplyEvents {
  readonly #requests: HttpRequests;
  readonly #request: LinkRequest;
  readonly #reply: HttpResponseReader;
  #endpoint: URL | undefined;
  #connected: (() => void) | undefined;
  #refused: ((reason: Error) => void) | undefined;
  #incoming: ChannelEvents | undefined;
  /** Data that arrived with the endpoint, before the channel was opened. */
  #earlyEvents: string[] = [];
  /** Pending until the last notification is delivered: later messages must not overtake it. */
  #lastNotification: Promise<void> | undefined;
  /** Functions that cancel the POST of a request, by request id. */
  readonly #posting = new Map<unknown, () => void>();
  readonly #openAnswers = new OpenAnswers();
  #isOver = false;

  constructor(requests: HttpRequests) {
    this.#requests = requests;
    const headers = { Accept: "text/event-stream" };
    this.#request = { method: "GET", url: requests.url, headers, body: undefined, mayRepeat: () => true };
    this.#reply = new HttpResponseReader(requests, this.#request, this);
  }

  /** The pause before the next connection that the server asked for. */
  get retryMs(): number | undefined {
    return this.#reply.retryMs;
  }

  /** Opens the stream. Resolves when the server has named the endpoint for messages. */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#connected = resolve;
      this.#refused = reject;
      this.#reply.send();
    });
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
    for (const data of this.#earlyEvents.splice(0)) queueMicrotask(() => this.#receive(data));
  }

  send(message: Sendable): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const body = serialize(message);
    if ("result" in message || "error" in message) return this.#answer(message, body);
    if (isCancellation(message)) this.#cancelPost((message as RpcNotification).params?.["requestId"]);
    const sent = this.#lastNotification
      ? this.#lastNotification.then(() => this.#post(message, body))
      : this.#post(message, body);
    if ("method" in message && !("id" in message)) {
      const notified = sent
        .catch(() => {})
        .then(() => {
          if (this.#lastNotification === notified) this.#lastNotification = undefined;
        });
      this.#lastNotification = notified;
    }
    return sent;
  }

  /** Sends the answer to a request of the server. Ends the stream of a server that does not accept them. */
  #answer(message: Sendable, body: string): Promise<void> | undefined {
    try {
      const done = this.#openAnswers.add(body);
      const sent = this.#lastNotification?.then(() => this.#post(message, body)) ?? this.#post(message, body);
      return sent.finally(done);
    } catch (reason) {
      this.#reply.cancel();
      this.#end(toError(reason));
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.#reply.cancel();
    this.#end(undefined);
  }

  /** Ends the stream, because the handshake took too long. */
  expire(ms: number): void {
    this.#reply.cancel();
    this.#end(new HttpFailure("connection-closed", this.#request, `failed: no handshake within ${ms} ms`));
  }

  body(head: Head, text: string): void {
    const isFine = head.status < 300;
    this.#end(isFine ? unusable(this.#request, head, "no event stream") : refused(this.#request, head, text));
  }

  event({ event, data }: IncomingEvent): void {
    if (event === "endpoint") this.#setEndpoint(data);
    else if (event !== "message" || data === "") return;
    else if (this.#incoming) this.#receive(data);
    else this.#earlyEvents.push(data);
  }

  ended(reason: Error | undefined): void {
    this.#end(reason ?? new HttpFailure("connection-closed", this.#request, "ended its stream"));
  }

  failed(reason: Error): void {
    this.#end(reason);
  }

  /** Accepts endpoints of the same origin only, because messages carry credentials. */
  #setEndpoint(data: string): void {
    if (this.#endpoint) return;
    const url = this.#requests.sender.currentUrlOf(this.#requests.url);
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    if (endpoint?.origin === url.origin) {
      this.#endpoint = endpoint;
      this.#connected?.();
      return;
    }
    this.#reply.cancel();
    const where = endpoint ? `${addressOf(endpoint)}, which has another origin` : "an invalid address";
    this.#end(new HttpFailure("answer-invalid", this.#request, `named as endpoint for messages ${where}`));
  }

  #post(message: Sendable, body: string): Promise<void> {
    const url = this.#endpoint;
    if (!url) throw new Error("a channel is connected before it is opened");
    const id = "method" in message && "id" in message ? message.id : undefined;
    const request = {
      ...({ method: "POST", url, headers: postHeaders, body } as const),
      mayRepeat: () => isRepeatable(message),
      skipAuth: isCancellation(message),
    };
    return new Promise((resolve, reject) => {
      const cancel = sendOneWay(this.#requests, request, (failure) => {
        this.#posting.delete(id);
        if (failure) reject(failure);
        else resolve();
      });
      if (id !== undefined) this.#posting.set(id, cancel);
    });
  }

  /** Cancels the POST of a request, which may wait for a login. */
  #cancelPost(id: unknown): void {
    this.#posting.get(id)?.();
    this.#posting.delete(id);
  }

  #receive(data: string): void {
    if (this.#isOver) return;
    const value = this.#requests.parse(data);
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) {
      const problem = one === undefined ? undefined : checkMessage(one);
      if (one === undefined) this.#requests.invalid("an event whose data is not JSON");
      else if (problem) this.#incoming?.unreadable(problem);
      else this.#incoming?.message(one as Message);
    }
  }

  #end(reason: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#refused?.(reason ?? new PortolanError("connection-closed", "The connection was closed"));
    this.#incoming?.closed(reason);
  }
}
