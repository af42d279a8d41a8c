import { Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { maxWeightOfText } from "../../jsonrpc/limits.ts";
import {
  isRequest,
  type Message,
  type RequestId,
  type RpcRequest,
  rpcCodes,
  type Unreadable,
} from "../../jsonrpc/message.ts";
import { weigh } from "../../jsonrpc/weigh.ts";
import { revisions, statelessVersions } from "../../protocol/revisions/index.ts";
import { anonymous, type Principal } from "../call/exchange.ts";
import type { RatedEvent } from "../callers.ts";
import type { BodyProblem, HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import { callerKeyOf, callerOf, hasTwoAddresses, isFromLocalProxy } from "./caller.ts";
import type { CardDocuments } from "./card.ts";
import type { Endpoint, EndpointState, HttpContext } from "./endpoint.ts";
import { createGuard, type Guard, readAccept } from "./guard.ts";
import { documentMaxAgeSeconds, retryAfterSeconds, uncountedBytes } from "./limits.ts";
import {
  type AccessControl,
  type AccessRequest,
  accessControlOf,
  cardCatalogPath,
  cardSuffix,
  defaultPath,
  type Refusal,
  type ServeHttpOptions,
} from "./options.ts";
import { preflightHeaders } from "./preflight.ts";
import { answerError, idOf, refuse, sendError } from "./reply.ts";
import type { StatefulServer } from "./sessions/post.ts";

/**
 * Checks, authenticates and authorizes the requests of an endpoint, finds their callers, and answers what few clients send.
 * Loaded with the first request that needs it: an ordinary call of the same machine does not.
 */
export class Authorizer {
  readonly #access: AccessControl | undefined;
  readonly #options: ServeHttpOptions;
  readonly #state: EndpointState;
  readonly #guard: Guard;
  readonly #card: Lazy<CardDocuments> | undefined;

  #hasWarned = false;

  constructor(options: ServeHttpOptions, state: EndpointState) {
    this.#access = accessControlOf(options);
    this.#options = options;
    this.#state = state;
    this.#guard = createGuard(options);
    state.ratedEvent = ratedEvent;
    if (options.card) {
      const card = new Lazy(async () => (await import("./card.ts")).createCardDocuments(options, state.runtime));
      this.#card = card;
      // Begun at once, so that an invalid card is reported where `listen` is not called.
      state.background((async () => void (await card.get()))());
    }
  }

  /** Returns the admitted request; undefined if it is answered already, with a refusal or a document. */
  admit(request: HttpRequest, reply: HttpReply, isClosing: boolean): MaybePromise<HttpContext | undefined> {
    // First, because a page of any origin may read it.
    if (this.#isCard(request.path)) {
      return whenDone(this.#card?.get(), (card) => void card?.answer(request, reply));
    }
    const denial = this.#guard.check(request);
    if (denial) {
      if (denial.status === 403) this.#refused(request, anonymous, denial.status, denial.why);
      return void refuse(reply, denial.status, denial.why, denial.headers);
    }
    if (this.#guard.isPreflight(request)) return void reply.send(204, preflightHeaders(request));
    const headers = this.#guard.corsHeaders(request);
    if (isClosing && request.method !== "POST") return void this.#refuseClosing(request, anonymous, reply, headers, []);
    const document = this.#access?.documents?.get(request.path);
    if (document !== undefined) {
      const caching = `max-age=${documentMaxAgeSeconds}`;
      reply.send(200, { ...headers, "content-type": "application/json", "cache-control": caching }, document);
      return undefined;
    }
    const accepts = readAccept(request.header("accept"));
    return whenDone(this.#access ? this.#access.verify(request) : anonymous, (verdict) => {
      if (typeof (verdict as Principal)?.key === "string") {
        const principal = verdict as Principal;
        if (hasTwoAddresses(request, principal, this.#options)) {
          // No caller: one of the two addresses may be forged.
          this.#state.callers.onRefused?.({ caller: undefined, status: 400, reason: twoAddresses });
          return void refuse(reply, 400, twoAddresses, headers);
        }
        const caller = callerOf(this.#state.callers, request, principal, this.#options);
        if (caller === this.#state.callers.total && !this.#hasWarned) this.#warnOfProxy(request);
        return { request, reply, principal, caller, headers, accepts, size: 0, isClosing };
      }
      if (typeof (verdict as Refusal)?.status !== "number") throw noVerdict(verdict);
      const refusal = verdict as Refusal;
      this.#refused(request, anonymous, refusal.status, refusal.why);
      answerRefusal(reply, refusal, headers);
      return undefined;
    });
  }

  /** Refuses a body that could not be read, one that is no message, and messages whose answer the client would not accept. */
  refuseBody(body: BodyProblem | Unreadable | Message | Message[], context: HttpContext): void {
    const { reply, headers, caller } = context;
    // First, because a message may have any members.
    if (Array.isArray(body) || "jsonrpc" in body) {
      refuse(reply, 406, "Accept: expected application/json or text/event-stream", headers, idOf(body));
    } else if ("error" in body) {
      answerError(reply, body.error, headers);
    } else if ("status" in body) {
      const { status } = body;
      if (status !== 400) {
        caller.refused({ status, limit: status === 413 ? "bodyBytes" : "bodyMs", reason: body.why });
      }
      const code = body.status === 400 ? rpcCodes.parseError : rpcCodes.invalidRequest;
      sendError(reply, body.status, { code, message: body.why }, undefined, headers);
    } else {
      const name = body.code === rpcCodes.parseError ? "Parse error" : "Invalid request";
      sendError(reply, 400, { code: body.code, message: `${name}: ${body.why}` }, body.id, headers);
    }
  }

  /** Serves a request that is no POST. */
  serveOther(context: HttpContext, stateful: Lazy<StatefulServer> | undefined): MaybePromise<void> {
    const { request, reply, headers } = context;
    if (stateful && request.method === "GET") return whenDone(stateful.get(), (server) => server.get(context));
    if (stateful && request.method === "DELETE") return whenDone(stateful.get(), (server) => server.delete(context));
    const allow = stateful ? "POST, GET, DELETE" : "POST";
    refuse(reply, 405, `${request.method}: expected ${allow}`, { ...headers, allow });
  }

  /** Returns whether a path is the one of the card, wherever a framework mounts the endpoint, or of its catalog. */
  #isCard(path: string): boolean {
    const { card } = this.#options;
    return card !== undefined && (path.endsWith(cardSuffix) || (card.catalog === true && path === cardCatalogPath));
  }

  /** Answers a request for a path of `listen` where no messages are served. */
  answerPath(request: HttpRequest, reply: HttpReply, endpoint: Endpoint): MaybePromise<void> {
    const { path } = request;
    const isReady = path === endpoint.readyPath ? endpoint.isReady : undefined;
    const isCard = path === (this.#options.path ?? defaultPath) + cardSuffix || path === cardCatalogPath;
    if (this.#access?.documents?.has(path) || (isCard && this.#isCard(path))) {
      return whenDone(this.admit(request, reply, endpoint.isClosing), () => {});
    }
    // A path that the operator chose may be meant to stay unknown.
    const known = this.#options.path === undefined ? `; it is at ${defaultPath}` : "";
    if (isReady === undefined) refuse(reply, 404, `No endpoint at ${path}${known}`);
    else if (isReady) reply.send(200, plainText, "ready\n");
    else reply.send(503, plainText, "shutting down\n");
  }

  /** Refuses a stateful client of a server without sessions. */
  refuseSession(messages: Message | Message[], { reply, headers }: HttpContext): void {
    const message = `This server has no sessions; use protocol version ${statelessVersions.join(" or ")}`;
    const error = { code: rpcCodes.invalidParams, message, data: { supported: statelessVersions } };
    sendError(reply, 400, error, idOf(messages), headers);
  }

  /** Returns whether the caller may do all of this; answers with a refusal if not. */
  permits(messages: Message | Message[], context: HttpContext): boolean {
    const { request, reply, principal, headers, isClosing } = context;
    if (isClosing && ![messages].flat().every(mayContinueCall)) {
      this.#refuseClosing(request, principal, reply, headers, messages);
      return false;
    }
    context.size = weightOf(messages, context.size);
    const refusal = this.#access?.permit?.(principal, actionsOf(messages));
    if (!refusal) return true;
    this.#refused(request, principal, refusal.status, refusal.why, [messages].flat().find(isRequest));
    answerRefusal(reply, refusal, headers, idOf(messages));
    return false;
  }

  #refused(http: HttpRequest, principal: Principal, status: number, why: string, request?: RpcRequest): void {
    const { onRefused } = this.#state.callers;
    if (!onRefused) return;
    // A verifier may repeat the token that it refuses, which must not get into a log.
    const token = http.header("authorization")?.trim().split(/\s+/).at(-1) ?? "";
    const reason = token.length < minTokenCharacters ? String(why) : String(why).replaceAll(token, "…");
    onRefused({ caller: callerKeyOf(http, principal, this.#options), status, reason, request });
  }

  #refuseClosing(
    http: HttpRequest,
    principal: Principal,
    reply: HttpReply,
    headers: HttpHeaders,
    messages: Message | Message[],
  ): void {
    this.#refused(http, principal, 503, shuttingDown, [messages].flat().find(isRequest));
    const closing = { ...headers, "retry-after": String(retryAfterSeconds), connection: "close" };
    sendError(reply, 503, { code: rpcCodes.internalError, message: shuttingDown }, idOf(messages), closing);
  }

  /** Warns once of a proxy that makes all callers look like one of this machine, which has no limits of its own. */
  #warnOfProxy(request: HttpRequest): void {
    if (this.#options.trustProxy || !isFromLocalProxy(request)) return;
    this.#hasWarned = true;
    this.#state.runtime.report(
      new PortolanError(
        "invalid-argument",
        "serveHttp: a proxy on this machine forwards requests, so all anonymous callers count as local and have no limits of their own. Set `trustProxy: { header }` to the header that the proxy writes, or tell callers apart with `caller`",
      ),
    );
  }
}

const twoAddresses =
  "X-Forwarded-For, Forwarded: expected one of them, got both, and the client may have forged one. " +
  "Let the proxy remove the one that it does not write, or name the other in `trustProxy: { header }` of the server.";

const shuttingDown = "The server is shutting down";

/** Shorter credentials are no secrets, and may be words of a sentence. */
const minTokenCharacters = 6;

const plainText: HttpHeaders = { "content-type": "text/plain", "cache-control": "no-store" };

/** Returns whether a running call may wait for a message: an answer, a cancellation, or the retry of a call. */
function mayContinueCall(message: Message): boolean {
  return !isRequest(message) || message.params?.["requestState"] !== undefined;
}

/** Returns the bytes that count for messages while they are served: the memory that they take, which few need to know. */
export function weightOf(messages: Message | Message[], characters: number): number {
  return characters * maxWeightOfText > uncountedBytes ? Math.max(characters, weigh(messages)) : characters;
}

function noVerdict(verdict: unknown): PortolanError {
  const expected = 'a principal such as { key: "ada" }, or a refusal such as { status: 401, why: "…" }';
  return new PortolanError("invalid-argument", `verify: expected ${expected}, got ${nameOf(verdict)}`);
}

function answerRefusal(reply: HttpReply, refusal: Refusal, headers: HttpHeaders, id?: RequestId): void {
  refuse(reply, refusal.status, refusal.why, { ...headers, ...refusal.headers }, id);
}

function actionsOf(messages: Message | Message[]): AccessRequest[] {
  return (Array.isArray(messages) ? messages : [messages]).filter(isRequest).map(({ method, params }) => {
    const name = params?.["name"] ?? params?.["uri"];
    return { method, name: typeof name === "string" ? name : undefined };
  });
}

/**
 * Returns the event that a request counts as, by the minute: whatever may run code of the server's author. Lists of
 * resources do, and methods of extensions, which no revision knows. Revisions agree on it.
 */
function ratedEvent(method: string): RatedEvent | undefined {
  const row = revisions.map(({ requests }) => requests.get(method)).find(Boolean);
  if (!row || row.runsHandler || row.capability === "resources") return "calls";
  return row.capability === "completions" ? "completions" : undefined;
}
