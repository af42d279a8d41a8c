import { PortolanError } from "../../errors.ts";
import type { Channel, Incoming, Sendable } from "../../jsonrpc/channel.ts";
import {
  checkMessage,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import { channelLink, type Link, type LinkEvents, type ResponseSink } from "../channel-link.ts";
import { isPassing, toError } from "../failures.ts";
import { addressOf, HttpFailure, refused, unusable } from "./failure.ts";
import type { Head } from "./options.ts";
import { HttpResponseReader, type ReplyEvents, sendOneWay } from "./reply.ts";
import { type HttpRequests, isCancellation, parseJson } from "./requests.ts";
import type { Sending } from "./send.ts";
import { Backoff } from "./session.ts";

const postHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** The two endpoints of HTTP+SSE as a channel: one stream in, and a POST for every message out. */
export class SseChannel implements Channel, ReplyEvents {
  readonly #traffic: HttpRequests;
  readonly #request: Sending;
  readonly #reply: HttpResponseReader;
  #endpoint: URL | undefined;
  #connected: (() => void) | undefined;
  #refused: ((reason: Error) => void) | undefined;
  #incoming: Incoming | undefined;
  /** What came with the endpoint, before the channel was opened. */
  #early: string[] = [];
  /** Pending while a notification is on its way: what follows it must not overtake it. */
  #told: Promise<void> | undefined;
  /** How to give up requests that are on their way, by their ids. */
  readonly #posting = new Map<unknown, () => void>();
  #isOver = false;

  constructor(traffic: HttpRequests) {
    this.#traffic = traffic;
    const headers = { Accept: "text/event-stream" };
    this.#request = { method: "GET", url: traffic.url, headers, body: undefined, mayRepeat: () => true };
    this.#reply = new HttpResponseReader(traffic, this.#request, this);
  }

  /** How long the server wants the client to wait before it connects again. */
  get retryMs(): number | undefined {
    return this.#reply.retryMs;
  }

  /** Opens the stream; resolves when the server has said where messages go. */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#connected = resolve;
      this.#refused = reject;
      this.#reply.send();
    });
  }

  open(incoming: Incoming): void {
    this.#incoming = incoming;
    for (const data of this.#early.splice(0)) queueMicrotask(() => this.#receive(data));
  }

  send(message: Sendable): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const body = serialize(message);
    if (isCancellation(message)) this.#giveUp((message as RpcNotification).params?.["requestId"]);
    const sent = this.#told ? this.#told.then(() => this.#post(message, body)) : this.#post(message, body);
    if ("method" in message && !("id" in message)) {
      const told = sent
        .catch(() => {})
        .then(() => {
          if (this.#told === told) this.#told = undefined;
        });
      this.#told = told;
    }
    return sent;
  }

  async close(): Promise<void> {
    this.#reply.cancel();
    this.#end(undefined);
  }

  /** Ends the stream because it took too long. */
  expire(ms: number): void {
    this.#reply.cancel();
    this.#end(new HttpFailure("connection-closed", this.#request, `failed: no handshake within ${ms} ms`));
  }

  body(head: Head, text: string): void {
    const isFine = head.status < 300;
    this.#end(isFine ? unusable(this.#request, head, "no event stream") : refused(this.#request, head, text));
  }

  event({ event, data }: IncomingEvent): void {
    if (event === "endpoint") this.#settle(data);
    else if (event !== "message" || data === "") return;
    else if (this.#incoming) this.#receive(data);
    else this.#early.push(data);
  }

  over(reason: Error | undefined): void {
    this.#end(reason ?? new HttpFailure("connection-closed", this.#request, "ended its stream"));
  }

  failed(reason: Error): void {
    this.#end(reason);
  }

  /** Credentials go to the origin they are for and to no other. */
  #settle(data: string): void {
    if (this.#endpoint) return;
    const url = this.#traffic.sender.placeOf(this.#traffic.url);
    const endpoint = URL.canParse(data, url.href) ? new URL(data, url) : undefined;
    if (endpoint?.origin === url.origin) {
      this.#endpoint = endpoint;
      this.#connected?.();
      return;
    }
    this.#reply.cancel();
    const where = endpoint ? addressOf(endpoint) : "what is no address";
    this.#end(new HttpFailure("answer-invalid", this.#request, `names ${where} for messages, which is not its own`));
  }

  #post(message: Sendable, body: string): Promise<void> {
    const url = this.#endpoint;
    if (!url) throw new Error("a channel is connected before it is opened");
    const id = "method" in message && "id" in message ? message.id : undefined;
    const request = { method: "POST", url, headers: postHeaders, body, isFarewell: isCancellation(message) } as const;
    return new Promise((resolve, reject) => {
      const giveUp = sendOneWay(this.#traffic, request, (failure) => {
        this.#posting.delete(id);
        if (failure) reject(failure);
        else resolve();
      });
      if (id !== undefined) this.#posting.set(id, giveUp);
    });
  }

  /** A request that is cancelled may wait for a login, which then nobody needs. */
  #giveUp(id: unknown): void {
    this.#posting.get(id)?.();
    this.#posting.delete(id);
  }

  #receive(data: string): void {
    if (this.#isOver) return;
    const value = parseJson(data);
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) {
      const problem = one === undefined ? undefined : checkMessage(one);
      if (one === undefined) this.#traffic.odd("an event whose data is not JSON");
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

/** How long the server may take to open another stream and to answer the handshake on it. */
const attemptMs = 30_000;

/** A request that waits for a stream. */
interface Held {
  readonly request: RpcRequest;
  readonly sink: ResponseSink;
}

/**
 * HTTP+SSE as a link. The server knows a client by its stream: when that is lost, what waits fails at once, and the
 * client introduces itself anew on another.
 */
export class SseLink {
  readonly #traffic: HttpRequests;
  readonly #lost: (reason: Error) => void;
  readonly #backoff: Backoff;
  #channel: SseChannel;
  readonly #link: Link = channelLink(() => this.#channel);
  readonly #events: LinkEvents;
  #greeting: RpcRequest | undefined;
  #version: unknown;
  #initialized: RpcNotification | undefined;
  /** What is sent when there is a stream again; undefined while there is one. */
  #held: Held[] | undefined;
  /** Why the stream of an attempt is gone already. */
  #lostAgain: Error | undefined;
  #isOpen = false;
  #isClosed = false;

  /** `lost` hears that there is no stream and will be none. */
  constructor(traffic: HttpRequests, lost: (reason: Error) => void) {
    this.#traffic = traffic;
    this.#lost = lost;
    this.#backoff = new Backoff(traffic);
    this.#channel = new SseChannel(traffic);
    const { events } = traffic;
    this.#events = {
      request: (request, answer, during) => {
        const channel = this.#channel;
        // A question of a stream that is gone has nobody who waits, and its id may be another one's by now.
        events.request(request, (response) => channel === this.#channel && answer(response), during);
      },
      notification: (notification) => events.notification(notification),
      odd: (why) => traffic.odd(why),
      lost: (reason) => this.#streamLost(reason),
    };
  }

  /** Whether the server has ever said where messages go. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async open(): Promise<void> {
    await this.#channel.connect();
    await this.#link.open(this.#events);
    this.#isOpen = true;
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    if (request.method === "initialize") {
      this.#greeting = request;
      this.#initialized = undefined;
    }
    if (this.#held) this.#hold({ request, sink });
    else this.#link.exchange(request, request === this.#greeting ? this.#hearGreeting(sink) : sink);
  }

  cancel(id: RequestId, reason: string): void {
    const at = this.#held?.findIndex(({ request }) => request.id === id) ?? -1;
    if (at === -1) this.#link.cancel(id, reason);
    else this.#held?.splice(at, 1);
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
    this.#refuseHeld(new PortolanError("connection-closed", "The connection was closed"));
  }

  #hearGreeting(sink: ResponseSink): ResponseSink {
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
    if (this.#held) this.#lostAgain = reason;
    else if (!this.#initialized) this.#lost(reason);
    else {
      this.#held = [];
      this.#traffic.odd(reason.message);
      this.#renewLater(reason);
    }
  }

  /** Somebody waits: the next attempt is made at once, unless one is under way. */
  #hold(held: Held): void {
    this.#held?.push(held);
    if (!this.#backoff.isWaiting) return;
    this.#backoff.stop();
    this.#renew();
  }

  #renewLater(reason: Error): void {
    this.#backoff.retryMs = this.#channel.retryMs;
    this.#backoff.wait(reason, () => this.#renew());
  }

  async #renew(): Promise<void> {
    const channel = new SseChannel(this.#traffic);
    this.#channel = channel;
    this.#lostAgain = undefined;
    let stopTimer = () => {};
    const watch = () => {
      stopTimer = this.#traffic.clock.after(attemptMs, () => {
        // Whoever signs in takes the time that it takes.
        if (this.#traffic.sender.isHeld) watch();
        else channel.expire(attemptMs);
      });
    };
    watch();
    try {
      await channel.connect();
      await this.#link.open(this.#events);
      await this.#greet();
      // The stream may have ended right behind the answer.
      if (this.#lostAgain) throw this.#lostAgain;
    } catch (thrown) {
      await this.#failed(toError(thrown));
      return;
    } finally {
      stopTimer();
    }
    this.#backoff.failures = 0;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const one of held) this.#sendHeld(one);
    this.#traffic.events.renewed?.();
  }

  async #greet(): Promise<void> {
    const greeting = this.#greeting;
    const initialized = this.#initialized;
    if (!greeting || !initialized) throw new Error("a stream is opened again after a handshake");
    const response = await new Promise<RpcResponse>((resolve, failed) => {
      const request = { ...greeting, id: this.#traffic.ownId("initialize") };
      this.#link.exchange(request, { response: resolve, failed });
    });
    if ("error" in response) throw forgotten(`refuses a new one: ${response.error.message}`);
    if (response.result["protocolVersion"] !== this.#version) {
      throw forgotten("offers a new one in another protocol version");
    }
    this.#link.notify(initialized);
  }

  async #failed(reason: Error): Promise<void> {
    await this.#channel.close();
    if (this.#isClosed) return;
    this.#backoff.failures += 1;
    this.#refuseHeld(reason);
    if (reason instanceof HttpFailure && isPassing(reason)) {
      this.#traffic.odd(reason.message);
      this.#renewLater(reason);
    } else this.#lost(reason);
  }

  /** They were never sent, whatever the reason is. */
  #refuseHeld(reason: Error): void {
    const failure = new PortolanError("connection-closed", reason.message, { cause: reason });
    for (const { sink } of this.#held?.splice(0) ?? []) sink.failed(Object.assign(failure, { neverRan: true }));
  }

  #sendHeld({ request, sink }: Held): void {
    try {
      this.#link.exchange(request, sink);
    } catch (reason) {
      sink.failed(toError(reason));
    }
  }
}

function forgotten(what: string): PortolanError {
  return new PortolanError("connection-closed", `The server has forgotten the session and ${what}`);
}
