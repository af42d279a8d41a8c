import { Lazy, type MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { Channel, Sendable } from "../../jsonrpc/channel.ts";
import {
  IdTable,
  type JsonObject,
  type Message,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
  serialize,
} from "../../jsonrpc/message.ts";
import type { PendingRequests } from "../../jsonrpc/pending-requests.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { invalidRequest, limitExceeded, missingMeta } from "../../protocol/errors.ts";
import { metaKeys, metaOf, type Peer } from "../../protocol/revision.ts";
import { chooseStatefulRevision, revisionOf, statelessVersions } from "../../protocol/revisions/index.ts";
import type { InputRequest } from "../../protocol/types/index.ts";
import {
  description,
  handleNotification,
  listening,
  type SendReply,
  serveExchange,
  toRpcError,
} from "../call/dispatch.ts";
import { loadQuestions, localPrincipal, type Principal, type ReturnPath, ServedExchange } from "../call/exchange.ts";
import type { Caller } from "../callers.ts";
import { unexpected } from "../define/check.ts";
import { runtimeOf, type Servable } from "../define/server.ts";
import { extra } from "../extension.ts";
import {
  defaultMaxInFlight,
  manyUnreadBytes,
  manyUnreadMessages,
  maxInFlightBytes,
  maxUnreadBytes,
  maxUnreadMessages,
} from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { Session, SessionSettings } from "./session.ts";

/** Options of `serveChannel`. */
export interface ServeChannelOptions {
  /** The identity of the client. Default: the local user. */
  principal?: Principal;
  /** Requests that may be in flight at once. Default: 10,000. */
  maxInFlight?: number;
}

const optionNames = { principal: 1, maxInFlight: 1 } satisfies OptionNames<ServeChannelOptions>;

/** One channel being served. */
export interface ServedChannel extends AsyncDisposable {
  /**
   * Resolves when all features of the server are loaded. Rejects if one of them is invalid; it is then left out, and
   * `onError` receives the reason unless `ready` was read before.
   */
  readonly ready: Promise<void>;
  /** Resolves when the channel is closed, from either side, and everything that was begun for it is released. */
  readonly closed: Promise<void>;
  /** Resolves when no request is being served, apart from open listen streams. */
  idle(): Promise<void>;
  /** Ends listen streams with their result, cancels running requests, and closes the channel. */
  close(): Promise<void>;
}

/**
 * Serves one channel. Requests of every revision may come mixed; messages are handled in the order in which they arrive.
 */
export function serveChannel(server: Servable, channel: Channel, options: ServeChannelOptions = {}): ServedChannel {
  const runtime = runtimeOf(server);
  checkOptions(options, optionNames, "serveChannel");
  if (typeof channel?.open !== "function") {
    throw unexpected("serveChannel", "a channel with open, send and close", channel, "invalid-argument");
  }
  return new ChannelServer(runtime, channel, options);
}

/** Counts what the requests of a channel use for its caller. */
export interface ChannelUse {
  readonly caller: Caller;
  /** Called for each request that is taken: with its exchange if a handler runs, without one if it is answered or refused. */
  taken(request: Message, exchange?: ServedExchange): void;
  /** Returns the settings of a session that count its subscriptions. */
  settingsOf(session: Session): SessionSettings;
}

export class ChannelServer implements ServedChannel, ReturnPath {
  readonly closed: Promise<void>;
  readonly writesText: boolean;
  readonly network: Channel["network"];
  readonly caller: Caller | undefined;
  readonly #runtime: ServerRuntime;
  readonly #channel: Channel;
  readonly #outbox: Outbox;
  readonly #principal: Principal;
  readonly #use: ChannelUse | undefined;
  readonly #maxInFlight: number;
  readonly #reply: SendReply = (response) => this.#outbox.send(response);
  readonly #inFlight = new IdTable<ServedExchange>();
  #inFlightBytes = 0;
  readonly #requests = (): Iterable<ServedExchange> => this.#inFlight.values();
  /** The server's own requests; made with the first question. */
  #questions: PendingRequests | undefined;
  /** For stateless peers, which are never asked by requests. */
  readonly #statelessPath: ReturnPath;
  #session: Session | undefined;
  /** Pending while a part is loading that a message needs. Later messages wait for it, so that the order is kept. */
  #loading: Promise<void> | undefined;
  #whenIdle: (() => void)[] = [];
  #isClosed = false;
  #settleClosed: () => void = () => {};

  constructor(runtime: ServerRuntime, channel: Channel, options: ServeChannelOptions, use?: ChannelUse) {
    this.#runtime = runtime;
    this.#use = use;
    this.caller = use?.caller;
    this.#channel = channel;
    this.#outbox = new Outbox(channel, (reason) => {
      runtime.report(reason);
      this.#end(reason);
      channel.close();
    });
    this.#principal = options.principal ?? localPrincipal;
    this.#maxInFlight = options.maxInFlight ?? defaultMaxInFlight;
    this.writesText = channel.writesText === true;
    this.network = channel.network;
    this.#statelessPath = {
      writesText: this.writesText,
      network: this.network,
      caller: this.caller,
      notify: (method, params) => this.notify(method, params),
    };
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    runtime.reportWhenLoaded();
    runtime.inFlight.add(this.#requests);
    channel.open({
      message: (message, size) => this.#take(message, size),
      batch: (messages) => {
        this.#whenLoaded(extra.get(), (late) => this.#receiveBatch(messages, late));
      },
      unreadable: ({ code, why, id, answerable }) => {
        if (answerable)
          this.#refuse(
            new RpcError(code, `${code === rpcCodes.parseError ? "Parse error" : "Invalid request"}: ${why}`),
            id,
          );
      },
      closed: (reason) => this.#end(reason),
    });
  }

  get session(): SessionSettings | undefined {
    return this.#session && (this.#use?.settingsOf(this.#session) ?? this.#session);
  }

  onSessionEnd(listener: () => void): void {
    if (this.#session) this.#session.onEnd = listener;
  }

  get ready(): Promise<void> {
    const ready = this.#runtime.ready();
    // A caller that reads it without awaiting it must not end the process.
    ready.catch(() => {});
    return ready;
  }

  notify(method: string, params: JsonObject): void {
    this.#outbox.send({ jsonrpc: "2.0", method, params });
  }

  /** Sends a question to a stateful client, and cancels it when the call it belongs to is cancelled. */
  async ask(exchange: ServedExchange, { method, params }: InputRequest): Promise<JsonObject> {
    const { PendingRequests } = await loadQuestions();
    this.#questions ??= new PendingRequests((message) => this.#outbox.send(message));
    const questions = this.#questions;
    const { id, response } = questions.request(method, params as JsonObject | undefined);
    exchange.onCancel((reason) => {
      if (!questions.abandon(id, reason)) return;
      this.notify("notifications/cancelled", { requestId: id, reason: reason.message });
    });
    return response;
  }

  async idle(): Promise<void> {
    while (this.#loading) await this.#loading;
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  async close(): Promise<void> {
    const open = this.#inFlight.values().filter(isOpenEnded);
    if (open.length > 0) {
      const { endListening } = await listening.get();
      await endListening(open, (method, params) => this.notify(method, params));
    }
    await this.#channel.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Takes a step that needs a part of the server which is loaded late. If it cannot be loaded, only this step fails. */
  #whenLoaded<Part>(part: MaybePromise<Part>, step: (loaded: Part) => void, id?: RequestId): void {
    const ended = () => {
      if (this.#loading === loading) this.#loading = undefined;
    };
    const loading = Promise.all([part, this.#loading]).then(
      ([loaded]) => {
        ended();
        step(loaded);
      },
      (cause) => {
        ended();
        this.#refuse(toRpcError(this.#runtime, cause, { method: "import" }), id);
      },
    );
    this.#loading = loading;
  }

  #take(message: Message, size: number | undefined): void {
    if (this.#loading) this.#loading.then(() => this.#take(message, size));
    else this.#receive(message, size);
  }

  #receive(message: Message, size?: number, reply = this.#reply, cancelled?: () => void): void {
    if (this.#isClosed) return;
    if (!("method" in message)) this.#questions?.settle(message);
    else if (message.method === "initialize" && !sessions.loaded)
      this.#whenLoaded(sessions.get(), () => this.#receive(message, size, reply), (message as RpcRequest).id);
    else if ("id" in message) this.#serve(message, size, reply, cancelled);
    else this.#handleNotification(message);
  }

  /** Serves each member as an exchange of its own; their responses are sent together. */
  #receiveBatch(messages: Message[], { problemOfBatch, collectResponses }: typeof import("../call/extra.ts")): void {
    const problem = problemOfBatch(messages, this.#session?.peer.revision);
    if (problem !== undefined) {
      this.#refuse(invalidRequest(problem));
      for (const message of messages) this.#use?.taken(message);
      return;
    }
    const collect = collectResponses(this.#runtime, this, messages, (responses) => {
      if (responses.length > 0) this.#outbox.send(responses);
    });
    for (const message of messages) this.#receive(message, undefined, collect, () => collect());
  }

  #serve(request: RpcRequest, size: number | undefined, reply: SendReply, cancelled?: () => void): void {
    let exchange: ServedExchange;
    try {
      exchange = this.#toExchange(request);
    } catch (cause) {
      reply({
        jsonrpc: "2.0",
        id: request.id,
        error: toRpcError(this.#runtime, cause, { method: request.method }).toErrorObject(),
      });
      this.#use?.taken(request);
      return;
    }
    if (cancelled) exchange.onCancel(cancelled);
    // A request that was answered synchronously can neither be cancelled nor share its id with a later one.
    const isPending = serveExchange(this.#runtime, exchange, reply);
    if (isPending) {
      this.#inFlight.set(exchange.id, exchange);
      exchange.size = size ?? sizeOf(request.params);
      this.#inFlightBytes += exchange.size;
      exchange.onSettled = this.#remove;
    }
    this.#use?.taken(request, isPending ? exchange : undefined);
  }

  /** Finds the peer of a request: in its own `_meta`, or in the session that a handshake began. */
  #toExchange(request: RpcRequest): ServedExchange {
    const { id, method } = request;
    if (this.#inFlight.get(id))
      throw invalidRequest(`id: ${JSON.stringify(id)} is in use by a request that is not answered yet`);
    const isFull = this.#inFlight.size >= this.#maxInFlight;
    if (isFull || this.#inFlightBytes > maxInFlightBytes) {
      const most = isFull ? `${this.#maxInFlight} requests` : `${maxInFlightBytes} bytes of requests`;
      throw limitExceeded(`Limit reached: at most ${most} in flight; wait for answers first`);
    }
    const revision = revisionOf(request);
    if (revision) {
      return new ServedExchange(
        request,
        revision.readPeer(metaOf(request.params) ?? {}),
        this.#principal,
        this.#statelessPath,
      );
    }
    if (method === "initialize") this.#beginSession(request);
    const session = this.#session;
    if (session) return new ServedExchange(request, session.peer, this.#principal, this);
    if (method === "ping") return new ServedExchange(request, unknownPeer, this.#principal, this);
    const missing = `_meta["${metaKeys.protocolVersion}"]: expected the protocol version, or an initialize request first`;
    throw missingMeta(missing, { supported: statelessVersions });
  }

  /** Replaces the session of this channel: a second handshake begins a new one. */
  #beginSession(request: RpcRequest): void {
    const { hub } = this.#runtime;
    const session = sessions.loaded?.beginSession(request.params ?? {}, this.#principal.key, hub, (method, params) =>
      this.notify(method, params),
    );
    this.#session?.end();
    this.#session = session;
  }

  /** A notification names no version: a cancellation finds its request by id, everything else goes to the session. */
  #handleNotification({ method, params = {} }: RpcNotification): void {
    if (method === "notifications/cancelled") {
      const { requestId, reason } = params as { requestId?: RequestId; reason?: unknown };
      const exchange = requestId === undefined ? undefined : this.#inFlight.get(requestId);
      if (!exchange?.mayBeCancelled) return;
      // It stays in flight until its handler has ended: the handler may ignore the signal.
      exchange.cancel(
        new PortolanError("cancelled", typeof reason === "string" ? reason : "The client cancelled the request"),
      );
      this.#tellIdle();
      return;
    }
    const handling = this.#session && handleNotification(this.#runtime, this.#session.peer, method, params);
    if (handling) this.#whenLoaded(handling, () => {});
  }

  #refuse(error: RpcError, id?: RequestId): void {
    const withoutId = this.#session?.peer.revision.unreadableId === "null" ? { id: null } : {};
    this.#outbox.send({ jsonrpc: "2.0", ...(id === undefined ? withoutId : { id }), error: error.toErrorObject() });
  }

  readonly #remove = (exchange: ServedExchange): void => {
    if (this.#inFlight.get(exchange.id) === exchange) {
      this.#inFlight.delete(exchange.id);
      this.#inFlightBytes -= exchange.size;
    }
    // Hot path: mostly nobody waits.
    if (this.#whenIdle.length > 0) this.#tellIdle();
  };

  #tellIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #isIdle(): boolean {
    return this.#inFlight.values().every((exchange) => exchange.isCancelled || isOpenEnded(exchange));
  }

  #end(reason: Error = new PortolanError("connection-closed", "The client closed the connection")): void {
    this.#isClosed = true;
    this.#questions?.closeAll(reason);
    for (const exchange of this.#inFlight.values()) {
      this.#remove(exchange);
      exchange.cancel(reason);
    }
    this.#session?.end();
    this.#runtime.inFlight.delete(this.#requests);
    this.#settleClosed();
  }
}

/** The peer of a ping that comes before the handshake. */
const unknownPeer: Peer = { revision: chooseStatefulRevision(undefined), capabilities: {} };

/** The part for clients that begin with a handshake, with the one that answers it: requests behind it are answered later. */
export const sessions: Lazy<typeof import("./session.ts")> = /* @__PURE__ */ new Lazy(async () => {
  await description.get();
  return import("./session.ts");
});

/** Returns the size of params as JSON. Params in memory may have no JSON form; they are not counted. */
function sizeOf(params: JsonObject = {}): number {
  try {
    return JSON.stringify(params).length;
  } catch {
    return 0;
  }
}

/** Returns whether a request stays open until either side ends it. */
function isOpenEnded({ peer, method }: ServedExchange): boolean {
  return peer.revision.requests.get(method)?.openEnded === true;
}

/**
 * Sends messages on a channel. A peer that does not read loses progress and log messages first, then gets errors instead
 * of answers, and at last loses the connection.
 */
class Outbox {
  readonly #channel: Channel;
  readonly #overflow: (reason: Error) => void;
  #unread = 0;
  #unreadBytes = 0;

  constructor(channel: Channel, overflow: (reason: Error) => void) {
    this.#channel = channel;
    this.#overflow = overflow;
  }

  send(message: Sendable): void {
    if ((this.#unread > manyUnreadMessages || this.#unreadBytes > manyUnreadBytes) && isDispensable(message)) return;
    // Hot path: sizes are only computed while the peer leaves messages unread.
    const isFull = this.#unread > 0 && this.#unreadBytes + serialize(message).length > maxUnreadBytes;
    const sending = isFull ? refused(message) : message;
    const sent = this.#channel.send(sending);
    if (!sent) return;
    const bytes = serialize(sending).length;
    this.#unread += 1;
    this.#unreadBytes += bytes;
    if (this.#unread > maxUnreadMessages) {
      const why = `The client has not read ${maxUnreadMessages} messages; its connection is closed`;
      this.#overflow(new PortolanError("limit-reached", why));
    }
    const read = () => {
      this.#unread -= 1;
      this.#unreadBytes -= bytes;
    };
    // A failure means that the peer is gone, which the channel reports by itself.
    sent.then(read, read);
  }
}

/** Returns the errors that replace answers for which there is no room. Every other message is small. */
function refused(message: Sendable): Sendable {
  if (Array.isArray(message)) return message.map((each) => refused(each) as RpcResponse);
  if ("messageText" in message || "method" in message) return message;
  const error = limitExceeded("Answer dropped: earlier answers are unread; read them first").toErrorObject();
  return { jsonrpc: "2.0", id: message.id as RequestId, error };
}

function isDispensable(message: Sendable): boolean {
  if (!("method" in message)) return false;
  return message.method === "notifications/progress" || message.method === "notifications/message";
}
