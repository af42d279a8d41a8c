import { PortolanError } from "../../errors.ts";
import type { Channel, Incoming, Sendable } from "../../jsonrpc/channel.ts";
import { checkMessage, type Message, type RpcNotification, serialize } from "../../jsonrpc/message.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import { addressOf, HttpFailure, refused, unusable } from "./failure.ts";
import { sendOneWay } from "./one-way.ts";
import { Reply, type ReplyEvents } from "./reply.ts";
import { isCancellation, parseJson, type Traffic } from "./requests.ts";
import type { Sending } from "./send.ts";
import type { Head } from "./transport.ts";

const postHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** The two endpoints of HTTP+SSE as a channel: one stream in, and a POST for every message out. */
export class SseChannel implements Channel, ReplyEvents {
  readonly #traffic: Traffic;
  readonly #request: Sending;
  readonly #reply: Reply;
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

  constructor(traffic: Traffic) {
    this.#traffic = traffic;
    const headers = { Accept: "text/event-stream" };
    this.#request = { method: "GET", url: traffic.url, headers, body: undefined, mayRepeat: () => true };
    this.#reply = new Reply(traffic, this.#request, this);
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
