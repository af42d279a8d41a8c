import { PortolanError } from "../../errors.ts";
import { readText } from "../../jsonrpc/framing.ts";
import type { Message, RequestId, RpcRequest, Unreadable } from "../../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../../protocol/meta.ts";
import { handshakes, perRequestVersions } from "../../protocol/revisions/index.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import { headerKeys } from "../../transport/request-headers.ts";
import type { Principal } from "../exchange.ts";
import { runtimeOf, type Served } from "../server.ts";
import { readAccept } from "./accept.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./door.ts";
import { createGuard } from "./guard.ts";
import { HttpSse } from "./http-sse.ts";
import { anonymous, type Refusal, type ServeHttpOptions } from "./options.ts";
import { Serving } from "./serving.ts";
import { Stateful } from "./stateful.ts";
import { serveStateless } from "./stateless.ts";
import { sendError } from "./status.ts";
import type { Visit } from "./visit.ts";

/** Where the endpoint is unless said otherwise. */
export const defaultPath = "/mcp";

/** One address for clients of all revisions; which era a request belongs to is decided here and nowhere else. */
export class Endpoint {
  readonly #serving: Serving;
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #options: ServeHttpOptions;
  readonly #stateful: Stateful | undefined;
  readonly #httpSse: HttpSse | undefined;
  #isClosing = false;

  constructor(server: Served, options: ServeHttpOptions) {
    this.#options = options;
    this.#serving = new Serving(runtimeOf(server), options);
    this.#guard = createGuard(options);
    const { sessions = {}, storage = createMemoryStorage() } = options;
    this.#stateful = sessions === false ? undefined : new Stateful(this.#serving, storage, sessions);
    const { httpSse = false } = options;
    if (httpSse) this.#httpSse = new HttpSse(server, this.#serving, httpSse === true ? {} : httpSse);
  }

  /** Whether something is served at a path. */
  owns(path: string): boolean {
    return path === (this.#options.path ?? defaultPath) || this.#httpSse?.owns(path) === true;
  }

  readonly handle = (request: HttpRequest, reply: HttpReply): void => {
    this.#handle(request, reply).catch((cause) => {
      const reference = this.#serving.runtime.report(cause, `${request.method} ${request.path}`);
      sendError(reply, 500, { code: -32603, message: `Internal error (reference ${reference})` });
    });
  };

  /** Stops accepting, lets what runs end within the grace, and then gives it up. */
  async close(graceMs = 10_000): Promise<void> {
    this.#isClosing = true;
    const drained = this.#serving.drain().then(() => true);
    await Promise.all([this.#stateful?.close(), this.#httpSse?.close()]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    if (!(await Promise.race([drained, late]))) {
      this.#serving.cancelAll(new PortolanError("connection-closed", "The server is shutting down"));
    }
    clearTimeout(timer);
  }

  async #handle(request: HttpRequest, reply: HttpReply): Promise<void> {
    const denial = this.#guard.check(request);
    if (denial) {
      sendError(reply, denial.status, { code: -32600, message: denial.why }, undefined, denial.headers);
      return;
    }
    const preflight = this.#guard.preflight(request);
    if (preflight) {
      reply.send(preflight.status, preflight.headers);
      return;
    }
    const headers = this.#guard.corsHeaders(request);
    if (this.#isClosing) {
      const closing = { ...headers, "retry-after": "5", connection: "close" };
      sendError(reply, 503, { code: -32603, message: "The server is shutting down" }, undefined, closing);
      return;
    }
    const principal = await this.#verify(request, reply, headers);
    if (!principal) return;
    const visit: Visit = { request, reply, principal, headers, accepts: readAccept(request.header("accept")) };
    if (this.#httpSse?.owns(request.path)) await this.#httpSse.serve(visit);
    else if (request.method === "POST") await this.#post(visit);
    else if (request.method === "GET" && this.#stateful) await this.#stateful.get(visit);
    else if (request.method === "DELETE" && this.#stateful) await this.#stateful.delete(visit);
    else {
      const allow = this.#stateful ? "POST, GET, DELETE" : "POST";
      const error = { code: -32600, message: `${request.method}: expected ${allow}` };
      sendError(reply, 405, error, undefined, { ...headers, allow });
    }
  }

  async #verify(request: HttpRequest, reply: HttpReply, headers: HttpHeaders): Promise<Principal | undefined> {
    const { verify } = this.#options;
    if (!verify) return anonymous;
    const verdict: Principal | Refusal = await verify(request);
    if (!("status" in verdict)) return verdict;
    const error = { code: -32600, message: verdict.why };
    sendError(reply, verdict.status, error, undefined, { ...headers, ...verdict.headers });
    return undefined;
  }

  async #post(visit: Visit): Promise<void> {
    const { request, reply, headers } = visit;
    const body = await request.body();
    if (typeof body !== "string") {
      sendError(reply, body.status, { code: -32600, message: body.why }, undefined, headers);
      return;
    }
    let read: Message | Message[] | undefined;
    let problem: Unreadable | undefined;
    readText(body, {
      message(message) {
        read = message;
      },
      batch(messages) {
        read = messages;
      },
      unreadable(why) {
        problem = why;
      },
    });
    if (problem) {
      const { code, why, id } = problem as Unreadable;
      const name = code === -32700 ? "Parse error" : "Invalid request";
      sendError(reply, 400, { code, message: `${name}: ${why}` }, id, headers);
      return;
    }
    if (read === undefined) {
      sendError(reply, 400, { code: -32700, message: "Parse error: the body is empty" }, undefined, headers);
      return;
    }
    const { accepts } = visit;
    if (!accepts.json && !accepts.events) {
      const message = "Accept: expected application/json or text/event-stream among the types";
      sendError(reply, 406, { code: -32600, message }, idOf(read), headers);
      return;
    }
    if (Array.isArray(read) || !this.#isStateless(read, request)) {
      await this.#postStateful(read, visit);
      return;
    }
    if ("method" in read && "id" in read) {
      serveStateless(this.#serving, read as RpcRequest, visit);
    } else reply.send(202, headers);
  }

  async #postStateful(messages: Message | Message[], visit: Visit): Promise<void> {
    if (this.#stateful) {
      await this.#stateful.post(messages, visit);
      return;
    }
    const message = `This server takes no sessions; it speaks ${perRequestVersions.join(", ")}`;
    const error = { code: -32602, message, data: { supported: perRequestVersions } };
    sendError(visit.reply, 400, error, idOf(messages), visit.headers);
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

/** The id of a request; undefined for everything else. */
function idOf(messages: Message | Message[]): RequestId | undefined {
  return !Array.isArray(messages) && "method" in messages && "id" in messages ? messages.id : undefined;
}
