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
import { protocolCodes } from "../../protocol/errors.ts";
import type { HttpHeaders, HttpReply } from "./adapter.ts";
import type { HttpContext } from "./endpoint.ts";
import type { Expiry, OpenStream, Streams } from "./streams.ts";

/** Where the messages of a stream go. */
export interface Outlet {
  write(text: string): void;
  /** Ends the stream, after a last message if there is one. */
  end(text?: string): void;
  /** Ends the connection, not the stream, if the client comes back to it. */
  hangUp?(): void;
}

/**
 * The answer to one POST: JSON, unless something has to be said before it. What is said in one turn waits for its end: an
 * answer that is whole by then goes out at once, and only one that is not becomes a stream.
 */
export class PostReply {
  readonly #context: HttpContext;
  readonly #streams: Streams;
  readonly #record: ((stream: OpenStream) => Outlet) | undefined;
  /** What waits for the end of the turn. */
  #held: string[] | undefined;
  #heldLength = 0;
  #stream: OpenStream | undefined;
  #outlet: Outlet | undefined;
  #isOver = false;
  /** Whether the call has not been answered in the turn it came in. */
  #goesOn = false;
  /** For answers that are never finished. */
  expiry: Expiry | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;

  /** @param record gives the outlet of a stream that can be resumed */
  constructor(context: HttpContext, streams: Streams, record?: (stream: OpenStream) => Outlet) {
    this.#context = context;
    this.#streams = streams;
    this.#record = record;
  }

  /** Whether something can be said before the answer. */
  get maySpeak(): boolean {
    const { accepts, principal } = this.#context;
    return accepts.events && (this.#isSpeaking || this.#streams.hasRoom(principal.key));
  }

  /** The call takes longer: what it says goes out, and if it is silent for so long, a stream begins that can be kept alive. */
  goesOn(quietMs: number): void {
    this.#goesOn = true;
    if (this.#held) this.#streams.afterTurn(() => this.#goOn());
    if (!this.#context.accepts.events || this.#isOver || this.#isSpeaking) return;
    this.#quiet = setTimeout(() => {
      if (this.#begin()) this.#goOn();
    }, quietMs);
    if (typeof this.#quiet === "object") this.#quiet.unref?.();
  }

  /** Says something before the answer; not to clients that take no stream. */
  say(message: RpcNotification | RpcRequest): void {
    if (this.#isOver || !(this.#isSpeaking || this.#begin())) return;
    const text = serialize(message);
    if (this.#held) this.#hold(this.#held, text);
    else if (this.#stream && this.#mayPass(this.#stream, message.method, text)) this.#outlet?.write(text);
  }

  /** Sends the answer and ends. */
  finish(text: string, status: number): void {
    if (this.#isOver) return;
    this.#end();
    const { reply, headers, accepts } = this.#context;
    this.#stream?.catchUp();
    if (this.#outlet) this.#outlet.end(text);
    else if (!this.#held && accepts.json) reply.send(status, { ...headers, "content-type": "application/json" }, text);
    else {
      let events = "";
      for (const said of this.#held ?? []) events += eventOf(said);
      reply.send(status, { ...headers, ...wholeStreamHeaders }, events + eventOf(text));
    }
  }

  /** Ends the connection, if the client knows that it may come back. */
  hangUp(): void {
    if (this.#isOver || !(this.#isSpeaking || this.#begin())) return;
    this.#goOn();
    this.#outlet?.hangUp?.();
  }

  /** Nobody wants an answer any more: the connection is ended without one. */
  drop(): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#outlet) this.#outlet.end();
    else this.#context.reply.send(202, this.#context.headers);
  }

  /** The turn is over. */
  #goOn(): void {
    if (this.#held && !this.#isOver) this.#open(this.#held);
  }

  get #isSpeaking(): boolean {
    return this.#held !== undefined || this.#outlet !== undefined;
  }

  /** Whether there can be a stream. */
  #begin(): boolean {
    const { accepts, principal } = this.#context;
    if (!accepts.events || !this.#streams.hold(principal.key)) return false;
    clearTimeout(this.#quiet);
    this.#held = [];
    if (this.#goesOn) this.#streams.afterTurn(() => this.#goOn());
    return true;
  }

  #hold(held: string[], text: string): void {
    held.push(text);
    this.#heldLength += text.length;
    if (this.#heldLength > this.#streams.maxHeld) this.#open(held);
  }

  #open(held: readonly string[]): void {
    const { reply, headers, principal } = this.#context;
    this.#held = undefined;
    const stream = this.#streams.openHeld(reply, headers, principal.key);
    stream.expiry = this.expiry;
    this.#stream = stream;
    this.#outlet = this.#record ? this.#record(stream) : plainOutlet(stream);
    for (const text of held) this.#outlet.write(text);
  }

  /** Whether a message goes out now; a client that reads slowly is spared what it can do without. */
  #mayPass(stream: OpenStream, method: string, text: string): boolean {
    if (method === "notifications/progress") {
      // Of progress only the latest counts.
      stream.whenCalm = stream.isSlow ? () => this.#outlet?.write(text) : undefined;
      return !stream.whenCalm;
    }
    if (method === "notifications/message" && stream.isVerySlow) return false;
    stream.catchUp();
    return true;
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
    if (this.#held) this.#streams.letGo();
  }
}

function plainOutlet(stream: OpenStream): Outlet {
  return {
    write: (text) => stream.write(eventOf(text)),
    end(text) {
      if (text !== undefined) stream.write(eventOf(text));
      stream.end();
    },
  };
}

const retryMs = 1_000;

/** What events that are sent as one piece say about themselves. */
export const wholeStreamHeaders: HttpHeaders = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

/** What every event stream says about itself: nobody on the way may keep, change or hold back its events. */
export const streamHeaders: HttpHeaders = { ...wholeStreamHeaders, "cache-control": "no-cache, no-transform" };

/** One message as an event; JSON text has no raw line ends, so that one line of data is enough. */
export function eventOf(text: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${text}\n\n` : `id: ${id}\nevent: message\ndata: ${text}\n\n`;
}

/** The event before all others: its id is the start of the stream, and a client that loses it comes back after a while. */
export function opening(stream: string): string {
  return `id: ${stream}_\nretry: ${retryMs}\ndata: \n\n`;
}

const badRequestCodes: readonly number[] = Object.values(protocolCodes);

/** The status that says where an error arose: before there was a request, in finding what it asks for, or while serving it. */
export function statusOf({ stage, code }: RpcError): number {
  if (stage === "envelope") return 400;
  if (stage === "handler") return 200;
  if (code === rpcCodes.methodNotFound) return 404;
  return badRequestCodes.includes(code) ? 400 : 200;
}

/** The id under which messages are answered as a whole: that of a single request. */
export function idOf(messages: Message | Message[]): RequestId | undefined {
  return !Array.isArray(messages) && isRequest(messages) ? messages.id : undefined;
}

/** Answers with an error, under the id of the request where it could be read. */
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
