import { type MaybePromise, whenDone } from "../../async.ts";
import { isRequest, type Message, type RequestId, rpcCodes } from "../../jsonrpc/message.ts";
import type { Principal } from "../call/exchange.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import type { HttpContext } from "./endpoint.ts";
import type { AccessControl, AccessRequest, Refusal } from "./options.ts";
import { idOf, sendError } from "./reply.ts";

/** The authorizer of a protected endpoint. */
export class Authorizer {
  readonly #protection: AccessControl;

  constructor(protection: AccessControl) {
    this.#protection = protection;
  }

  /** Who makes a request; undefined when it is answered already, with a document or a refusal. */
  admit(request: HttpRequest, reply: HttpReply, headers: HttpHeaders): MaybePromise<Principal | undefined> {
    const document = this.#protection.documents?.get(request.path);
    if (document !== undefined) {
      reply.send(200, { ...headers, "content-type": "application/json", "cache-control": "max-age=3600" }, document);
      return undefined;
    }
    return whenDone(this.#protection.verify(request), (verdict) => {
      if (!("status" in verdict)) return verdict;
      refuse(reply, verdict, headers);
      return undefined;
    });
  }

  /** Whether the caller may do all this; answers if not. */
  permits(messages: Message | Message[], { reply, principal, headers }: HttpContext): boolean {
    const refusal = this.#protection.permit?.(principal, askedIn(messages));
    if (refusal) refuse(reply, refusal, headers, idOf(messages));
    return !refusal;
  }
}

function refuse(reply: HttpReply, refusal: Refusal, headers: HttpHeaders, id?: RequestId): void {
  const error = { code: rpcCodes.invalidRequest, message: refusal.why };
  sendError(reply, refusal.status, error, id, { ...headers, ...refusal.headers });
}

function askedIn(messages: Message | Message[]): AccessRequest[] {
  return (Array.isArray(messages) ? messages : [messages]).filter(isRequest).map(({ method, params }) => {
    const name = params?.["name"] ?? params?.["uri"];
    return { method, name: typeof name === "string" ? name : undefined };
  });
}
