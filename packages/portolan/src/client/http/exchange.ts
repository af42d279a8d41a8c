import { PortolanError } from "../../errors.ts";
import type { RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { serialize } from "../../jsonrpc/message.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import { HandshakeWanted, type ResponseSink } from "../channel-link.ts";
import { HttpFailure, mediaTypeOf, refused, unusable } from "./failure.ts";
import type { Head } from "./options.ts";
import { HttpResponseReader, type ReplyEvents } from "./reply.ts";
import { type HttpRequests, isMessage, parseJson, versionOf, type Waiting } from "./requests.ts";
import type { Sending } from "./send.ts";
import type { GetStream } from "./session.ts";

const maxResumeFailures = 8;
/** A server without the newer era refuses with another status; these speak of the moment, the way or the caller. */
const noEvidence: ReadonlySet<number> = new Set([407, 408, 413, 425, 429, 431]);

/** Errors that only a server of the stateless era gives. */
const statelessCodes: ReadonlySet<unknown> = new Set([-32020, -32021, -32022]);

/** What an exchange leaves to its link. */
export interface ExchangeOwner {
  /** A response came, before anybody hears of it. `true` keeps it back, until `settle` or another answer. */
  answered(exchange: HttpExchange, response: RpcResponse, head: Head): boolean;
  /** The server does not know the session any more; unless it was resumed, the request has not run. */
  sessionLost(exchange: HttpExchange, failure: Error): void;
  /** The handshake was refused as servers of HTTP+SSE refuse it; `answer` is the body, if it was a message after all. */
  handshakeRefused(exchange: HttpExchange, failure: HttpFailure, answer: unknown): void;
}

/** One request, from its POST to its response, on whichever stream that comes. */
export class HttpExchange implements ReplyEvents, Waiting {
  readonly request: RpcRequest;
  /** Whether the request describes itself, and so belongs to no session. */
  readonly isStateless: boolean;
  /** The session that it was sent in. */
  sessionId: string | undefined;
  /** Its stream was gone on with: the server may have done what was asked. */
  wasResumed = false;
  /** It was sent again in a new session. */
  wasMoved = false;
  /** It was sent again with other headers. */
  wasMended = false;
  readonly #traffic: HttpRequests;
  readonly #owner: ExchangeOwner;
  readonly #sink: ResponseSink;
  readonly #text: string;
  #sending: Sending | undefined;
  #reply: HttpResponseReader | undefined;
  #head: Head | undefined;
  #stream: GetStream | undefined;
  #isAnswered = false;
  #isOver = false;

  /** Throws a PortolanError "unserializable" for a request that has no JSON form. */
  constructor(traffic: HttpRequests, owner: ExchangeOwner, request: RpcRequest, sink: ResponseSink) {
    this.#traffic = traffic;
    this.#owner = owner;
    this.request = request;
    this.#sink = sink;
    this.#text = serialize(request);
    this.isStateless = versionOf(request.params) !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isSent(): boolean {
    return this.#reply !== undefined;
  }

  get sink(): ResponseSink {
    return this.#sink;
  }

  /** Sends the request, or sends it again because the server has not taken it the first time. */
  send(): void {
    if (this.#isOver) return;
    this.#isAnswered = false;
    this.sessionId = this.isStateless || this.request.method === "initialize" ? undefined : this.#session;
    this.#sending = this.#traffic.toPost(this.request, this.#text);
    this.#reply = new HttpResponseReader(this.#traffic, this.#sending, this);
    this.#reply.send();
  }

  /** Tells nobody anything from now on. */
  silence(): void {
    this.#isOver = true;
    this.#stream?.stop();
    this.#traffic.waiting.delete(this.request.id);
  }

  /** Closes its connections; a stateless server takes that as its cancellation. */
  disconnect(): void {
    this.silence();
    this.#reply?.cancel();
  }

  begun(head: Head): void {
    this.#head = head;
  }

  event(event: IncomingEvent): void {
    this.#traffic.receiveEvent(event, this);
  }

  body(head: Head, text: string): void {
    if (this.#isOver) return;
    const sending = this.#sending as Sending;
    const value = parseJson(text);
    if (this.sessionId !== undefined && isSessionLost(head.status, value)) {
      this.#owner.sessionLost(this, refused(sending, head, text));
    } else if (this.request.method === "initialize" && !this.isStateless && isOfOlderServer(head.status, value)) {
      this.#owner.handshakeRefused(this, refused(sending, head, text), isMessage(value) ? value : undefined);
    } else if (isMessage(value)) this.receive(value);
    else this.#refuse(head, text, sending);
  }

  /** Takes a body for the answer that it is. */
  receive(value: unknown): void {
    this.#traffic.receive(value, this);
    if (this.#isAnswered || this.#isOver) return;
    this.fail(unusable(this.#sending as Sending, this.#head as Head, "messages of which none is the response"));
  }

  over(reason: Error | undefined): void {
    const reply = this.#reply as HttpResponseReader;
    if (this.#isAnswered) this.#traffic.lingered(reply);
    else if (this.#isOver) return;
    else if (!this.isStateless && reply.lastEventId !== "") this.#resume(reply).catch((reason) => this.fail(reason));
    else {
      const sending = this.#sending as Sending;
      this.fail(reason ?? new HttpFailure("connection-closed", sending, "ended its stream before the response"));
    }
  }

  failed(reason: Error): void {
    const isHidden = this.isStateless && this.#traffic.sender.transport.hidesRefusals;
    this.fail(isHidden && !this.#head ? toHandshake(reason) : reason);
  }

  respond(response: RpcResponse): void {
    if (this.#isOver || this.#isAnswered) return;
    this.#isAnswered = true;
    if (this.#stream) this.#stream.stop();
    else if (this.#reply && !this.#reply.isOver) this.#traffic.linger(this.#reply);
    if (!this.#owner.answered(this, response, this.#head as Head)) this.settle(response);
  }

  /** Hands the response to whoever asked. */
  settle(response: RpcResponse): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#traffic.waiting.delete(this.request.id);
    this.#sink.response(response);
  }

  unreadable(why: string): void {
    this.fail(new PortolanError("answer-invalid", `The server's answer cannot be read: ${why}`));
  }

  fail(reason: Error): void {
    if (this.#isOver) return;
    this.disconnect();
    this.#sink.failed(reason);
  }

  get #session(): string | undefined {
    return this.#traffic.identity.sessionId;
  }

  #refuse(head: Head, text: string, sending: Sending): void {
    const { status } = head;
    if (status < 300) {
      const type = mediaTypeOf(head);
      this.fail(unusable(sending, head, text === "" ? "nothing" : `${type || "text"} that is no JSON-RPC message`));
      return;
    }
    const failure = refused(sending, head, text);
    const isEvidence = this.isStateless && status < 500 && !noEvidence.has(status);
    this.fail(isEvidence ? toHandshake(failure) : failure);
  }

  /** The connection is gone, but not the stream: the server keeps it for whoever names its last event. */
  async #resume({ lastEventId, retryMs }: HttpResponseReader): Promise<void> {
    this.wasResumed = true;
    const { GetStream } = await import("./session.ts");
    if (this.#isOver) return;
    const ended = (reason: Error) => {
      if (reason instanceof HttpFailure && reason.status === 404) this.#owner.sessionLost(this, reason);
      else this.fail(reason);
    };
    const options = { lastEventId, retryMs, maxFailures: maxResumeFailures };
    this.#stream = new GetStream(this.#traffic, { event: (event) => this.event(event), ended }, options);
    this.#stream.openLater();
  }
}

function toHandshake(reason: Error): HandshakeWanted {
  return new HandshakeWanted("http-status", reason.message, { cause: reason });
}

/** Whether a refusal of the handshake may come from a server of HTTP+SSE: it has not read what it refuses. */
function isOfOlderServer(status: number, value: unknown): boolean {
  if (status !== 400 && status !== 404 && status !== 405) return false;
  const { id, error } = (value ?? {}) as { id?: unknown; error?: { code?: unknown } };
  return (id === undefined || id === null) && !statelessCodes.has(error?.code);
}

/** Whether a refusal is about the session: with the status for it, or as servers write that use another one. */
function isSessionLost(status: number, value: unknown): boolean {
  if (status !== 404 && status !== 400) return false;
  const { id, error } = (value ?? {}) as { id?: unknown; error?: { code?: unknown; message?: unknown } };
  if (status === 404) return error?.code !== -32601;
  return (id === undefined || id === null) && /session/i.test(String(error?.message));
}
