import { PortolanError } from "../../errors.ts";
import type { Channel, Sendable } from "../../jsonrpc/channel.ts";
import type { Connection } from "../../jsonrpc/connection.ts";
import {
  type JsonObject,
  type Message,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  rpcCodes,
} from "../../jsonrpc/message.ts";
import { invalidParams, invalidRequest, missingMeta, tooManyRequests } from "../../protocol/errors.ts";
import { metaKeys, metaOf, type Peer } from "../../protocol/revision.ts";
import { perRequestVersions, revisionOf } from "../../protocol/revisions/index.ts";
import type { InputRequest } from "../../protocol/types/index.ts";
import { collector, problemOfBatch } from "../call/batch.ts";
import { handleNotification, type SendReply, serveExchange, toRpcError } from "../call/dispatch.ts";
import { loadAsking, localPrincipal, type Principal, type ReturnPath, ServedExchange } from "../call/exchange.ts";
import { unexpected } from "../define/check.ts";
import { runtimeOf, type Servable } from "../define/server.ts";
import type { Runtime } from "../subscribe/hub.ts";
import { peerFromHandshake, Session } from "./session.ts";

export interface ServeChannelOptions {
  /** Who is at the other end; the local user unless said otherwise. */
  principal?: Principal;
  /** How many requests may be in flight at once; 10,000 unless said otherwise. */
  maxInFlight?: number;
}

/** One channel being served. */
export interface ServedChannel extends AsyncDisposable {
  /** Resolves when the channel is closed, from whichever side, and everything begun for it has been let go. */
  readonly closed: Promise<void>;
  /** Resolves when no request is being served, other than those that wait for changes. */
  idle(): Promise<void>;
  /** Ends subscriptions with their result, cancels what runs, and closes the channel. */
  close(): Promise<void>;
}

/** Serves one channel: clients of every revision, also several at once, in the order their messages arrive. */
export function serveChannel(server: Servable, channel: Channel, options: ServeChannelOptions = {}): ServedChannel {
  const runtime = runtimeOf(server);
  if (typeof channel?.open !== "function") {
    throw unexpected("serveChannel", "a channel with open, send and close", channel, "invalid-argument");
  }
  return new ChannelServer(runtime, channel, options);
}

const defaultMaxInFlight = 10_000;

class ChannelServer implements ServedChannel, ReturnPath {
  readonly closed: Promise<void>;
  readonly writesText: boolean;
  readonly #runtime: Runtime;
  readonly #channel: Channel;
  readonly #outbox: Outbox;
  readonly #principal: Principal;
  readonly #maxInFlight: number;
  readonly #reply: SendReply = (response) => this.#outbox.send(response);
  readonly #inFlight = new Map<RequestId, ServedExchange>();
  /** Our own requests; made when the first question is put. */
  #questions: Connection | undefined;
  /** The way back to a stateless peer, which is never asked by a request. */
  readonly #statelessPath: ReturnPath;
  #session: Session | undefined;
  #stopListening: (() => void) | undefined;
  #whenIdle: (() => void)[] = [];
  #settleClosed: () => void = () => {};

  constructor(runtime: Runtime, channel: Channel, options: ServeChannelOptions) {
    this.#runtime = runtime;
    this.#channel = channel;
    this.#outbox = new Outbox(channel, (reason) => {
      runtime.report(reason);
      this.#lost(reason);
      channel.close();
    });
    this.#principal = options.principal ?? localPrincipal;
    this.#maxInFlight = options.maxInFlight ?? defaultMaxInFlight;
    this.writesText = channel.writesText === true;
    this.#statelessPath = {
      writesText: this.writesText,
      notify: (method, params) => this.notify(method, params),
    };
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    channel.open({
      message: (message) => this.#receive(message),
      batch: (messages) => this.#receiveBatch(messages),
      unreadable: ({ code, why, id, answerable }) => {
        if (answerable)
          this.#refuse(
            new RpcError(code, `${code === rpcCodes.parseError ? "Parse error" : "Invalid request"}: ${why}`),
            id,
          );
      },
      closed: (reason) => this.#lost(reason),
    });
  }

  get session(): Session | undefined {
    return this.#session;
  }

  notify(method: string, params: JsonObject): void {
    this.#outbox.send({ jsonrpc: "2.0", method, params });
  }

  /** Puts a question to a stateful client; it is taken back when the call it belongs to is cancelled. */
  async ask(exchange: ServedExchange, { method, params }: InputRequest): Promise<JsonObject> {
    const { Connection } = await loadAsking();
    this.#questions ??= new Connection((message) => this.#channel.send(message));
    const questions = this.#questions;
    const { id, response } = questions.request(method, params as JsonObject | undefined);
    exchange.onCancel((reason) => {
      if (!questions.abandon(id, reason)) return;
      this.notify("notifications/cancelled", { requestId: id, reason: reason.message });
    });
    return response;
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  async close(): Promise<void> {
    const listening = [...this.#inFlight.values()].filter(isOpenEnded);
    for (const exchange of listening) exchange.endGracefully();
    const ended = Promise.all(listening.map((exchange) => exchange.ended));
    if (listening.length > 0) await withinReason(ended);
    for (const { id } of listening) {
      const _meta = { [metaKeys.subscriptionId]: id };
      this.notify("notifications/cancelled", { requestId: id, reason: "The server ends this subscription", _meta });
    }
    await this.#channel.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #receive(message: Message): void {
    if (!("method" in message)) this.#questions?.settle(message);
    else if ("id" in message) this.#serve(message, this.#reply);
    else this.#hear(message);
  }

  /** One exchange per member over one shared reply; the revision says whether there are batches at all. */
  #receiveBatch(messages: Message[]): void {
    const problem = problemOfBatch(messages, this.#session?.peer.revision);
    if (problem !== undefined) {
      this.#refuse(invalidRequest(problem));
      return;
    }
    const collect = collector(messages, (responses) => {
      if (responses.length > 0) this.#outbox.send(responses);
    });
    for (const message of messages) {
      if (!("method" in message)) this.#questions?.settle(message);
      else if ("id" in message) this.#serve(message, collect, () => collect());
      else this.#hear(message);
    }
  }

  #serve(request: RpcRequest, reply: SendReply, cancelled?: () => void): void {
    let exchange: ServedExchange;
    try {
      exchange = this.#open(request);
    } catch (cause) {
      reply({
        jsonrpc: "2.0",
        id: request.id,
        error: toRpcError(this.#runtime, cause, request.method).toErrorObject(),
      });
      return;
    }
    if (cancelled) exchange.onCancel(cancelled);
    const running = serveExchange(this.#runtime, exchange, reply);
    // Only what takes time is in flight: what is answered at once can neither be cancelled nor meet a second one.
    if (!running) return;
    this.#inFlight.set(exchange.id, exchange);
    running.then(() => this.#forget(exchange));
  }

  /** Finds out who asks: the request says so itself, or the handshake did. */
  #open(request: RpcRequest): ServedExchange {
    const { id, method } = request;
    if (this.#inFlight.has(id))
      throw invalidRequest(`id: ${JSON.stringify(id)} is in use by a request that is not answered yet`);
    if (this.#inFlight.size >= this.#maxInFlight) throw tooManyRequests(this.#maxInFlight);
    const revision = revisionOf(request);
    if (revision) {
      return new ServedExchange(
        request,
        revision.readPeer(metaOf(request.params) ?? {}),
        this.#principal,
        this.#statelessPath,
      );
    }
    if (method === "initialize") this.#begin(request);
    const session = this.#session;
    if (session) return new ServedExchange(request, session.peer, this.#principal, this);
    if (method === "ping") return new ServedExchange(request, unknownPeer, this.#principal, this);
    const missing = `_meta["${metaKeys.protocolVersion}"]: expected the protocol version, or an initialize request first`;
    throw missingMeta(missing, { supported: perRequestVersions });
  }

  /** A handshake, also a second one, says who the stateful peer of this channel is from now on. */
  #begin(request: RpcRequest): void {
    const { params = {} } = request;
    const peer = peerFromHandshake(params);
    const problem = peer.revision.requests.get("initialize")?.params(params, "params");
    if (problem !== undefined) throw invalidParams(problem);
    this.#endSession();
    this.#session = new Session(peer, this.#principal.key, (method, params) => this.notify(method, params));
    this.#stopListening = this.#runtime.hub.listen(this.#session);
  }

  /** Notifications carry no version: they are routed by what they name, whichever era it belongs to. */
  #hear({ method, params = {} }: RpcNotification): void {
    if (method === "notifications/cancelled") {
      const { requestId, reason } = params as { requestId?: RequestId; reason?: unknown };
      const exchange = requestId === undefined ? undefined : this.#inFlight.get(requestId);
      if (!exchange || exchange.method === "initialize") return;
      this.#forget(exchange);
      exchange.cancel(
        new PortolanError("cancelled", typeof reason === "string" ? reason : "The client cancelled the request"),
      );
      return;
    }
    if (this.#session) handleNotification(this.#runtime, this.#session.peer, method, params);
  }

  #refuse(error: RpcError, id?: RequestId): void {
    const withoutId = this.#session?.peer.revision.unreadableId === "null" ? { id: null } : {};
    this.#outbox.send({ jsonrpc: "2.0", ...(id === undefined ? withoutId : { id }), error: error.toErrorObject() });
  }

  #forget(exchange: ServedExchange): void {
    if (this.#inFlight.get(exchange.id) === exchange) this.#inFlight.delete(exchange.id);
    if (this.#whenIdle.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #isIdle(): boolean {
    for (const exchange of this.#inFlight.values()) if (!isOpenEnded(exchange)) return false;
    return true;
  }

  #endSession(): void {
    this.#stopListening?.();
    this.#session?.end();
  }

  #lost(reason: Error = new PortolanError("connection-closed", "The client closed the connection")): void {
    this.#questions?.closeAll(reason);
    for (const exchange of [...this.#inFlight.values()]) {
      this.#forget(exchange);
      exchange.cancel(reason);
    }
    this.#endSession();
    this.#settleClosed();
  }
}

/** How long a subscription that is still beginning keeps a server from closing. */
const endingMs = 2_000;

async function withinReason(ended: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, endingMs);
  });
  await Promise.race([ended, late]);
  clearTimeout(timer);
}

/** Whether a request stays open until somebody ends it. */
function isOpenEnded({ peer, method }: ServedExchange): boolean {
  return peer.revision.requests.get(method)?.openEnded === true;
}

/** A client that pings before it has said who it is. */
const unknownPeer: Peer = peerFromHandshake({ capabilities: {} });

/** From here on a slow reader is spared what it can do without. */
const manyUnread = 1_000;
const maxUnread = 20_000;

/** What is sent on a channel: a peer that does not read loses progress and logs first, then the connection. */
export class Outbox {
  readonly #channel: Channel;
  readonly #overflow: (reason: Error) => void;
  #unread = 0;

  constructor(channel: Channel, overflow: (reason: Error) => void) {
    this.#channel = channel;
    this.#overflow = overflow;
  }

  send(message: Sendable): void {
    if (this.#unread > manyUnread && isDispensable(message)) return;
    const sent = this.#channel.send(message);
    if (!sent) return;
    this.#unread += 1;
    if (this.#unread > maxUnread) {
      this.#overflow(new PortolanError("limit-reached", `The client has not read ${maxUnread} messages; it is let go`));
    }
    const read = () => {
      this.#unread -= 1;
    };
    // A peer that is gone is told nothing more; that is no error of ours.
    sent.then(read, read);
  }
}

function isDispensable(message: Sendable): boolean {
  if (!("method" in message)) return false;
  return message.method === "notifications/progress" || message.method === "notifications/message";
}
