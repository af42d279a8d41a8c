import { isPromise, Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { isRequest, type Message, type Unreadable } from "../../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { handshakes, perRequestVersions } from "../../protocol/revisions/index.ts";
import { headerKeys } from "../../transport/headers.ts";
import { runtimeOf, type Served } from "../define/server.ts";
import { readAccept } from "./accept.ts";
import type { BodyProblem, HttpReply, HttpRequest } from "./adapter.ts";
import type { Entrance } from "./authorize.ts";
import { createGuard } from "./guard.ts";
import type { HttpSse } from "./http-sse.ts";
import { anonymous, protectionOf, type ServeHttpOptions } from "./options.ts";
import { isUnreadable, readBody } from "./read-body.ts";
import { Serving } from "./serving.ts";
import type { Stateful } from "./sessions/post.ts";
import { serveStateless } from "./stateless.ts";
import { idOf, sendError } from "./status.ts";
import type { Visit } from "./visit.ts";

/** Where the endpoint is unless said otherwise. */
export const defaultPath = "/mcp";

/** One address for clients of all revisions; which era a request belongs to is decided here and nowhere else. */
export class Endpoint {
  readonly #serving: Serving;
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #options: ServeHttpOptions;
  readonly #documents: ReadonlyMap<string, string> | undefined;
  readonly #entrance: Lazy<Entrance> | undefined;
  readonly #stateful: Lazy<Stateful> | undefined;
  readonly #httpSse: Lazy<HttpSse> | undefined;
  readonly #paths: { readonly path: string; readonly messagesPath: string } | undefined;
  readonly #relay: Promise<() => Promise<void>> | undefined;
  #isClosing = false;

  constructor(server: Served, options: ServeHttpOptions) {
    this.#options = options;
    const protection = protectionOf(options);
    this.#documents = protection?.documents;
    if (protection) {
      this.#entrance = new Lazy(async () => new (await import("./authorize.ts")).Entrance(protection));
    }
    this.#serving = new Serving(runtimeOf(server), options);
    this.#guard = createGuard(options);
    const { sessions = {}, httpSse = false, storage } = options;
    if (storage) {
      const { runtime } = this.#serving;
      this.#relay = import("./sessions/relay.ts").then(({ startRelay }) => startRelay(runtime, storage));
    }
    if (sessions) {
      this.#stateful = new Lazy(async () =>
        (await import("./sessions/post.ts")).createStateful(this.#serving, options),
      );
    }
    if (httpSse) {
      const paths = { path: "/sse", messagesPath: "/messages", ...(httpSse !== true && httpSse) };
      this.#paths = paths;
      this.#httpSse = new Lazy(async () => new (await import("./http-sse.ts")).HttpSse(server, this.#serving, paths));
    }
  }

  /** Whether something is served at a path. */
  owns(path: string): boolean {
    if (path === (this.#options.path ?? defaultPath) || this.#isHttpSse(path)) return true;
    return this.#documents?.has(path) === true;
  }

  readonly handle = (request: HttpRequest, reply: HttpReply): void => {
    this.#try(request, reply, () => this.#enter(request, reply));
  };

  /** Stops accepting, lets what runs end within the grace, and then gives it up. */
  async close(graceMs = 10_000): Promise<void> {
    this.#isClosing = true;
    const drained = this.#serving.drain().then(() => true);
    await Promise.all([this.#stateful?.loaded?.close(), this.#httpSse?.loaded?.close()]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    if (!(await Promise.race([drained, late]))) {
      this.#serving.cancelAll(new PortolanError("connection-closed", "The server is shutting down"));
    }
    clearTimeout(timer);
    await (await this.#relay)?.();
  }

  /** Takes a step in serving a request, of which its client hears when it fails. Nothing waits where nothing has to. */
  #try(request: HttpRequest, reply: HttpReply, step: () => MaybePromise<void>): void {
    try {
      const running = step();
      if (isPromise(running)) running.catch((cause) => this.#fail(request, reply, cause));
    } catch (cause) {
      this.#fail(request, reply, cause);
    }
  }

  #fail(request: HttpRequest, reply: HttpReply, cause: unknown): void {
    const reference = this.#serving.runtime.report(cause, `${request.method} ${request.path}`);
    sendError(reply, 500, { code: -32603, message: `Internal error (reference ${reference})` });
  }

  #enter(request: HttpRequest, reply: HttpReply): MaybePromise<void> {
    const denial = this.#guard.check(request);
    if (denial) {
      sendError(reply, denial.status, { code: -32600, message: denial.why }, undefined, denial.headers);
      return;
    }
    if (this.#guard.isPreflight(request)) {
      return import("./preflight.ts").then(({ preflightHeaders }) => reply.send(204, preflightHeaders(request)));
    }
    const headers = this.#guard.corsHeaders(request);
    if (this.#isClosing) {
      const closing = { ...headers, "retry-after": "5", connection: "close" };
      sendError(reply, 503, { code: -32603, message: "The server is shutting down" }, undefined, closing);
      return;
    }
    const accepts = readAccept(request.header("accept"));
    if (!this.#entrance) return this.#serve({ request, reply, principal: anonymous, headers, accepts });
    return whenDone(this.#entrance.get(), (entrance) =>
      whenDone(
        entrance.admit(request, reply, headers),
        (principal) => principal && this.#serve({ request, reply, principal, headers, accepts }),
      ),
    );
  }

  #serve(visit: Visit): MaybePromise<void> {
    const { request, reply, headers } = visit;
    if (request.method !== "POST" && !this.#permits([], visit)) return;
    if (this.#httpSse && this.#isHttpSse(request.path)) {
      return whenDone(this.#httpSse.get(), (httpSse) => httpSse.serve(visit, (read) => this.#permits(read, visit)));
    }
    if (request.method === "POST") {
      request.body((body) => this.#try(request, reply, () => this.#post(visit, body)));
      return;
    }
    if (this.#stateful && request.method === "GET") {
      return whenDone(this.#stateful.get(), (stateful) => stateful.get(visit));
    }
    if (this.#stateful && request.method === "DELETE") {
      return whenDone(this.#stateful.get(), (stateful) => stateful.delete(visit));
    }
    const allow = this.#stateful ? "POST, GET, DELETE" : "POST";
    const error = { code: -32600, message: `${request.method}: expected ${allow}` };
    sendError(reply, 405, error, undefined, { ...headers, allow });
  }

  #post(visit: Visit, body: string | BodyProblem): MaybePromise<void> {
    const { reply, headers } = visit;
    if (typeof body !== "string") {
      const code = body.status === 400 ? -32700 : -32600;
      sendError(reply, body.status, { code, message: body.why }, undefined, headers);
      return;
    }
    const read = readBody(body);
    return isPromise(read) ? read.then((later) => this.#take(later, visit)) : this.#take(read, visit);
  }

  #take(read: Message | Message[] | Unreadable, visit: Visit): MaybePromise<void> {
    const { request, reply, headers, accepts } = visit;
    if (isUnreadable(read)) {
      const { code, why, id } = read;
      const name = code === -32700 ? "Parse error" : "Invalid request";
      sendError(reply, 400, { code, message: `${name}: ${why}` }, id, headers);
    } else if (!accepts.json && !accepts.events) {
      const message = "Accept: expected application/json or text/event-stream among the types";
      sendError(reply, 406, { code: -32600, message }, idOf(read), headers);
    } else if (!this.#permits(read, visit)) return;
    else if (Array.isArray(read) || !this.#isStateless(read, request)) return this.#postStateful(read, visit);
    else if (isRequest(read)) serveStateless(this.#serving, read, visit);
    else reply.send(202, headers);
  }

  /** Whether the caller may do all this; answers if not. */
  #permits(messages: Message | Message[], visit: Visit): boolean {
    return this.#entrance?.loaded?.permits(messages, visit) ?? true;
  }

  #postStateful(messages: Message | Message[], visit: Visit): MaybePromise<void> {
    if (this.#stateful?.loaded) return this.#stateful.loaded.post(messages, visit);
    if (this.#stateful) return whenDone(this.#stateful.get(), (stateful) => stateful.post(messages, visit));
    const message = `This server takes no sessions; it speaks ${perRequestVersions.join(", ")}`;
    const error = { code: -32602, message, data: { supported: perRequestVersions } };
    sendError(visit.reply, 400, error, idOf(messages), visit.headers);
  }

  #isHttpSse(path: string): boolean {
    if (!this.#paths) return false;
    return path === this.#paths.path || path.startsWith(`${this.#paths.messagesPath}/`);
  }

  /** What names its version itself is stateless, and so is what names a version that no handshake leads to. */
  #isStateless(message: Message, request: HttpRequest): boolean {
    if (!("method" in message)) return false;
    if (metaOf(message.params)?.[metaKeys.protocolVersion] !== undefined) return true;
    const version = request.header(headerKeys.version)?.trim();
    if (version === undefined || request.header(headerKeys.session) !== undefined) return false;
    return !handshakes.some((revision) => revision.version === version);
  }
}
