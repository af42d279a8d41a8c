import { PortolanError } from "../../errors.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Principal } from "../call/exchange.ts";
import type { HttpHeaders, HttpRequest } from "./adapter.ts";

/** Refuses a request before its body is read. */
export interface Refusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly why: string;
  readonly headers?: HttpHeaders;
}

/** What a caller asks for: a method, and the name of the tool, prompt or resource where it has one. */
export interface AccessRequest {
  readonly method: string;
  readonly name: string | undefined;
}

/** Lets in who may come in, and says what they may do; `protect` of `portolan/auth/server` makes one. */
export interface AccessControl {
  readonly verify: Verifier;
  /** Refuses what a caller may not do, all requests of a body at once; nothing is asked where there is no body. */
  readonly permit?: (principal: Principal, asked: readonly AccessRequest[]) => Refusal | undefined;
  /** JSON documents that everybody may read, by their path. */
  readonly documents?: ReadonlyMap<string, string>;
}

/** Says who makes a request, or refuses it. */
export type Verifier = (request: HttpRequest) => Promise<Principal | Refusal> | Principal | Refusal;

export interface SessionOptions {
  /** How long a session may be unused; 30 min unless said otherwise. */
  readonly idleMs?: number;
  /** How many there may be at once; 10,000 unless said otherwise. */
  readonly max?: number;
  /** How many may begin within a minute; 600 unless said otherwise. */
  readonly perMinute?: number;
}

export interface HttpLimits {
  /** 4 MiB unless said otherwise. */
  readonly bodyBytes?: number;
  /** How long a body may take to arrive; 30 s unless said otherwise. */
  readonly bodyMs?: number;
  /** How long the headers may take; 10 s unless said otherwise. */
  readonly headersMs?: number;
  /** Open event streams in all; 5,000 unless said otherwise. More are refused, none is cut for another. */
  readonly streams?: number;
  /** Open event streams of one principal; 1,000 unless said otherwise. */
  readonly streamsPerPrincipal?: number;
  /** Characters a client may leave unread before it is cut; 8 Mi unless said otherwise. */
  readonly backlog?: number;
  /** Open connections; as many as the system allows unless said. */
  readonly connections?: number;
}

export interface ServeHttpOptions {
  /** Where the endpoint is; `/mcp` unless said otherwise. */
  readonly path?: string;
  /** Host names, with their port where it is not the default one, under which this server may be addressed; loopback names unless said. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may use this server; none unless said. */
  readonly allowedOrigins?: readonly string[];
  /** Authenticates every request. Without one, everybody is the same anonymous principal. */
  readonly verify?: Verifier;
  /** Authenticates every request, and says what its caller may do. */
  readonly auth?: AccessControl;
  /** Listens on other than loopback addresses without `verify`. */
  readonly dangerouslyAllowUnauthenticated?: boolean;
  /** Keeps sessions and their events, shared by all processes that serve them; in memory unless said. */
  readonly storage?: Storage;
  /** `false` refuses clients that need a handshake. */
  readonly sessions?: SessionOptions | false;
  /** Serves the two endpoints of 2024-11-05 as well. */
  readonly httpSse?: boolean | { readonly path?: string; readonly messagesPath?: string };
  readonly limits?: HttpLimits;
  /** Silence after which a stream is kept alive by a comment; 15 s unless said otherwise. */
  readonly keepAliveMs?: number;
  /** How long a call may be silent before its answer becomes a stream; 5 s unless said otherwise. */
  readonly quietMs?: number;
}

/** Who says who may come in, if anybody does. */
export function protectionOf({ auth, verify }: ServeHttpOptions): AccessControl | undefined {
  if (auth && verify) {
    throw new PortolanError("invalid-argument", "serveHttp: expected `auth` or `verify`, got both; leave `verify` out");
  }
  return auth ?? (verify && { verify });
}

/** The anonymous caller of a server without authentication. */
export const anonymous: Principal = { key: "anonymous" };
