import { IdTable } from "../../jsonrpc/id-table.ts";
import {
  checkMessage,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import type { Revision } from "../../protocol/revision.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { handshakes, perRequest, revisions } from "../../protocol/revisions/index.ts";
import { encodeHeaderValue, headerNames, nameMemberOf } from "../../transport/headers.ts";
import type { IncomingEvent } from "../../transport/sse.ts";
import type { LinkEvents } from "../channel-link.ts";
import type { Clock } from "../deadlines.ts";
import type { HttpHeaders } from "./options.ts";
import type { HttpResponseReader, ReadingRules } from "./reply.ts";
import { sendOneWay } from "./reply.ts";
import type { HttpSender, Sending } from "./send.ts";
import type { ToolHeaders } from "./tool-headers.ts";

const json = "application/json";
const either = "application/json, text/event-stream";
const messageHeaders: HttpHeaders = { "Content-Type": json, Accept: either };
const maxKnownMethods = 100;
/** How long a stream may stay open after the response that was to end it. */
const lingerMs = 5_000;

/** Who waits for a response, as far as messages that come in concern it. */
export interface Waiting {
  readonly request: RpcRequest;
  respond(response: RpcResponse): void;
  fail(reason: Error): void;
  /** A response to it that is none. */
  unreadable(why: string): void;
}

/** What a server with sessions remembers of this client: sent with everything that is no request of its own era. */
export interface Identity {
  sessionId: string | undefined;
  version: string | undefined;
}

export interface TrafficLimits {
  readonly maxResponseBytes: number;
  readonly maxEventChars: number;
  readonly idleStreamMs: number;
}

/** What all requests of an open link share: where they go, what they carry, and who waits for what. */
export class HttpRequests implements ReadingRules {
  readonly url: URL;
  readonly sender: HttpSender;
  readonly events: LinkEvents;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
  readonly maxEventChars: number;
  readonly idleStreamMs: number;
  keepsAlive = false;
  readonly identity: Identity = { sessionId: undefined, version: undefined };
  /** There as soon as a list of tools has passed by. */
  tools: ToolHeaders | undefined;
  /** By the id of their requests. */
  readonly waiting: IdTable<Waiting> = new IdTable();
  isClosed = false;
  /** The version that the last request described itself with; notifications do not describe themselves. */
  #ownVersion: string | undefined;
  #versionText = "";
  #revision: Revision | undefined;
  /** What follows from a method in this version. */
  readonly #known = new Map<string, { readonly nameIn: string | undefined; readonly text: string }>();
  #ownIds = 0;
  readonly #lingering = new Set<HttpResponseReader>();
  #isSweeping = false;

  constructor(url: URL, sender: HttpSender, events: LinkEvents, clock: Clock, limits: TrafficLimits) {
    this.url = url;
    this.sender = sender;
    this.events = events;
    this.clock = clock;
    this.maxResponseBytes = limits.maxResponseBytes;
    this.maxEventChars = limits.maxEventChars;
    this.idleStreamMs = limits.idleStreamMs;
  }

  /** An id for a request that the client does not know of. */
  ownId(what: string): RequestId {
    this.#ownIds += 1;
    return `portolan-${what}-${this.#ownIds}`;
  }

  /** A message as a POST, with the headers that follow from it. */
  toPost(message: Message, body: string): Sending {
    const headers = "method" in message ? this.#headersFor(message) : this.#statefulHeaders();
    const mayRepeat = () => !("id" in message && "method" in message) || isHarmless(message.method);
    return { method: "POST", url: this.url, headers, body, mayRepeat, isFarewell: isCancellation(message) };
  }

  /** Sends what has no response. Throws a PortolanError "unserializable" before anything is sent. */
  post(message: RpcNotification | RpcResponse, done: (failure: Error | undefined) => void): void {
    sendOneWay(this, this.toPost(message, serialize(message)), done);
  }

  /** A GET that opens a stream of the session, or goes on with one. */
  toGet(lastEventId: string): Sending {
    const resumed = lastEventId === "" ? {} : { [headerNames.lastEventId]: lastEventId };
    const headers = { Accept: "text/event-stream", ...this.#identityHeaders(), ...resumed };
    return { method: "GET", url: this.url, headers, body: undefined, mayRepeat: () => true };
  }

  toDelete(): Sending {
    return { method: "DELETE", url: this.url, headers: this.#identityHeaders(), body: undefined, isFarewell: true };
  }

  /** Hands on what a body or an event holds, in order; `during` is the request it came in answer to. */
  receive(value: unknown, during?: Waiting): void {
    if (Array.isArray(value)) for (const one of value) this.#receiveOne(one, during);
    else this.#receiveOne(value, during);
  }

  /** Hands on what an event holds; one without data only tells its id, and other kinds are none of ours. */
  receiveEvent({ event, data }: IncomingEvent, during?: Waiting): void {
    if (data === "" || event !== "message") return;
    const value = parseJson(data);
    if (value === undefined) this.odd("an event whose data is not JSON");
    else this.receive(value, during);
  }

  odd(why: string): void {
    if (!this.isClosed) this.events.odd(why);
  }

  /** The response is here; the server ends the stream by itself, or else it is ended. */
  linger(reply: HttpResponseReader): void {
    this.#lingering.add(reply);
    if (!this.#isSweeping) this.#sweepLater(new Set());
  }

  lingered(reply: HttpResponseReader): void {
    this.#lingering.delete(reply);
  }

  /** Ends what still lingers, because nothing else does. */
  close(): void {
    this.isClosed = true;
    for (const reply of this.#lingering) reply.cancel();
    this.#lingering.clear();
  }

  #receiveOne(value: unknown, during: Waiting | undefined): void {
    if (this.isClosed) return;
    const problem = checkMessage(value);
    if (problem) {
      const waiting = problem.answerable || problem.id === undefined ? undefined : this.waiting.get(problem.id);
      if (waiting) waiting.unreadable(problem.why);
      else this.odd(problem.why);
      return;
    }
    const message = value as Message;
    if (!("method" in message)) this.#respond(message, during);
    else if (!("id" in message)) this.events.notification(message);
    else {
      const { sessionId } = this.identity;
      this.events.request(message, (response) => this.#answer(response, sessionId), during?.request.id);
    }
  }

  #respond(response: RpcResponse, during: Waiting | undefined): void {
    const { id } = response;
    // An error about input that could not be read is about what was sent.
    const isOwn = during && (id === during.request.id || id === undefined || id === null);
    const waiting = isOwn ? during : this.waiting.get(id as RequestId);
    if (waiting) waiting.respond(response);
    else if ("error" in response && (id === undefined || id === null)) {
      this.odd(`the server reports an error about no request: ${response.error.message}`);
    }
  }

  /** A question of a session that is over has nobody who waits, and its id may be another one's by now. */
  #answer(response: RpcResponse, sessionId: string | undefined): void {
    if (this.isClosed || sessionId !== this.identity.sessionId) return;
    try {
      this.post(response, (failure) => failure && this.odd(failure.message));
    } catch (reason) {
      this.odd((reason as Error).message);
    }
  }

  // Hot path: what follows from the method alone is worked out once.
  #headersFor(message: RpcRequest | RpcNotification): HttpHeaders {
    const { method, params } = message;
    const version = versionOf(params) ?? ("id" in message ? undefined : this.#ownVersion);
    if (version !== this.#ownVersion) this.#describeWith(version);
    if (version === undefined) return method === "initialize" ? messageHeaders : this.#statefulHeaders();
    let known = this.#known.get(method);
    if (!known) {
      known = { nameIn: nameMemberOf(method, this.#revision?.requests.get(method)), text: encodeHeaderValue(method) };
      if (this.#known.size < maxKnownMethods) this.#known.set(method, known);
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
    this.#revision = perRequest.find((revision) => revision.version === version);
    this.#known.clear();
  }

  #statefulHeaders(): HttpHeaders {
    return { ...messageHeaders, ...this.#identityHeaders() };
  }

  #identityHeaders(): HttpHeaders {
    const { sessionId, version } = this.identity;
    return {
      ...(sessionId !== undefined && { [headerNames.session]: sessionId }),
      ...(version !== undefined && namesVersion(version) && { [headerNames.version]: version }),
    };
  }

  // One timer for all: whoever was there at the last look and still is has lingered long enough.
  #sweepLater(seen: ReadonlySet<HttpResponseReader>): void {
    this.#isSweeping = true;
    this.clock.after(lingerMs, () => {
      for (const reply of seen) if (this.#lingering.delete(reply)) reply.cancel();
      if (this.#lingering.size > 0) this.#sweepLater(new Set(this.#lingering));
      else this.#isSweeping = false;
    });
  }
}

/** Whether a session in this version names it; older servers may refuse a header they do not know. */
function namesVersion(version: string): boolean {
  return handshakes.find((revision) => revision.version === version)?.http.namesVersion ?? true;
}

/** The version with which a request describes itself; undefined for a request of a session. */
export function versionOf(params: RpcRequest["params"]): string | undefined {
  const version = metaOf(params)?.[metaKeys.protocolVersion];
  return typeof version === "string" ? version : undefined;
}

/** A JSON value; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** Whether a text is a message of the protocol's envelope, whatever else is wrong with it. */
export function isMessage(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every(isMessage);
  return typeof value === "object" && value !== null && "jsonrpc" in value;
}

/** Whether a message only says that the answer to another one is not wanted any more. */
export function isCancellation(message: object): boolean {
  return "method" in message && message.method === "notifications/cancelled";
}

/** Whether a request only reads: a tool may do anything. */
function isHarmless(method: string): boolean {
  return method !== "tools/call" && revisions.some(({ requests }) => requests.has(method));
}
