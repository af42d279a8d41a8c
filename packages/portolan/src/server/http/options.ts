import { PortolanError } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Principal } from "../call/exchange.ts";
import type { CallerLimits, RefusedRequest } from "../callers.ts";
import { unexpected } from "../define/check.ts";
import type { HttpHeaders, HttpRequest } from "./adapter.ts";
import type { ServerCardOptions } from "./card.ts";
import { isLoopback, toHost, toOrigin } from "./hosts.ts";
import {
  defaultBodyBytesPerMinute,
  defaultCallsPerMinute,
  defaultCompletionsPerMinute,
  defaultKeptBytes,
  defaultKeptBytesPerCaller,
  defaultMaxCalls,
  defaultMaxCallsPerCaller,
  defaultMaxSessions,
  defaultMaxSessionsPerCaller,
  defaultMaxStreams,
  defaultMaxStreamsPerCaller,
  defaultSessionsPerMinute,
  defaultSessionsPerMinutePerCaller,
  defaultSubscriptions,
  defaultSubscriptionsPerCaller,
  eventShare,
} from "./limits.ts";

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

/** How many sessions of stateful clients there may be, and how long they are kept. */
export interface SessionOptions {
  /** Time for which an unused session is kept. A call that nobody waits for is no use. Default: 30 minutes. */
  readonly idleMs?: number;
  /**
   * Time for which the calls of a session go on while nothing of the session is connected. The events of its streams are
   * kept no longer than this. Default: 5 minutes.
   */
  readonly abandonMs?: number;
  /**
   * Time after which a process that shares the storage is taken for dead: clients that resume one of its answers are told
   * that it is lost. Default: 10 s.
   */
  readonly leaseMs?: number;
  /** Sessions at once. Default: 10,000. */
  readonly max?: number;
  /** Sessions of one caller at once. Default: 100. */
  readonly maxPerCaller?: number;
  /** Sessions that may begin within one minute. Default: 6,000. */
  readonly perMinute?: number;
  /** Sessions that one caller may begin within one minute. Default: 120. */
  readonly perMinutePerCaller?: number;
}

/** Sizes, times and counts that an endpoint allows, in all and for each caller. */
export interface HttpLimits {
  /** Size of a request body. Default: 4 MiB. */
  readonly bodyBytes?: number;
  /** Time in which a body has to arrive. Default: 30 s. */
  readonly bodyMs?: number;
  /** Time in which the headers have to arrive. Default: 10 s. */
  readonly headersMs?: number;
  /** Open event streams of the endpoint. A further one is refused; none is closed for another. Default: 5,000. */
  readonly streams?: number;
  /** Open event streams of one caller. Default: 100. */
  readonly streamsPerCaller?: number;
  /** Resources that all callers are subscribed to; one that two of them watch counts twice. Default: 100,000. */
  readonly subscriptions?: number;
  /** Resources that one caller is subscribed to in all its sessions and streams. Default: 10,000. */
  readonly subscriptionsPerCaller?: number;
  /** Requests in flight. Default: 10,000. */
  readonly calls?: number;
  /** Requests in flight of one caller. Default: 256. */
  readonly callsPerCaller?: number;
  /**
   * Tool calls, reads and lists of resources, prompts, and requests of extensions of one caller within one minute. Default:
   * 6,000.
   */
  readonly callsPerMinute?: number;
  /** Completion requests of one caller within one minute. Default: 6,000. */
  readonly completionsPerMinute?: number;
  /** Size of all request bodies of one caller within one minute. Default: 64 MiB. */
  readonly bodyBytesPerMinute?: number;
  /** Bytes of sessions, stored events, arriving bodies, large requests in flight and unread answers. Default: 256 MiB. */
  readonly keptBytes?: number;
  /** The same for one caller. Default: 64 MiB. */
  readonly keptBytesPerCaller?: number;
  /** Characters that a client may leave unread before its stream is closed. Default: 8 Mi. */
  readonly backlog?: number;
  /** Open connections. Default: as many as the system allows. */
  readonly connections?: number;
}

/** The limit that refused a request: one of `limits` or `sessions`, or the size or time of a body. */
export type RefusedLimit = NonNullable<RefusedRequest["limit"]>;

/** Refused requests of one caller, for the same reason. */
export interface RefusalReport {
  /** `principal …`, `caller …` or `address …`. Undefined for callers that cannot be told apart. */
  readonly caller: string | undefined;
  /** The key of the principal, if the caller is authenticated. */
  readonly principal?: string;
  /** Absent if no limit refused the request: see `status` and `reason`. */
  readonly limit?: RefusedLimit;
  /**
   * The cause, for the operator: one sentence without control characters, at most 500 characters. It may tell more than the
   * client was told, and never contains a token.
   */
  readonly reason: string;
  /** The HTTP status of the response. A request without a status of its own counts as 429 or 503, and a connection as 503. */
  readonly status: number;
  /** The method of the latest refused request, if it is known. */
  readonly method?: string;
  /** The tool or prompt that it names, or the URI of its resource. */
  readonly name?: string;
  /** Refused requests since the last report for this caller and reason. */
  readonly count: number;
}

/** The proxies in front of a server. */
export interface TrustedProxy {
  /** The header that they write, such as "x-forwarded-for" or "forwarded". All others are ignored. */
  readonly header: string;
  /** The number of proxies, each of which appends an address. Default: 1. */
  readonly proxies?: number;
}

/** Options of `serveHttp`. */
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
  /**
   * Returns who sends an anonymous request, so that each caller has limits of its own. Default: the remote address.
   * An authenticated caller is its principal.
   */
  readonly caller?: (request: HttpRequest) => string | undefined;
  /**
   * Takes the address of an anonymous caller from the header in which the proxies in front of this server write it. A
   * number counts the proxies; a request with both `X-Forwarded-For` and `Forwarded` is then refused with 400, because its
   * client may have forged the one that the proxies do not write. Default: false, because any client can send these headers.
   */
  readonly trustProxy?: boolean | number | TrustedProxy;
  /** Allows listening on other than loopback addresses without `auth` or `verify`. */
  readonly dangerouslyAllowUnauthenticated?: boolean;
  /** Keeps sessions and their events; all processes that share it serve the same sessions. Default: in memory. */
  readonly storage?: Storage;
  /**
   * Processes that serve the same clients. With more than one and without a common `storage`, `listen` reports which clients are
   * refused at the others. Default: 1; a worker of `node:cluster` is one of several.
   */
  readonly instances?: number;
  /** Limits of sessions. `false` refuses clients that begin with a handshake. */
  readonly sessions?: SessionOptions | false;
  /** Also serves the two endpoints of 2024-11-05. Default: false; paths "/sse" and "/messages". */
  readonly httpSse?: boolean | { readonly path?: string; readonly messagesPath?: string };
  /**
   * Serves a server card at `<path>/server-card`, without authentication: it tells anyone how to connect. Default: none.
   * `listen` rejects if it is invalid.
   */
  readonly card?: ServerCardOptions;
  /** Sizes, times and counts. Default: those of each member. */
  readonly limits?: HttpLimits;
  /**
   * Receives refused requests: beyond a limit, without a valid token, forbidden, of an unknown session, with a state that
   * cannot be used, or while the server closes. The first one of a caller and reason is reported at once, and those that
   * follow once a minute, with their number. Default: nothing is reported.
   */
  readonly onRefused?: (report: RefusalReport) => void;
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
  caller: 1,
  trustProxy: 1,
  dangerouslyAllowUnauthenticated: 1,
  storage: 1,
  instances: 1,
  sessions: 1,
  httpSse: 1,
  card: 1,
  limits: 1,
  onRefused: 1,
  keepAliveMs: 1,
  quietMs: 1,
} satisfies OptionNames<ServeHttpOptions>;

const limitNames = {
  bodyBytes: 1,
  bodyMs: 1,
  headersMs: 1,
  streams: 1,
  streamsPerCaller: 1,
  subscriptions: 1,
  subscriptionsPerCaller: 1,
  calls: 1,
  callsPerCaller: 1,
  callsPerMinute: 1,
  completionsPerMinute: 1,
  bodyBytesPerMinute: 1,
  keptBytes: 1,
  keptBytesPerCaller: 1,
  backlog: 1,
  connections: 1,
} satisfies OptionNames<HttpLimits>;

const sessionNames = {
  idleMs: 1,
  abandonMs: 1,
  leaseMs: 1,
  max: 1,
  maxPerCaller: 1,
  perMinute: 1,
  perMinutePerCaller: 1,
} satisfies OptionNames<SessionOptions>;

const proxyNames = { header: 1, proxies: 1 } satisfies OptionNames<TrustedProxy>;

/** Throws if the options have a name that `serveHttp` does not know, or contradict each other. */
export function checkHttpOptions(options: ServeHttpOptions): void {
  checkOptions(options, optionNames, "serveHttp");
  const { auth, verify, limits, sessions, path, trustProxy } = options;
  if (auth && verify) {
    throw new PortolanError("invalid-argument", "serveHttp: expected `auth` or `verify`, got both");
  }
  if (path !== undefined && !path.startsWith("/")) {
    throw unexpected("serveHttp: path", 'a path such as "/mcp"', path, "invalid-argument");
  }
  if (typeof trustProxy === "object") checkOptions(trustProxy, proxyNames, "serveHttp: trustProxy");
  if (limits) checkOptions(limits, limitNames, "serveHttp: limits", { synonyms: { body: "bodyBytes" } });
  if (sessions) checkOptions(sessions, sessionNames, "serveHttp: sessions");
  // The guard parses these again, but it is loaded too late to report a wrong entry.
  options.allowedHosts?.forEach(toHost);
  options.allowedOrigins?.forEach(toOrigin);
}

/** Returns the limits of the callers of an endpoint. */
export function callerLimitsOf({ limits = {}, sessions }: ServeHttpOptions): CallerLimits {
  const { keptBytes = defaultKeptBytes, keptBytesPerCaller = defaultKeptBytesPerCaller } = limits;
  const { max, maxPerCaller, perMinute, perMinutePerCaller } = sessions || {};
  return {
    atOnce: {
      sessions: { perCaller: maxPerCaller ?? defaultMaxSessionsPerCaller, total: max ?? defaultMaxSessions },
      calls: { perCaller: limits.callsPerCaller ?? defaultMaxCallsPerCaller, total: limits.calls ?? defaultMaxCalls },
      streams: {
        perCaller: limits.streamsPerCaller ?? defaultMaxStreamsPerCaller,
        total: limits.streams ?? defaultMaxStreams,
      },
      subscriptions: {
        perCaller: limits.subscriptionsPerCaller ?? defaultSubscriptionsPerCaller,
        total: limits.subscriptions ?? defaultSubscriptions,
      },
      keptBytes: { perCaller: keptBytesPerCaller, total: keptBytes },
      eventBytes: { perCaller: keptBytesPerCaller * eventShare, total: keptBytes * eventShare },
    },
    perMinute: {
      handshakes: {
        perCaller: perMinutePerCaller ?? defaultSessionsPerMinutePerCaller,
        total: perMinute ?? defaultSessionsPerMinute,
      },
      calls: { perCaller: limits.callsPerMinute ?? defaultCallsPerMinute },
      completions: { perCaller: limits.completionsPerMinute ?? defaultCompletionsPerMinute },
      bodyBytes: { perCaller: limits.bodyBytesPerMinute ?? defaultBodyBytesPerMinute },
    },
  };
}

/** Returns the access control of an endpoint; undefined if all callers are anonymous. */
export function accessControlOf({ auth, verify }: ServeHttpOptions): AccessControl | undefined {
  return auth ?? (verify && { verify });
}

/** Returns whether it is safe to listen on an address: other machines may reach only a server that authenticates. */
export function isSafeBinding(host: string, options: ServeHttpOptions): boolean {
  return accessControlOf(options) !== undefined || options.dangerouslyAllowUnauthenticated === true || isLoopback(host);
}

export const defaultPath = "/mcp";

/** The end of the path of a server card. */
export const cardSuffix = "/server-card";

/** The path of the catalog that names a server card. */
export const cardCatalogPath = "/.well-known/ai-catalog.json";
