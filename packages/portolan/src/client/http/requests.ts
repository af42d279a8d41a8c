import { encodeHeaderValue, headerNames, nameMemberOf } from "../../http/headers.ts";
import type { IncomingEvent } from "../../http/sse.ts";
import {
  checkMessage,
  IdTable,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import type { Revision } from "../../protocol/revision.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { revisions, statelessRevisions } from "../../protocol/revisions/index.ts";
import type { LinkEvents } from "../channel-link.ts";
import type { Clock } from "../deadlines.ts";
import { lingerMs, maxKnownMethods } from "./limits.ts";
import type { HttpHeaders } from "./options.ts";
import type { HttpResponseReader, ReadingLimits, ReadingRules } from "./reply.ts";
import { sendOneWay } from "./reply.ts";
import type { HttpSender, LinkRequest } from "./send.ts";
import type { ToolHeaders } from "./tool-headers.ts";

const json = "application/json";
const either = "application/json, text/event-stream";
const messageHeaders: HttpHeaders = { "Content-Type": json, Accept: either };

/** A request that waits for its response. */
export interface PendingExchange {
  readonly request: RpcRequest;
  respond(response: RpcResponse): void;
  fail(reason: Error): void;
  /** Its response is not a valid message. */
  unreadable(why: string): void;
}

/** The session id and protocol version that all messages of a session carry. */
export interface SessionIdentity {
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
  /** The headers that tell them. */
  readonly headers: HttpHeaders;
}

export const noIdentity: SessionIdentity = { sessionId: undefined, version: undefined, headers: {} };

/** The shared state of an open link: address, headers, limits, and the pending requests. */
export class HttpRequests implements ReadingRules {
  readonly url: URL;
  readonly sender: HttpSender;
  readonly events: LinkEvents;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
  readonly maxEventChars: number;
  readonly idleStreamMs: number;
  keepsAlive = false;
  identity: SessionIdentity = noIdentity;
  /** Sends the answer to a request that the server sent in this session. */
  answer: ((response: RpcResponse, sessionId: string | undefined) => void) | undefined;
  /** Defined once a list of tools has passed by. */
  tools: ToolHeaders | undefined;
  /** By the id of their requests. */
  readonly pending: IdTable<PendingExchange> = new IdTable();
  isClosed = false;
  /** The version of the last stateless request. Notifications do not name theirs, so they use it too. */
  #ownVersion: string | undefined;
  #versionText = "";
  #revision: Revision | undefined;
  /** Header facts of each method in this version. */
  readonly #methodHeaders = new Map<string, { readonly nameIn: string | undefined; readonly text: string }>();
  /** Counts requests that the client does not know of, for their ids. */
  ownIds = 0;
  readonly #lingering = new Set<HttpResponseReader>();
  #isSweepScheduled = false;

  constructor(url: URL, sender: HttpSender, events: LinkEvents, clock: Clock, limits: ReadingLimits) {
    this.url = url;
    this.sender = sender;
    this.events = events;
    this.clock = clock;
    this.maxResponseBytes = limits.maxResponseBytes;
    this.maxEventChars = limits.maxEventChars;
    this.idleStreamMs = limits.idleStreamMs;
  }

  /** Returns the POST of a message, with the headers that follow from it. */
  toPost(message: Message, body: string): LinkRequest {
    const headers = "method" in message ? this.#headersFor(message) : this.#statefulHeaders();
    const mayRepeat = () => isRepeatable(message);
    return { method: "POST", url: this.url, headers, body, mayRepeat, skipAuth: isCancellation(message) };
  }

  /** Sends a notification or a response. Throws a PortolanError "unserializable" before anything is sent. */
  post(message: RpcNotification | RpcResponse, done: (failure: Error | undefined) => void): void {
    sendOneWay(this, this.toPost(message, serialize(message)), done);
  }

  /** Handles the messages of a body or an event, in order. `during` is the request whose response carried them. */
  receive(value: unknown, during?: PendingExchange): void {
    if (Array.isArray(value)) for (const one of value) this.#receiveOne(one, during);
    else this.#receiveOne(value, during);
  }

  /** Handles one event. An event without data only sets the last id; other kinds are not of this protocol. */
  receiveEvent({ event, data }: IncomingEvent, during?: PendingExchange): void {
    if (data === "" || event !== "message") return;
    const value = this.parse(data);
    if (value === undefined) this.invalid("an event whose data is not JSON");
    else this.receive(value, during);
  }

  /** Returns undefined for text that is not JSON. */
  parse(text: string): unknown {
    let value: unknown;
    try {
      value = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    } catch {
      // The value stays undefined.
    }
    this.events.tap?.received(text, value);
    return value;
  }

  invalid(why: string): void {
    if (!this.isClosed) this.events.invalid(why);
  }

  /** Ends a stream some time after its response, unless the server ends it before. */
  linger(reply: HttpResponseReader): void {
    this.#lingering.add(reply);
    if (!this.#isSweepScheduled) this.#sweepLater(new Set());
  }

  lingered(reply: HttpResponseReader): void {
    this.#lingering.delete(reply);
  }

  /** Ends lingering streams, which belong to no exchange any more. */
  close(): void {
    this.isClosed = true;
    for (const reply of this.#lingering) reply.cancel();
    this.#lingering.clear();
  }

  #receiveOne(value: unknown, during: PendingExchange | undefined): void {
    if (this.isClosed) return;
    const problem = checkMessage(value);
    if (problem) {
      const waiting = problem.answerable || problem.id === undefined ? undefined : this.pending.get(problem.id);
      if (waiting) waiting.unreadable(problem.why);
      else this.invalid(problem.why);
      return;
    }
    const message = value as Message;
    if (!("method" in message)) this.#respond(message, during);
    else if (!("id" in message)) this.events.notification(message);
    else {
      const { sessionId } = this.identity;
      this.events.request(message, (response) => this.answer?.(response, sessionId), during?.request.id);
    }
  }

  #respond(response: RpcResponse, during: PendingExchange | undefined): void {
    const { id } = response;
    // An error without an id is about the request that it answers.
    const isOwn = during && (id === during.request.id || id === undefined || id === null);
    const waiting = isOwn ? during : this.pending.get(id as RequestId);
    if (waiting) waiting.respond(response);
    else if ("error" in response && (id === undefined || id === null)) {
      this.invalid(`an error without a request id: ${response.error.message}`);
    }
  }

  // Hot path: the headers of a method are computed once.
  #headersFor(message: RpcRequest | RpcNotification): HttpHeaders {
    const { method, params } = message;
    const version = versionOf(params) ?? ("id" in message ? undefined : this.#ownVersion);
    if (version !== this.#ownVersion) this.#describeWith(version);
    if (version === undefined) return method === "initialize" ? messageHeaders : this.#statefulHeaders();
    let known = this.#methodHeaders.get(method);
    if (!known) {
      known = { nameIn: nameMemberOf(method, this.#revision?.requests.get(method)), text: encodeHeaderValue(method) };
      if (this.#methodHeaders.size < maxKnownMethods) this.#methodHeaders.set(method, known);
    }
    const headers: { [name: string]: string } = {
      "Content-Type": json,
      Accept: either,
      [headerNames.version]: this.#versionText,
      [headerNames.method]: known.text,
    };
    const name = known.nameIn === undefined ? undefined : params?.[known.nameIn];
    if (typeof name === "string") headers[headerNames.name] = encodeHeaderValue(name);
    const repeated = method === "tools/call" ? this.tools?.headersFor(params) : undefined;
    return repeated ? { ...headers, ...repeated } : headers;
  }

  #describeWith(version: string | undefined): void {
    this.#ownVersion = version;
    this.#versionText = encodeHeaderValue(version ?? "");
    this.#revision = statelessRevisions.find((revision) => revision.version === version);
    this.#methodHeaders.clear();
  }

  #statefulHeaders(): HttpHeaders {
    return { ...messageHeaders, ...this.identity.headers };
  }

  // One timer for all streams: a stream that was seen at the last sweep has lingered long enough.
  #sweepLater(seen: ReadonlySet<HttpResponseReader>): void {
    this.#isSweepScheduled = true;
    this.clock.after(lingerMs, () => {
      for (const reply of seen) if (this.#lingering.delete(reply)) reply.cancel();
      if (this.#lingering.size > 0) this.#sweepLater(new Set(this.#lingering));
      else this.#isSweepScheduled = false;
    });
  }
}

/** Returns the version that a stateless request names; undefined for a request of a session. */
export function versionOf(params: RpcRequest["params"]): string | undefined {
  const version = metaOf(params)?.[metaKeys.protocolVersion];
  return typeof version === "string" ? version : undefined;
}

/** Recognizes a JSON-RPC message or batch by its envelope, even if it is invalid otherwise. */
export function isMessage(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 && value.every(hasEnvelope) : hasEnvelope(value);
}

function hasEnvelope(value: unknown): boolean {
  return typeof value === "object" && value !== null && "jsonrpc" in value;
}

/** Recognizes the notification that cancels a request. */
export function isCancellation(message: object): boolean {
  return "method" in message && message.method === "notifications/cancelled";
}

/** Tells if a message may be sent twice. A tool may have effects, and so may methods of extensions. */
export function isRepeatable(message: object): boolean {
  if (!("id" in message && "method" in message)) return true;
  const { method } = message;
  return method !== "tools/call" && revisions.some(({ requests }) => requests.has(method as string));
}
