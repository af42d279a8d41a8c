import { PortolanError } from "../../errors.ts";
import type { IncomingEvent } from "../../http/sse.ts";
import type { RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { rpcCodes, serialize } from "../../jsonrpc/message.ts";
import { isStatelessCode } from "../../protocol/errors.ts";
import { HandshakeWanted, type ResponseSink } from "../channel-link.ts";
import { HttpFailure, mediaTypeOf, refused, unusable } from "./failure.ts";
import { maxResumeFailures } from "./limits.ts";
import type { Head } from "./options.ts";
import { HttpResponseReader, type ReplyEvents } from "./reply.ts";
import { type HttpRequests, isMessage, type PendingExchange, versionOf } from "./requests.ts";
import type { LinkRequest } from "./send.ts";
import type { GetStream } from "./session.ts";

/** The decisions that an exchange leaves to its link. */
export interface ExchangeOwner {
  /** Inspects a response. `true` holds it back until `settle`, or until the request is sent again. */
  answered(exchange: HttpExchange, response: RpcResponse, head: Head): boolean;
  /** The server has lost the session. The request has not run, unless its stream was resumed. */
  sessionLost(exchange: HttpExchange, failure: Error): void;
  /** The handshake was refused as HTTP+SSE servers refuse it. `answer` is the body if it is a message. */
  handshakeRefused(exchange: HttpExchange, failure: HttpFailure, answer: unknown): void;
}

/** One request from its POST to its response, which may come on another stream. */
export class HttpExchange implements ReplyEvents, PendingExchange {
  readonly request: RpcRequest;
  /** The request describes itself and belongs to no session. */
  readonly isStateless: boolean;
  /** The session in which it was sent. */
  sessionId: string | undefined;
  /** Its stream was resumed, so the request may have run. */
  wasResumed = false;
  /** It was sent again in a new session. */
  wasMoved = false;
  /** It was sent again with other headers. */
  hasFreshHeaders = false;
  readonly #requests: HttpRequests;
  readonly #owner: ExchangeOwner;
  readonly #sink: ResponseSink;
  readonly #text: string;
  #linkRequest: LinkRequest | undefined;
  #reply: HttpResponseReader | undefined;
  #head: Head | undefined;
  #stream: GetStream | undefined;
  #isAnswered = false;
  #isOver = false;

  /** Throws a PortolanError "unserializable" for a request without a JSON form. */
  constructor(requests: HttpRequests, owner: ExchangeOwner, request: RpcRequest, sink: ResponseSink) {
    this.#requests = requests;
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

  /** Sends the request, also again if the server did not accept it before. */
  send(): void {
    if (this.#isOver) return;
    this.#isAnswered = false;
    this.sessionId = this.isStateless || this.request.method === "initialize" ? undefined : this.#session;
    this.#linkRequest = this.#requests.toPost(this.request, this.#text);
    this.#reply = new HttpResponseReader(this.#requests, this.#linkRequest, this);
    this.#reply.send();
  }

  /** Stops all events to the sink. */
  detach(): void {
    this.#isOver = true;
    this.#stream?.stop();
    this.#requests.pending.delete(this.request.id);
  }

  /** Closes its connections, which cancels the request on a stateless server. */
  disconnect(): void {
    this.detach();
    this.#reply?.cancel();
  }

  started(head: Head): void {
    this.#head = head;
  }

  event(event: IncomingEvent): void {
    this.#requests.receiveEvent(event, this);
  }

  body(head: Head, text: string): void {
    if (this.#isOver) return;
    const linkRequest = this.#linkRequest as LinkRequest;
    const value = this.#requests.parse(text);
    if (this.sessionId !== undefined && isSessionLost(head.status, value)) {
      this.#owner.sessionLost(this, refused(linkRequest, head, text));
    } else if (this.request.method === "initialize" && !this.isStateless && mayBeHttpSse(head.status, value)) {
      this.#owner.handshakeRefused(this, refused(linkRequest, head, text), isMessage(value) ? value : undefined);
    } else if (isMessage(value)) this.receive(value);
    else this.#refuse(head, text, linkRequest);
  }

  /** Handles the messages of a body. */
  receive(value: unknown): void {
    this.#requests.receive(value, this);
    if (this.#isAnswered || this.#isOver) return;
    this.fail(
      unusable(this.#linkRequest as LinkRequest, this.#head as Head, "messages, but none of them is the response"),
    );
  }

  ended(reason: Error | undefined): void {
    const reply = this.#reply as HttpResponseReader;
    if (this.#isAnswered) this.#requests.lingered(reply);
    else if (this.#isOver) return;
    else if (!this.isStateless && reply.lastEventId !== "") this.#resume(reply).catch((reason) => this.fail(reason));
    else {
      const linkRequest = this.#linkRequest as LinkRequest;
      this.fail(reason ?? new HttpFailure("connection-closed", linkRequest, "ended its stream before the response"));
    }
  }

  failed(reason: Error): void {
    const isHidden = this.isStateless && this.#requests.sender.transport.hidesRefusals;
    this.fail(isHidden && !this.#head ? toHandshakeWanted(reason) : reason);
  }

  respond(response: RpcResponse): void {
    if (this.#isOver || this.#isAnswered) return;
    this.#isAnswered = true;
    if (this.#stream) this.#stream.stop();
    else if (this.#reply && !this.#reply.isOver) this.#requests.linger(this.#reply);
    if (!this.#owner.answered(this, response, this.#head as Head)) this.settle(response);
  }

  /** Passes the response to the sink. */
  settle(response: RpcResponse): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#requests.pending.delete(this.request.id);
    this.#sink.response(response);
  }

  unreadable(why: string): void {
    this.fail(new PortolanError("answer-invalid", `The server's response is invalid: ${why}`));
  }

  fail(reason: Error): void {
    if (this.#isOver) return;
    this.disconnect();
    this.#sink.failed(reason);
  }

  get #session(): string | undefined {
    return this.#requests.identity.sessionId;
  }

  #refuse(head: Head, text: string, linkRequest: LinkRequest): void {
    const { status } = head;
    if (status < 300) {
      const type = mediaTypeOf(head);
      this.fail(
        unusable(linkRequest, head, text === "" ? "nothing" : `${type || "text"} that is not a JSON-RPC message`),
      );
      return;
    }
    const failure = refused(linkRequest, head, text);
    const isConclusive = this.isStateless && status < 500 && !inconclusiveStatuses.has(status);
    this.fail(isConclusive ? toHandshakeWanted(failure) : failure);
  }

  /** Resumes the stream on a new connection: the server continues after the last event. */
  async #resume({ lastEventId, retryMs }: HttpResponseReader): Promise<void> {
    this.wasResumed = true;
    const { GetStream } = await import("./session.ts");
    if (this.#isOver) return;
    const ended = (reason: Error) => {
      if (reason instanceof HttpFailure && reason.status === 404) this.#owner.sessionLost(this, reason);
      else this.fail(reason);
    };
    const options = { lastEventId, retryMs, maxFailures: maxResumeFailures };
    this.#stream = new GetStream(this.#requests, { event: (event) => this.event(event), ended }, options);
    this.#stream.openLater();
  }
}

function toHandshakeWanted(reason: Error): HandshakeWanted {
  return new HandshakeWanted("http-status", reason.message, { cause: reason });
}

/** Statuses that concern the moment, the network or the caller, and say nothing about the server's era. */
const inconclusiveStatuses: ReadonlySet<number> = new Set([407, 408, 413, 425, 429, 431]);

/** Tells if a refused handshake may come from an HTTP+SSE server, which has not read the request. */
function mayBeHttpSse(status: number, value: unknown): boolean {
  if (status !== 400 && status !== 404 && status !== 405) return false;
  const { id, error } = (value ?? {}) as { id?: unknown; error?: { code?: unknown } };
  return (id === undefined || id === null) && !isStatelessCode(error?.code);
}

/** Tells if a refusal is about the session: by its status, or by its message because some servers send 400. */
function isSessionLost(status: number, value: unknown): boolean {
  if (status !== 404 && status !== 400) return false;
  const { id, error } = (value ?? {}) as { id?: unknown; error?: { code?: unknown; message?: unknown } };
  if (status === 404) return error?.code !== rpcCodes.methodNotFound;
  return (id === undefined || id === null) && /session/i.test(String(error?.message));
}
