import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { isRequest, type Message, type RequestId } from "../../jsonrpc/message.ts";
import type { Principal } from "../call/exchange.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import type { HttpContext } from "./endpoint.ts";
import { documentMaxAgeSeconds } from "./limits.ts";
import type { AccessControl, AccessRequest, Refusal } from "./options.ts";
import { idOf, refuse } from "./reply.ts";

/** Authenticates and authorizes the requests of an endpoint. Loaded with the first request of an endpoint that needs it. */
export class Authorizer {
  readonly #access: AccessControl;

  constructor(access: AccessControl) {
    this.#access = access;
  }

  /** Returns the principal of a request; undefined if it is answered already, with a document or a refusal. */
  admit(request: HttpRequest, reply: HttpReply, headers: HttpHeaders): MaybePromise<Principal | undefined> {
    const document = this.#access.documents?.get(request.path);
    if (document !== undefined) {
      const caching = `max-age=${documentMaxAgeSeconds}`;
      reply.send(200, { ...headers, "content-type": "application/json", "cache-control": caching }, document);
      return undefined;
    }
    return whenDone(this.#access.verify(request), (verdict) => {
      if (typeof (verdict as Principal)?.key === "string") return verdict as Principal;
      if (typeof (verdict as Refusal)?.status !== "number") throw noVerdict(verdict);
      answerRefusal(reply, verdict as Refusal, headers);
      return undefined;
    });
  }

  /** Returns whether the caller may do all of this; answers with a refusal if not. */
  permits(messages: Message | Message[], { reply, principal, headers }: HttpContext): boolean {
    const refusal = this.#access.permit?.(principal, actionsOf(messages));
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
