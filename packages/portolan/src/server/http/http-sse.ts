import { PortolanError } from "../../errors.ts";
import type { Channel, ChannelEvents, Sendable } from "../../jsonrpc/channel.ts";
import { isRequest, type Message, type RpcError, type RpcRequest, rpcCodes, serialize } from "../../jsonrpc/message.ts";
import { toBase64url } from "../../storage/crypto.ts";
import type { ServedExchange } from "../call/exchange.ts";
import type { Caller } from "../callers.ts";
import { ChannelServer, type ChannelUse, type ServedChannel } from "../channel/serve-channel.ts";
import type { Session, SessionSettings } from "../channel/session.ts";
import { weightOf } from "./authorize.ts";
import { countWithinMinute, isUnreadable } from "./body.ts";
import { releaseSubscription, takeSubscription } from "./caller.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import { sessionIdBytes } from "./limits.ts";
import { readBody } from "./read-body.ts";
import { answerError, eventOf, idOf, refuse, sendError } from "./reply.ts";
import type { OpenStream } from "./streams.ts";

/** The paths of the two endpoints. */
export interface HttpSsePaths {
  readonly path: string;
  readonly messagesPath: string;
}

/** The two endpoints of revision 2024-11-05: an event stream, and a path to post messages to. */
export class HttpSse {
  readonly #path: string;
  readonly #messagesPath: string;
  readonly #state: EndpointState;
  readonly #channels = new Map<string, { readonly principal: string; readonly channel: SseChannel }>();
  readonly #served = new Set<ServedChannel>();

  constructor(state: EndpointState, paths: HttpSsePaths) {
    this.#state = state;
    this.#path = paths.path;
    this.#messagesPath = paths.messagesPath;
  }

  /** @param permits returns whether the caller may send these messages; answers with a refusal if not */
  serve(context: HttpContext, permits: (messages: Message | Message[]) => boolean): void {
    const { request, reply, headers } = context;
    if (request.path === this.#path && request.method === "GET") this.#open(context);
    else if (request.path !== this.#path && request.method === "POST") this.#post(context, permits);
    else {
      const allow = request.path === this.#path ? "GET" : "POST";
      refuse(reply, 405, `${request.method}: expected ${allow}`, { ...headers, allow });
    }
  }

  /** Waits for running calls at most `graceMs`, then closes all streams. */
  async close(graceMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all([...this.#served].map((served) => served.idle())), late]);
    clearTimeout(timer);
    await Promise.allSettled([...this.#served].map((served) => served.close()));
  }

  /** Opens a stream, which is also a session: it ends with the stream. */
  #open({ reply, principal, caller, headers }: HttpContext): void {
    const refusal = this.#refusal(caller);
    if (refusal) {
      answerError(reply, refusal, headers);
      return;
    }
    const stream = this.#state.streams.openReserved(reply, headers, caller);
    const id = toBase64url(crypto.getRandomValues(new Uint8Array(sessionIdBytes)));
    stream.write(`event: endpoint\ndata: ${this.#messagesPath}/${id}\n\n`);
    const channel = new SseChannel(stream, this.#state, caller);
    this.#channels.set(id, { principal: principal.key, channel });
    const served = new ChannelServer(this.#state.runtime, channel, { principal }, channel);
    this.#served.add(served);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => channel.close() };
    reply.onGone(() => channel.disconnect());
    served.closed.then(() => {
      this.#channels.delete(id);
      this.#served.delete(served);
      caller.release("sessions");
    });
  }

  /** Takes a session and a stream. Returns the error if one of them is beyond a limit; then nothing is taken. */
  #refusal(caller: Caller): RpcError | undefined {
    const tooOften = caller.count("handshakes");
    if (tooOften) return caller.tooOften("handshakes", tooOften);
    const tooMany = caller.take("sessions");
    if (tooMany) return caller.beyond("sessions", tooMany);
    const full = caller.take("streams");
    if (!full) return undefined;
    caller.release("sessions");
    return caller.beyond("streams", full);
  }

  #post(
    { request, reply, principal, caller, headers }: HttpContext,
    permits: (messages: Message | Message[]) => boolean,
  ): void {
    const known = this.#channels.get(request.path.slice(this.#messagesPath.length + 1));
    if (known?.principal !== principal.key) {
      caller.refused({ status: 404, reason: sessionNotHere });
      refuse(reply, 404, "Session not found: connect again", headers);
      return;
    }
    request.body((body) => {
      const counted = typeof body === "string" ? (countWithinMinute(caller, body) ?? body) : body;
      if (typeof counted !== "string") {
        const { status, why, error } = counted;
        if (status === 413 || status === 408) {
          caller.refused({ status, limit: status === 413 ? "bodyBytes" : "bodyMs", reason: why });
        }
        if (error) answerError(reply, error, headers);
        else refuse(reply, status, why, headers);
        return;
      }
      const read = readBody(counted);
      if (isUnreadable(read)) {
        const { code, why, id } = read;
        sendError(
          reply,
          400,
          { code, message: `${code === rpcCodes.parseError ? "Parse error" : "Invalid request"}: ${why}` },
          id,
          headers,
        );
        return;
      }
      if (!permits(read)) return;
      const refusal = known.channel.admit(read, weightOf(read, counted.length));
      if (refusal) {
        answerError(reply, refusal, headers, idOf(read));
        return;
      }
      reply.send(202, headers);
      known.channel.receive(read);
    }, caller);
  }
}

const sessionNotHere =
  "The session of HTTP+SSE was not found: its stream has ended, it is open in another process (a balancer must send all requests of a client to one process), or it belongs to another principal";

/** A channel that sends on an event stream and receives POST requests. */
class SseChannel implements Channel, ChannelUse {
  readonly writesText = true;
  readonly caller: Caller;
  readonly #stream: OpenStream;
  readonly #state: EndpointState;
  /** The requests that count as calls in flight and are not taken yet, with the size of the body that they came in. */
  readonly #admitted = new Map<Message, number>();
  /** The session whose subscriptions are counted, and their URIs. */
  #session: Session | undefined;
  readonly #uris = new Set<string>();
  #incoming: ChannelEvents | undefined;
  #isClosed = false;

  constructor(stream: OpenStream, state: EndpointState, caller: Caller) {
    this.#stream = stream;
    this.#state = state;
    this.caller = caller;
  }

  /** Counts the requests of a body as calls in flight. Returns the error if one of them is beyond a limit. */
  admit(read: Message | Message[], bodySize: number): RpcError | undefined {
    const { caller } = this;
    const requests = [read].flat().filter(isRequest);
    let size = bodySize;
    for (const request of requests) {
      const refusal = this.#state.refusal(request, { caller, size }) ?? this.#subscriptionRefusal(request);
      if (refusal) {
        for (const admitted of requests) this.taken(admitted);
        return refusal;
      }
      this.#state.count({ caller, size }, 1);
      this.#admitted.set(request, size);
      // The body is counted once, with the first request.
      size = 0;
    }
    return undefined;
  }

  /** Returns the error for a subscription for which there is no room now. */
  #subscriptionRefusal({ method, params }: RpcRequest): RpcError | undefined {
    const uri = params?.["uri"];
    if (method !== "resources/subscribe" || typeof uri !== "string" || this.#uris.has(uri)) return undefined;
    const refusal = takeSubscription(this.caller, uri);
    if (!refusal) releaseSubscription(this.caller, uri);
    return refusal;
  }

  /** Ends the count of a request when its handler has ended: it may go on after the request was cancelled. */
  taken(request: Message, exchange?: ServedExchange): void {
    const size = this.#admitted.get(request);
    if (size === undefined) return;
    this.#admitted.delete(request);
    const release = () => this.#state.count({ caller: this.caller, size }, -1);
    if (!exchange) {
      release();
      return;
    }
    const settled = exchange.onSettled;
    exchange.onSettled = () => {
      settled?.(exchange);
      release();
    };
    // A message that the handler sent at once may have closed the stream.
    if (this.#isClosed) exchange.cancel(new PortolanError("connection-closed", "The client closed the connection"));
  }

  /** Returns the settings of a session. A subscription counts from its beginning to its end. */
  settingsOf(session: Session): SessionSettings {
    if (session !== this.#session) this.#forgetAll();
    this.#session = session;
    return {
      setLogLevel: (level) => session.setLogLevel(level),
      subscribe: async (uri, hold) => {
        if (!this.#uris.has(uri)) {
          const refusal = takeSubscription(this.caller, uri);
          if (refusal) throw refusal;
          this.#uris.add(uri);
        }
        try {
          await session.subscribe(uri, hold);
        } finally {
          if (!session.subscriptions?.has(uri)) this.#forget(uri);
        }
      },
      unsubscribe: (uri) => {
        session.unsubscribe(uri);
        this.#forget(uri);
      },
    };
  }

  #forget(uri: string): void {
    if (this.#uris.delete(uri)) releaseSubscription(this.caller, uri);
  }

  #forgetAll(): void {
    for (const uri of this.#uris) this.#forget(uri);
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
  }

  send(message: Sendable): void {
    if (!this.#isClosed) this.#stream.write(eventOf(serialize(message)));
    if (this.#stream.isClosed) this.disconnect();
  }

  receive(read: Message | Message[]): void {
    if (!this.#incoming || this.#isClosed) this.#dropAdmitted();
    else if (Array.isArray(read)) this.#incoming.batch(read);
    // The caller's limits count its size.
    else this.#incoming.message(read, 0);
  }

  async close(): Promise<void> {
    this.#stream.end();
    this.disconnect();
  }

  /** Closes the channel after its stream was closed. */
  disconnect(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#incoming?.closed();
    this.#forgetAll();
    // Later, because one of them may be about to be taken.
    queueMicrotask(() => this.#dropAdmitted());
  }

  /** Ends the count of requests that are not served any more. */
  #dropAdmitted(): void {
    for (const request of this.#admitted.keys()) this.taken(request);
  }
}
