import { PortolanError } from "../../errors.ts";
import {
  isRequest,
  type JsonObject,
  type Message,
  type RequestId,
  RpcError,
  type RpcRequest,
  rpcCodes,
} from "../../jsonrpc/message.ts";
import { ReportThrottle, reportIntervalMs } from "../../throttle.ts";
import { nameIn, type ServedExchange } from "../call/exchange.ts";
import type { Caller, CallerLimits, CountedResource, Exhausted, RatedEvent, RefusedRequest } from "../callers.ts";
import type { ErrorReport } from "../define/definition.ts";
import { networkOf } from "./caller.ts";
import type { EndpointState, HttpContext } from "./endpoint.ts";
import {
  busyReportMs,
  maxCallersWithReasons,
  maxListedCallers,
  maxListedCalls,
  maxNamedLostCalls,
  maxReasonCharacters,
  maxReasonsPerCaller,
  msPerMebibyte,
  retryAfterSeconds,
  uncountedBytes,
} from "./limits.ts";
import type { RefusalReport, ServeHttpOptions } from "./options.ts";
import { idOf, sendError } from "./reply.ts";

/** The resources that callers use at once. */
export interface CallerUsage {
  /** `principal …`, `caller …` or `address …`. Absent for callers that cannot be told apart. */
  readonly caller?: string;
  readonly sessions: number;
  readonly calls: number;
  readonly streams: number;
  readonly keptBytes: number;
  /** The same in all processes with the same `storage`, whose sum is limited. Absent if there is none, or it does not answer. */
  readonly inAllProcesses?: { readonly sessions: number; readonly streams: number };
}

/** A request in progress. */
export interface CallInProgress {
  readonly method: string;
  /** The tool or prompt that it names, or the URI of its resource. */
  readonly name?: string;
  readonly principal: string;
  readonly caller?: string;
  readonly ageMs: number;
  /**
   * True if the request is cancelled or its client is gone: the handler goes on, and nobody waits for it. A handler that
   * ignores its signal holds a call of its caller until it ends.
   */
  readonly isAbandoned?: true;
  /** Present while the request is not served yet, because the storage has not answered. */
  readonly waitsFor?: "storage";
}

/** A request that waits for the storage before it can be served. */
export interface WaitingRequest {
  readonly method: string;
  readonly name: string | undefined;
  readonly id: RequestId | undefined;
  readonly context: HttpContext;
  /** By the monotonic clock. */
  readonly begunAt: number;
  /** True once it was answered with an error, because the server closes. */
  isCutOff: boolean;
}

/**
 * Counts a request as a call of its caller while it waits for the storage. Returns undefined and does not begin the work if
 * that is beyond a limit; then the request is refused.
 *
 * @param refuse answers the request with an error
 */
export function whileWaiting<T>(
  state: EndpointState,
  context: HttpContext,
  messages: Message | Message[] | undefined,
  work: () => Promise<T>,
  refuse: (error: RpcError) => void,
): Promise<T> | undefined {
  const { caller, size, request } = context;
  const [message] = [messages ?? []].flat();
  const { method = message ? "response" : request.method, params } = (message ?? {}) as Partial<RpcRequest>;
  // The calls of this turn count too.
  state.endTurn();
  const calls = caller.exhausts("calls");
  const full = calls ?? (size > uncountedBytes ? caller.exhausts("keptBytes", size) : undefined);
  if (full) {
    const refused = message && isRequest(message) ? message : undefined;
    refuse(caller.beyond(calls ? "calls" : "keptBytes", full, undefined, refused));
    return undefined;
  }
  const entry: WaitingRequest = {
    method: copyOf(method),
    name: nameIn(params as JsonObject | undefined),
    id: messages && idOf(messages),
    context,
    begunAt: performance.now(),
    isCutOff: false,
  };
  state.waiting ??= new Set();
  state.waiting.add(entry);
  state.count(context, 1);
  const waited = work().finally(() => {
    state.waiting?.delete(entry);
    state.count(context, -1);
    // After this turn, because the request may be running then.
    setTimeout(state.endIfIdle, 0);
  });
  // A request that was answered already must not be carried out: its client may retry it elsewhere.
  return waited.then((value) => (entry.isCutOff ? new Promise<T>(() => {}) : value));
}

/** The use of an endpoint, for its operator. */
export interface EndpointUsage {
  /** All callers together, also those without a key. */
  readonly total: CallerUsage;
  /** The callers that use something now; those that are nearest to a limit come first. At most 100. */
  readonly callers: readonly CallerUsage[];
  /** The requests in progress, oldest first. At most 100. Calls over HTTP+SSE are counted above, but not listed. */
  readonly calls: readonly CallInProgress[];
}

const mebibyte = 1024 * 1024;

type AcceptError = Error & { readonly code?: string };

/** Reports refusals and failures of an endpoint to its operator, and tells what callers use. */
export class Observer {
  readonly #state: EndpointState;
  readonly #refusals: ReportThrottle<Omit<RefusalReport, "count">>;
  readonly #acceptErrors: ReportThrottle<AcceptError>;
  readonly #longRequests: ReportThrottle<{ readonly error: PortolanError; readonly about: ErrorReport }>;
  readonly #maxConnections: number | undefined;
  /** The characters of large requests, and the time for which they have kept the process busy. */
  readonly #large = new WeakMap<HttpContext, { readonly length: number; readonly busyMs: number }>();
  /** The reasons of this minute, by status and caller. */
  readonly #reasons = new Map<string, Set<string>>();
  #minute = 0;
  #hasLostProgress = false;

  constructor(state: EndpointState, { onRefused, limits }: ServeHttpOptions) {
    this.#state = state;
    this.#maxConnections = limits?.connections;
    this.#refusals = new ReportThrottle((report, count) => {
      try {
        onRefused?.({ ...report, count });
      } catch (cause) {
        state.runtime.report(cause);
      }
    });
    this.#longRequests = new ReportThrottle(({ error, about }) => state.runtime.report(error, about));
    this.#acceptErrors = new ReportThrottle((error, count) => state.runtime.report(notAccepted(error, count)));
  }

  /** Reports a refused request, each reason of a caller once a minute. */
  refused(refused: RefusedRequest): void {
    // A report, because it is kept for a minute, and the request may be large.
    this.#refusals.add(this.#kindOf(refused), toReport(refused, this.#state.callers.limits));
  }

  /** Returns the kind of a refusal, of which one is reported in a minute. Reasons may contain any text of a client. */
  #kindOf({ limit, status, caller, reason }: RefusedRequest): string {
    const kind = `${limit ?? status} ${caller}`;
    if (limit !== undefined || reason === undefined) return kind;
    const minute = Math.floor(performance.now() / reportIntervalMs);
    if (minute !== this.#minute) this.#reasons.clear();
    this.#minute = minute;
    const known = this.#reasons.get(kind) ?? new Set();
    if (known.size === 0 && this.#reasons.size >= maxCallersWithReasons) return kind;
    const cause = copyOf(reason, maxReasonCharacters).replace(/"[^"]*"|\d+/g, "");
    if (known.size >= maxReasonsPerCaller && !known.has(cause)) return kind;
    this.#reasons.set(kind, known.add(cause));
    return `${kind} ${cause}`;
  }

  /**
   * Counts the time of a large request as bytes of its caller, because some schemas and handlers need seconds for a
   * megabyte, and nothing else is served meanwhile. Reports a long time, once a minute for each caller. A request that waits
   * for the storage is told again after its wait, without its body.
   *
   * @param value the messages, or whatever else the request contains
   */
  largeRequest(value: unknown, context: HttpContext, begun: number, body?: string): void {
    const { caller } = context;
    const { length, busyMs: earlierMs } = this.#large.get(context) ?? { length: body?.length, busyMs: 0 };
    // The values of a small body may take much memory.
    if (length === undefined) return;
    const busyMs = earlierMs + performance.now() - begun;
    this.#large.set(context, { length, busyMs });
    // The body itself has been counted.
    const more = Math.max(length, bytesFor(busyMs)) - Math.max(length, bytesFor(earlierMs));
    if (more > 0) caller.count("bodyBytes", more);
    if (busyMs < busyReportMs) return;
    const [message] = [value].flat();
    const { method, params } = (message ?? {}) as Partial<RpcRequest>;
    const name = nameIn(params);
    const about = {
      method: typeof method === "string" ? copyOf(method) : "response",
      ...(name !== undefined && { name: copyOf(name) }),
      caller: caller.key,
    };
    const kilobytes = Math.ceil(length / 1024);
    const error = new PortolanError(
      "limit-reached",
      `One request of ${kilobytes} KiB kept the process busy for ${(busyMs / 1_000).toFixed(1)} s, and nothing else was ` +
        "served meanwhile. Limit what its schema accepts (such as the length of an array), or lower limits.bodyBytes",
    );
    this.#longRequests.add(caller.key ?? "", { error, about });
  }

  /** Reports a call that has to be answered without a stream. */
  progressLost(caller: Caller, exhausted: Exhausted): void {
    const lost = caller.beyond("streams", exhausted, "calls are answered without progress");
    // Progress would be lost silently otherwise. Reported once, so that a hostile caller cannot fill a log.
    if (!this.#hasLostProgress) this.#state.runtime.report(lost, { caller: caller.key });
    this.#hasLostProgress = true;
  }

  /** Reports a connection beyond `limits.connections`. */
  dropped({ remoteAddress }: { readonly remoteAddress?: string } = {}): void {
    const reason = `${this.#maxConnections} connections are open, as many as limits.connections allows`;
    this.refused({ caller: remoteAddress && `address ${networkOf(remoteAddress)}`, limit: "connections", reason });
  }

  /** Cancels all running requests and tells their clients why. Reports them, if there are any. */
  cutOff(graceMs: number): void {
    this.#state.endTurn();
    this.#reportLost(graceMs);
    const why = "The server is shutting down";
    const error = new RpcError(rpcCodes.internalError, why);
    for (const { exchange, reply } of [...this.#state.running]) {
      if (!exchange.isOpen) continue;
      exchange.cancel(new PortolanError("connection-closed", why));
      reply({ jsonrpc: "2.0", id: exchange.id, error: error.toErrorObject() }, error);
    }
    for (const waiting of this.#state.waiting ?? []) {
      const { id, context } = waiting;
      waiting.isCutOff = true;
      const closing = { ...context.headers, "retry-after": String(retryAfterSeconds), connection: "close" };
      sendError(context.reply, 503, error.toErrorObject(), id, closing);
    }
  }

  #reportLost(graceMs: number): void {
    const { running, callers, runtime } = this.#state;
    const all = [...(this.#state.waiting ?? [])];
    const waiting = all.filter(({ context }) => !context.reply.isGone);
    const open = running.filter(({ exchange }) => exchange.isOpen);
    // Calls over HTTP+SSE are counted, but not listed.
    const unlisted = callers.total.used.calls - running.length - all.length;
    const lost = open.length + waiting.length + Math.max(unlisted, 0);
    if (lost === 0) return;
    const names = this.#calls(open, waiting)
      .slice(0, maxNamedLostCalls)
      .map(({ method, name, ageMs }) => {
        const what = toReason(name === undefined ? method : `${method} ${JSON.stringify(name)}`);
        return `${what} (${(ageMs / 1_000).toFixed(1)} s)`;
      });
    const oldest = names.length === 0 ? "" : `; the oldest: ${names.join(", ")}`;
    const what = lost === 1 ? "1 request was" : `${lost} requests were`;
    const why = `close: ${what} cut off, not finished after ${graceMs / 1_000} s${oldest}`;
    runtime.report(new PortolanError("connection-closed", why), { method: "close" });
  }

  /** Reports an error while a connection was accepted, each kind once a minute. */
  notAccepted(error: AcceptError): void {
    this.#acceptErrors.add(error.code ?? "", error);
  }

  /** Returns what callers use now, and the requests in progress. */
  async usage(): Promise<EndpointUsage> {
    const { callers, running } = this.#state;
    // Before all else is looked at: it may take a while.
    const inAll = await this.#useInAllProcesses();
    // The calls of this turn count too.
    this.#state.endTurn();
    const shareOf = (used: Partial<Caller["used"]> = {}) =>
      Math.max(
        ...Object.entries(used).map(
          ([name, amount]) => amount / (callers.limits.atOnce[name as CountedResource]?.perCaller || 1),
        ),
      );
    const busy = [...callers.known()].map((caller) => {
      const elsewhere = inAll.get(caller);
      return { caller, elsewhere, share: Math.max(shareOf(caller.used), shareOf(elsewhere)) };
    });
    return {
      total: toUsage(callers.total),
      callers: busy
        .filter(({ share }) => share > 0)
        .sort((a, b) => b.share - a.share)
        .slice(0, maxListedCallers)
        .map(({ caller, elsewhere }) => toUsage(caller, elsewhere)),
      calls: this.#calls(running, this.#state.waiting ?? []).slice(0, maxListedCalls),
    };
  }

  /** Returns what the callers that were seen last use in all processes, as far as it is known. */
  async #useInAllProcesses(): Promise<Map<Caller, CallerUsage["inAllProcesses"]>> {
    const { callers } = this.#state;
    const { across } = callers;
    if (!across) return new Map();
    const latest = [...callers.known()].sort((a, b) => b.seenAt - a.seenAt).slice(0, maxListedCallers);
    return new Map(await Promise.all(latest.map(async (caller) => [caller, await across.of(caller)] as const)));
  }

  /** Returns the requests in progress, oldest first. */
  #calls(running: EndpointState["running"], waiting: Iterable<WaitingRequest>): CallInProgress[] {
    const now = performance.now();
    return [
      ...running.map(({ exchange, begunAt }) => toCall(exchange, now - begunAt)),
      ...[...waiting].map((request) => toWaitingCall(request, now)),
    ].sort((a, b) => b.ageMs - a.ageMs);
  }
}

/** Returns the bytes of requests that a process has time for. */
function bytesFor(ms: number): number {
  return Math.round((ms / msPerMebibyte) * mebibyte);
}

function notAccepted(error: Error & { code?: string }, count: number): PortolanError {
  const advice =
    error.code === "EMFILE" ? "; raise the limit of open files (ulimit -n), or set limits.connections" : "";
  const times = count === 1 ? "" : ` (${count} times since the last report)`;
  const message = `listen: a connection could not be accepted: ${error.message}${advice}${times}`;
  return new PortolanError("connection-closed", message, { cause: error });
}

/** Characters of a method or a name in a report. */
const maxReportedName = 200;

const principalPrefix = "principal ";

function toReport(refused: RefusedRequest, limits: CallerLimits): Omit<RefusalReport, "count"> {
  const { caller, limit, exhausted, status, request } = refused;
  const name = nameIn(request?.params);
  const principal = caller?.startsWith(principalPrefix) ? caller.slice(principalPrefix.length) : undefined;
  return {
    caller,
    ...(principal !== undefined && { principal }),
    ...(limit !== undefined && { limit }),
    status: status ?? (exhausted === "caller" ? 429 : 503),
    reason: toReason(refused.reason ?? limitReason(refused, limits)),
    ...(request && { method: copyOf(request.method) }),
    ...(name !== undefined && { name: copyOf(name) }),
  };
}

/** Returns the beginning of a text. A copy: a part of a text would keep the whole text in memory. */
function copyOf(text: string, characters = maxReportedName): string {
  return JSON.parse(JSON.stringify(text.slice(0, characters)));
}

/** Returns a text of a client or a handler as part of one line of a log. */
function toReason(text: string): string {
  const escaped = copyOf(text, maxReasonCharacters).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`,
  );
  const isCut = Math.max(text.length, escaped.length) > maxReasonCharacters;
  return isCut ? `${escaped.slice(0, maxReasonCharacters - 1)}…` : escaped;
}

/** Returns the sentence for a limit, nearly as the client has got it. */
function limitReason({ limit: name, exhausted }: RefusedRequest, { atOnce, perMinute }: CallerLimits): string {
  const limit = String(name);
  const event = limit.endsWith("PerMinute") ? limit.slice(0, -"PerMinute".length) : undefined;
  const known = event === undefined ? atOnce[limit as CountedResource] : perMinute[event as RatedEvent];
  const owner =
    exhausted === "caller" ? `This caller may have ${known?.perCaller}` : `All callers may have ${known?.total}`;
  if (event !== undefined) return `${owner} ${event === "bodyBytes" ? "bytes of requests" : event} per minute`;
  return `${owner} ${limit === "keptBytes" ? "kept bytes" : limit} at once`;
}

function toCall({ method, params, principal, returnPath, isCancelled }: ServedExchange, ageMs: number): CallInProgress {
  const name = nameIn(params);
  const caller = returnPath.caller?.key;
  return {
    method,
    ...(name !== undefined && { name }),
    principal: principal.key,
    ...(caller !== undefined && { caller }),
    ageMs: Math.round(ageMs),
    ...((isCancelled || returnPath.isConnected === false) && { isAbandoned: true }),
  };
}

function toWaitingCall({ method, name, context, begunAt }: WaitingRequest, now: number): CallInProgress {
  const { principal, caller, reply } = context;
  return {
    method,
    ...(name !== undefined && { name }),
    principal: principal.key,
    ...(caller.key !== undefined && { caller: caller.key }),
    ageMs: Math.round(now - begunAt),
    ...(reply.isGone && { isAbandoned: true }),
    waitsFor: "storage",
  };
}

function toUsage({ key, used }: Caller, inAllProcesses?: CallerUsage["inAllProcesses"]): CallerUsage {
  const { sessions, calls, streams, keptBytes } = used;
  const inAll = inAllProcesses && { inAllProcesses };
  return { ...(key !== undefined && { caller: key }), sessions, calls, streams, keptBytes, ...inAll };
}
