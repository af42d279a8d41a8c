import type { Channel, ChannelEvents, Sendable } from "../../jsonrpc/channel.ts";
import {
  isRequest,
  type Message,
  type RequestId,
  type RpcError,
  type RpcRequest,
  rpcCodes,
  serialize,
} from "../../jsonrpc/message.ts";
import { toBase64url } from "../../storage/crypto.ts";
import type { Caller } from "../callers.ts";
import { type ServedChannel, serveChannel } from "../channel/serve-channel.ts";
import type { Servable } from "../define/server.ts";
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
  readonly #server: Servable;
  readonly #state: EndpointState;
  readonly #channels = new Map<string, { readonly principal: string; readonly channel: SseChannel }>();
  readonly #served = new Set<ServedChannel>();

  constructor(server: Servable, state: EndpointState, paths: HttpSsePaths) {
    this.#server = server;
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
    const served = serveChannel(this.#server, channel, { principal });
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
    const full = this.#state.streams.reserve(caller);
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
class SseChannel implements Channel {
  readonly writesText = true;
  readonly #stream: OpenStream;
  readonly #state: EndpointState;
  readonly #caller: Caller;
  /** The requests that are counted as calls in flight, with the size of the body that they came in. */
  readonly #inFlight = new Map<RequestId, number>();
  /** The URIs of its subscriptions, which take kept bytes. */
  readonly #uris = new Set<string>();
  #incoming: ChannelEvents | undefined;
  #isClosed = false;

  constructor(stream: OpenStream, state: EndpointState, caller: Caller) {
    this.#stream = stream;
    this.#state = state;
    this.#caller = caller;
  }

  /** Counts the requests of a body as calls in flight. Returns the error if one of them is beyond a limit. */
  admit(read: Message | Message[], bodySize: number): RpcError | undefined {
    const caller = this.#caller;
    const admitted: RequestId[] = [];
    let size = bodySize;
    for (const message of Array.isArray(read) ? read : [read]) {
      // The channel refuses an id that is in use.
      if (!isRequest(message) || this.#inFlight.has(message.id)) continue;
      const refusal = this.#state.refusal(message, { caller, size }) ?? this.#subscribe(message);
      if (refusal) {
        for (const id of admitted) this.#settled(id);
        return refusal;
      }
      this.#state.count({ caller, size }, 1);
      admitted.push(message.id);
      this.#inFlight.set(message.id, size);
      // The body is counted once, with the first request.
      size = 0;
    }
    return undefined;
  }

  /** Counts the URI of a subscription until it ends. Returns the error if there is no room for it. */
  #subscribe({ method, params }: RpcRequest): RpcError | undefined {
    const uri = params?.["uri"];
    if (typeof uri !== "string") return undefined;
    if (method === "resources/unsubscribe") this.#forget(uri);
    if (method !== "resources/subscribe" || this.#uris.has(uri)) return undefined;
    const refusal = takeSubscription(this.#caller, uri);
    if (!refusal) this.#uris.add(uri);
    return refusal;
  }

  #forget(uri: string): void {
    if (this.#uris.delete(uri)) releaseSubscription(this.#caller, uri);
  }

  #settled(id: unknown): void {
    const size = this.#inFlight.get(id as RequestId);
    if (size === undefined) return;
    this.#inFlight.delete(id as RequestId);
    this.#state.count({ caller: this.#caller, size }, -1);
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
  }

  send(message: Sendable): void {
    if (!this.#isClosed) this.#stream.write(eventOf(serialize(message)));
    for (const sent of Array.isArray(message) ? message : [message])
      if ("id" in sent && !("method" in sent)) this.#settled(sent.id);
    if (this.#stream.isClosed) this.disconnect();
  }

  receive(read: Message | Message[]): void {
    if (!this.#incoming || this.#isClosed) return;
    for (const message of Array.isArray(read) ? read : [read]) {
      // A cancelled request gets no response.
      if ("method" in message && message.method === "notifications/cancelled")
        this.#settled(message.params?.["requestId"]);
    }
    if (Array.isArray(read)) this.#incoming.batch(read);
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
    for (const id of [...this.#inFlight.keys()]) this.#settled(id);
    for (const uri of this.#uris) this.#forget(uri);
    this.#incoming?.closed();
  }
}
