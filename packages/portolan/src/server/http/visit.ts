import type { Principal } from "../call/exchange.ts";
import type { Accepted } from "./accept.ts";
import type { HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";

/** One HTTP request that was let in, with what its answer carries in any case. */
export interface Visit {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly principal: Principal;
  readonly headers: HttpHeaders;
  readonly accepts: Accepted;
}
