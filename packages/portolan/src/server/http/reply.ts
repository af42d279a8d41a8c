import {
  type ErrorObject,
  isRequest,
  type Message,
  type RequestId,
  type RpcError,
  type RpcNotification,
  type RpcRequest,
  rpcCodes,
  serialize,
} from "../../jsonrpc/message.ts";
import { type LimitData, protocolCodes } from "../../protocol/errors.ts";
import type { HttpHeaders, HttpReply } from "./adapter.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import { reconnectMs, retryAfterSeconds, uncountedBytes } from "./limits.ts";
import type { Expiry, OpenStream } from "./streams.ts";

/** Takes the messages of a stream. */
export interface MessageSink {
  write(text: string): void;
  /** Ends the stream, after a last message if there is one. */
  end(text?: string): void;
  /** Closes the connection, but not the stream, if the client reconnects by itself. */
  hangUp?(): void;
}

/**
 * The answer to one POST: a JSON body, or an event stream if messages have to be sent before the response. Messages of one
 * turn are buffered until its end: if the response is there by then, everything is sent in one piece.
 */
export class PostReply {
  readonly #context: HttpContext;
  readonly #state: EndpointState;
  readonly #record: ((stream: OpenStream) => MessageSink) | undefined;
  /** Messages of this turn. Defined while a place for a stream is reserved. */
  #buffered: string[] | undefined;
  #bufferedLength = 0;
  #stream: OpenStream | undefined;
  #sink: MessageSink | undefined;
  /** True once a place for a stream is reserved: messages are buffered, then sent. */
  #isStreaming = false;
  #isOver = false;
  /** True if the call was not answered in the turn in which it came. */
  #isPending = false;
  /** Ends an answer that stays open when its principal expires. */
  expiry: Expiry | undefined;
  #quietTimer: ReturnType<typeof setTimeout> | undefined;

  /** @param record returns the sink of a stream that can be resumed */
  constructor(context: HttpContext, state: EndpointState, record?: (stream: OpenStream) => MessageSink) {
    this.#context = context;
    this.#state = state;
    this.#record = record;
  }

  /** True if a message can be sent before the response. */
  get mayStream(): boolean {
    const { accepts, caller } = this.#context;
    return accepts.events && (this.#isStreaming || caller.exhausts("streams") === undefined);
  }

  /** True if the client waits for the response on this connection. */
  get isConnected(): boolean {
    return !this.#isOver && !this.#context.reply.isGone && this.#stream?.isClosed !== true;
  }

  /** Keeps a pending answer open: sends buffered messages after this turn, and begins a stream after `quietMs` of silence. */
  keepOpen(quietMs: number): void {
    this.#isPending = true;
    if (this.#buffered) this.#state.afterTurn(() => this.#flush());
    if (!this.#context.accepts.events || this.#isOver || this.#isStreaming) return;
    this.#quietTimer = setTimeout(() => {
      if (this.#reserve()) this.#flush();
    }, quietMs);
    if (typeof this.#quietTimer === "object") this.#quietTimer.unref?.();
  }

  /** Sends a message before the response. Dropped if the client accepts no stream. */
  send(message: RpcNotification | RpcRequest): void {
    if (this.#isOver || !(this.#isStreaming || this.#reserve())) return;
    const text = serialize(message);
    if (this.#buffered) this.#buffer(this.#buffered, text);
    else if (this.#stream && this.#mayPass(this.#stream, message.method, text)) this.#sink?.write(text);
  }

  /** Sends the response and ends the answer. */
  finish(text: string, error?: RpcError, statusOfError: (error: RpcError) => number = statusOf): void {
    if (this.#isOver) return;
    this.#end();
    const { reply, accepts } = this.#context;
    const status = error ? statusOfError(error) : 200;
    const headers = error ? headersOf(error, this.#context.headers) : this.#context.headers;
    this.#stream?.sendDeferred();
    const size = text.length + this.#bufferedLength;
    const refusal = size > uncountedBytes && !this.#sink ? this.#countUnread(size) : undefined;
    if (refusal) answerError(reply, refusal, headers);
    else if (this.#sink) this.#sink.end(text);
    else if (!this.#buffered && accepts.json)
      reply.send(status, { ...headers, "content-type": "application/json" }, text);
    else {
      let events = "";
      for (const message of this.#buffered ?? []) events += eventOf(message);
      reply.send(status, { ...headers, ...wholeStreamHeaders }, events + eventOf(text));
    }
  }

  /** Counts a large response until the client has taken it. Returns the error that is sent instead if there is no room. */
  #countUnread(characters: number): RpcError | undefined {
    const { reply, caller } = this.#context;
    if (reply.isGone) return undefined;
    const full = caller.take("keptBytes", characters);
    if (full) return caller.beyond("keptBytes", full, "the response is not sent");
    let unread = characters;
    reply.onSent(() => {
      caller.release("keptBytes", unread);
      unread = 0;
    });
    return undefined;
  }

  /** Closes the connection if the client reconnects by itself. */
  hangUp(): void {
    if (this.#isOver || !(this.#isStreaming || this.#reserve())) return;
    this.#flush();
    this.#sink?.hangUp?.();
  }

  /** Ends the answer without a response, because the call was cancelled. */
  drop(): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#sink) this.#sink.end();
    else this.#context.reply.send(202, this.#context.headers);
  }

  /** Opens the stream at the end of the turn. */
  #flush(): void {
    if (this.#buffered && !this.#isOver) this.#open(this.#buffered);
  }

  /** Reserves a place for a stream. Returns false if there can be none. */
  #reserve(): boolean {
    const { accepts, caller } = this.#context;
    if (!accepts.events || !this.#state.streams.reserveForCall(caller)) return false;
    clearTimeout(this.#quietTimer);
    this.#buffered = [];
    this.#isStreaming = true;
    if (this.#isPending) this.#state.afterTurn(() => this.#flush());
    return true;
  }

  #buffer(buffered: string[], text: string): void {
    buffered.push(text);
    this.#bufferedLength += text.length;
    if (this.#bufferedLength > this.#state.streams.maxBuffered) this.#open(buffered);
  }

  #open(buffered: readonly string[]): void {
    const { reply, headers, caller } = this.#context;
    this.#buffered = undefined;
    const stream = this.#state.streams.openReserved(reply, headers, caller);
    stream.expiry = this.expiry;
    this.#stream = stream;
    this.#sink = this.#record ? this.#record(stream) : plainSink(stream);
    for (const text of buffered) this.#sink.write(text);
  }

  /** Returns whether a message is sent now: a slow client gets only the latest progress, a very slow one no logs. */
  #mayPass(stream: OpenStream, method: string, text: string): boolean {
    if (method === "notifications/progress") {
      stream.deferred = stream.isSlow ? () => this.#sink?.write(text) : undefined;
      return !stream.deferred;
    }
    if (method === "notifications/message" && stream.isVerySlow) return false;
    stream.sendDeferred();
    return true;
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#quietTimer);
    if (this.#buffered) this.#context.caller.release("streams");
  }
}

/** Returns a sink whose messages have no ids: the stream cannot be resumed. */
export function plainSink(stream: OpenStream): MessageSink {
  return {
    write: (text) => stream.write(eventOf(text)),
    end(text) {
      if (text !== undefined) stream.write(eventOf(text));
      stream.end();
    },
  };
}

/** The headers of events that are sent in one piece. */
export const wholeStreamHeaders: HttpHeaders = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

/** The headers of an event stream: proxies must not cache, change or buffer it. */
export const streamHeaders: HttpHeaders = { ...wholeStreamHeaders, "cache-control": "no-cache, no-transform" };

/** Returns a message as an event. One line of data is enough, because JSON text has no line breaks. */
export function eventOf(text: string, id?: string): string {
  const event = `event: message\ndata: ${text}\n\n`;
  return id === undefined ? event : `id: ${id}\n${event}`;
}

/** Returns the first event of a resumable stream: its id lets a client reconnect before it has received a message. */
export function openingEvent(stream: string): string {
  return `id: ${stream}_\nretry: ${reconnectMs}\ndata: \n\n`;
}

const badRequestCodes: readonly number[] = [
  protocolCodes.headerMismatch,
  protocolCodes.missingCapability,
  protocolCodes.unsupportedVersion,
];

/**
 * Returns the HTTP status of an error: 400 for a bad request, 404 for an unknown method, 429 or 503 beyond a limit, 200 for
 * errors of a handler.
 */
export function statusOf({ stage, code, data }: RpcError): number {
  if (stage === "envelope") return 400;
  if (stage === "handler") return 200;
  if (code === protocolCodes.limitExceeded) return (data as LimitData | undefined)?.limit === "process" ? 503 : 429;
  if (code === rpcCodes.methodNotFound) return 404;
  return badRequestCodes.includes(code) ? 400 : 200;
}

/** Returns the headers of an error response; beyond a limit they say when to retry. */
function headersOf({ code, data }: RpcError, headers: HttpHeaders): HttpHeaders {
  if (code !== protocolCodes.limitExceeded) return headers;
  // A handler may throw an error with this code and any data.
  const seconds: unknown = (data as LimitData | undefined)?.retryAfterSeconds;
  return { ...headers, "retry-after": String(typeof seconds === "number" ? seconds : retryAfterSeconds) };
}

/** Answers with an error and its HTTP status. */
export function answerError(reply: HttpReply, error: RpcError, headers: HttpHeaders, id?: RequestId): void {
  sendError(reply, statusOf(error), error.toErrorObject(), id, headersOf(error, headers));
}

/** Returns the id of a single request, under which an error for the whole body is sent. */
export function idOf(messages: Message | Message[]): RequestId | undefined {
  return !Array.isArray(messages) && isRequest(messages) ? messages.id : undefined;
}

/** Refuses a request with a status and an "invalid request" error. */
export function refuse(reply: HttpReply, status: number, why: string, headers?: HttpHeaders, id?: RequestId): void {
  sendError(reply, status, { code: rpcCodes.invalidRequest, message: why }, id, headers);
}

/** Answers with a JSON-RPC error, under the id of the request if it is known. */
export function sendError(
  reply: HttpReply,
  status: number,
  error: ErrorObject,
  id?: RequestId,
  headers: HttpHeaders = {},
): void {
  const body = JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });
  reply.send(status, { ...headers, "content-type": "application/json" }, body);
}
