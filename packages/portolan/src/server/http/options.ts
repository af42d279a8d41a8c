import { nameOf, PortolanError } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Principal } from "../call/exchange.ts";
import type { HttpHeaders, HttpRequest } from "./adapter.ts";

/** A refusal of a request. */
export interface Refusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly why: string;
  readonly headers?: HttpHeaders;
}

/** An action that a caller requests: a method, and the name of the tool or prompt or the URI of the resource. */
export interface AccessRequest {
  readonly method: string;
  readonly name: string | undefined;
}

/** Authentication and authorization of an endpoint; `protect` of `portolan/auth/server` makes one. */
export interface AccessControl {
  readonly verify: Verifier;
  /** Returns a refusal if the caller may not do all of this: the requests of one body, or none for a request without body. */
  readonly permit?: (principal: Principal, requested: readonly AccessRequest[]) => Refusal | undefined;
  /** JSON documents that are served without authentication, by path. */
  readonly documents?: ReadonlyMap<string, string>;
}

/** Returns the principal of a request, or a refusal. */
export type Verifier = (request: HttpRequest) => Promise<Principal | Refusal> | Principal | Refusal;

export interface SessionOptions {
  /** Time for which an unused session is kept. Default: 30 minutes. */
  readonly idleMs?: number;
  /** Sessions at once. Default: 10,000. */
  readonly max?: number;
  /** Sessions that may begin within one minute. Default: 600. */
  readonly perMinute?: number;
}

export interface HttpLimits {
  /** Size of a request body. Default: 4 MiB. */
  readonly bodyBytes?: number;
  /** Time in which a body has to arrive. Default: 30 s. */
  readonly bodyMs?: number;
  /** Time in which the headers have to arrive. Default: 10 s. */
  readonly headersMs?: number;
  /** Open event streams of the endpoint. A further one is refused; none is closed for another. Default: 5,000. */
  readonly streams?: number;
  /** Open event streams of one principal. Default: 1,000. */
  readonly streamsPerPrincipal?: number;
  /** Characters that a client may leave unread before its stream is closed. Default: 8 Mi. */
  readonly backlog?: number;
  /** Open connections. Default: as many as the system allows. */
  readonly connections?: number;
}

export interface ServeHttpOptions {
  /** The path of the endpoint. Default: "/mcp". */
  readonly path?: string;
  /** Values of the Host header that are accepted, with a port unless it is the default one. Default: loopback names. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may use this server. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** Authenticates every request. Default: all callers are the same anonymous principal. */
  readonly verify?: Verifier;
  /** Authenticates every request and decides what its caller may do. */
  readonly auth?: AccessControl;
  /** Allows listening on other than loopback addresses without `auth` or `verify`. */
  readonly dangerouslyAllowUnauthenticated?: boolean;
  /** Keeps sessions and their events; all processes that share it serve the same sessions. Default: in memory. */
  readonly storage?: Storage;
  /** Limits of sessions. `false` refuses clients that begin with a handshake. */
  readonly sessions?: SessionOptions | false;
  /** Also serves the two endpoints of 2024-11-05. Default: false; paths "/sse" and "/messages". */
  readonly httpSse?: boolean | { readonly path?: string; readonly messagesPath?: string };
  readonly limits?: HttpLimits;
  /** Silence after which a comment keeps a stream alive. Default: 15 s. */
  readonly keepAliveMs?: number;
  /** Silence after which the answer to a call becomes a stream. Default: 5 s. */
  readonly quietMs?: number;
}

const optionNames = {
  path: 1,
  allowedHosts: 1,
  allowedOrigins: 1,
  verify: 1,
  auth: 1,
  dangerouslyAllowUnauthenticated: 1,
  storage: 1,
  sessions: 1,
  httpSse: 1,
  limits: 1,
  keepAliveMs: 1,
  quietMs: 1,
} satisfies OptionNames<ServeHttpOptions>;

const limitNames = {
  bodyBytes: 1,
  bodyMs: 1,
  headersMs: 1,
  streams: 1,
  streamsPerPrincipal: 1,
  backlog: 1,
  connections: 1,
} satisfies OptionNames<HttpLimits>;

const sessionNames = { idleMs: 1, max: 1, perMinute: 1 } satisfies OptionNames<SessionOptions>;

/** Throws if the options have a name that `serveHttp` does not know, or contradict each other. */
export function checkHttpOptions(options: ServeHttpOptions): void {
  checkOptions(options, optionNames, "serveHttp");
  const { auth, verify, limits, sessions, path } = options;
  if (auth && verify) {
    throw new PortolanError("invalid-argument", "serveHttp: expected `auth` or `verify`, got both");
  }
  if (path !== undefined && !path.startsWith("/")) {
    throw new PortolanError("invalid-argument", `serveHttp: path: expected a path such as "/mcp", got ${nameOf(path)}`);
  }
  if (limits) checkOptions(limits, limitNames, "serveHttp: limits", { synonyms: { body: "bodyBytes" } });
  if (sessions) checkOptions(sessions, sessionNames, "serveHttp: sessions");
}

/** Returns the access control of an endpoint; undefined if all callers are anonymous. */
export function accessControlOf({ auth, verify }: ServeHttpOptions): AccessControl | undefined {
  return auth ?? (verify && { verify });
}

/** The anonymous caller of a server without authentication. */
export const anonymous: Principal = { key: "anonymous" };
