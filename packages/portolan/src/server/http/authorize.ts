import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { isRequest, type Message, type RequestId, rpcCodes } from "../../jsonrpc/message.ts";
import { perRequestVersions } from "../../protocol/revisions/index.ts";
import type { Principal } from "../call/exchange.ts";
import type { Caller, Callers } from "../callers.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import { callerOf } from "./caller.ts";
import type { HttpContext } from "./endpoint.ts";
import { documentMaxAgeSeconds, retryAfterSeconds } from "./limits.ts";
import {
  type AccessControl,
  type AccessRequest,
  accessControlOf,
  anonymous,
  type Refusal,
  type ServeHttpOptions,
} from "./options.ts";
import { preflightHeaders } from "./preflight.ts";
import { idOf, refuse, sendError } from "./reply.ts";

/** The identity of a request, and the caller whose limits it uses. */
export interface Admitted {
  readonly principal: Principal;
  readonly caller: Caller;
}

/**
 * Authenticates and authorizes the requests of an endpoint, finds their callers, and answers what few clients send. Loaded
 * with the first request that needs it: an anonymous call of the same machine does not.
 */
export class Authorizer {
  readonly #access: AccessControl | undefined;
  readonly #options: ServeHttpOptions;
  readonly #callers: Callers;

  constructor(options: ServeHttpOptions, callers: Callers) {
    this.#access = accessControlOf(options);
    this.#options = options;
    this.#callers = callers;
  }

  /** Returns the principal and the caller; undefined if the request is answered already, with a document or a refusal. */
  admit(request: HttpRequest, reply: HttpReply, headers: HttpHeaders): MaybePromise<Admitted | undefined> {
    const document = this.#access?.documents?.get(request.path);
    if (document !== undefined) {
      const caching = `max-age=${documentMaxAgeSeconds}`;
      reply.send(200, { ...headers, "content-type": "application/json", "cache-control": caching }, document);
      return undefined;
    }
    return whenDone(this.#access ? this.#access.verify(request) : anonymous, (verdict) => {
      if (typeof (verdict as Principal)?.key === "string") {
        const principal = verdict as Principal;
        return { principal, caller: callerOf(this.#callers, request, principal, this.#options) };
      }
      if (typeof (verdict as Refusal)?.status !== "number") throw noVerdict(verdict);
      answerRefusal(reply, verdict as Refusal, headers);
      return undefined;
    });
  }

  /** Refuses a request while the server closes. */
  refuseClosing(reply: HttpReply, headers: HttpHeaders): void {
    const closing = { ...headers, "retry-after": String(retryAfterSeconds), connection: "close" };
    const error = { code: rpcCodes.internalError, message: "The server is shutting down" };
    sendError(reply, 503, error, undefined, closing);
  }

  /** Refuses a stateful client of a server without sessions. */
  refuseSession(messages: Message | Message[], { reply, headers }: HttpContext): void {
    const message = `This server has no sessions; use protocol version ${perRequestVersions.join(" or ")}`;
    const error = { code: rpcCodes.invalidParams, message, data: { supported: perRequestVersions } };
    sendError(reply, 400, error, idOf(messages), headers);
  }

  /** Answers the CORS preflight request of an allowed origin. */
  answerPreflight(request: HttpRequest, reply: HttpReply): void {
    reply.send(204, preflightHeaders(request));
  }

  /** Returns whether the caller may do all of this; answers with a refusal if not. */
  permits(messages: Message | Message[], { reply, principal, headers }: HttpContext): boolean {
    const refusal = this.#access?.permit?.(principal, actionsOf(messages));
    if (refusal) answerRefusal(reply, refusal, headers, idOf(messages));
    return !refusal;
  }
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
