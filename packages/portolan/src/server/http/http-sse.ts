import type { Channel, ChannelEvents, Sendable } from "../../jsonrpc/channel.ts";
import type { Message, Unreadable } from "../../jsonrpc/message.ts";
import { rpcCodes, serialize } from "../../jsonrpc/message.ts";
import { toBase64url } from "../../storage/crypto.ts";
import { type ServedChannel, serveChannel } from "../channel/serve-channel.ts";
import type { Servable } from "../define/server.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import { isUnreadable, readBody } from "./guard.ts";
import { retryAfterSeconds, sessionIdBytes } from "./limits.ts";
import { eventOf, refuse, sendError, tooManyStreams } from "./reply.ts";
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

  async close(): Promise<void> {
    await Promise.all([...this.#served].map((served) => served.close()));
  }

  #open({ reply, principal, headers }: HttpContext): void {
    const stream = this.#state.streams.open(reply, headers, principal.key);
    if (!stream) {
      const full = { ...headers, "retry-after": String(retryAfterSeconds) };
      sendError(reply, 503, { code: rpcCodes.internalError, message: tooManyStreams }, undefined, full);
      return;
    }
    const id = toBase64url(crypto.getRandomValues(new Uint8Array(sessionIdBytes)));
    stream.write(`event: endpoint\ndata: ${this.#messagesPath}/${id}\n\n`);
    const channel = new SseChannel(stream);
    this.#channels.set(id, { principal: principal.key, channel });
    const served = serveChannel(this.#server, channel, { principal });
    this.#served.add(served);
    reply.onGone(() => channel.disconnect());
    served.closed.then(() => {
      this.#channels.delete(id);
      this.#served.delete(served);
    });
  }

  #post(
    { request, reply, principal, headers }: HttpContext,
    permits: (messages: Message | Message[]) => boolean,
  ): void {
    const known = this.#channels.get(request.path.slice(this.#messagesPath.length + 1));
    if (known?.principal !== principal.key) {
      refuse(reply, 404, "Session not found: connect again", headers);
      return;
    }
    request.body((body) => {
      if (typeof body !== "string") {
        refuse(reply, body.status, body.why, headers);
        return;
      }
      const read = readBody(body);
      if (!isUnreadable(read) && !permits(read)) return;
      reply.send(202, headers);
      known.channel.receive(read);
    });
  }
}

/** A channel that sends on an event stream and receives POST requests. */
class SseChannel implements Channel {
  readonly writesText = true;
  readonly #stream: OpenStream;
  #incoming: ChannelEvents | undefined;
  #isClosed = false;

  constructor(stream: OpenStream) {
    this.#stream = stream;
  }

  open(incoming: ChannelEvents): void {
    this.#incoming = incoming;
  }

  send(message: Sendable): void {
    if (!this.#isClosed) this.#stream.write(eventOf(serialize(message)));
    if (this.#stream.isClosed) this.disconnect();
  }

  receive(read: Message | Message[] | Unreadable): void {
    if (!this.#incoming || this.#isClosed) return;
    if (Array.isArray(read)) this.#incoming.batch(read);
    else if (isUnreadable(read)) this.#incoming.unreadable(read);
    else this.#incoming.message(read);
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
  }
}
