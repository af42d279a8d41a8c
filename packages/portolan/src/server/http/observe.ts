import { PortolanError } from "../../errors.ts";
import { ReportThrottle } from "../../throttle.ts";
import { nameIn, type ServedExchange } from "../call/exchange.ts";
import type { Caller, CountedResource, Exhausted, RefusedRequest } from "../callers.ts";
import { networkOf } from "./caller.ts";
import type { EndpointState } from "./endpoint.ts";
import { maxListedCallers, maxListedCalls } from "./limits.ts";
import type { RefusalReport, ServeHttpOptions } from "./options.ts";

/** The resources that callers use at once. */
export interface CallerUsage {
  /** `principal …`, `caller …` or `address …`. Absent for callers that cannot be told apart. */
  readonly caller?: string;
  readonly sessions: number;
  readonly calls: number;
  readonly streams: number;
  readonly keptBytes: number;
}

/** A request in progress. */
export interface CallInProgress {
  readonly method: string;
  /** The tool or prompt that it names, or the URI of its resource. */
  readonly name?: string;
  readonly principal: string;
  readonly caller?: string;
  readonly ageMs: number;
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

type AcceptError = Error & { readonly code?: string };

/** Reports refusals and failures of an endpoint to its operator, and tells what callers use. */
export class Observer {
  readonly #state: EndpointState;
  readonly #refusals: ReportThrottle<RefusedRequest>;
  readonly #acceptErrors: ReportThrottle<AcceptError>;
  #hasLostProgress = false;

  constructor(state: EndpointState, { onRefused }: ServeHttpOptions) {
    this.#state = state;
    this.#refusals = new ReportThrottle((refused, count) => {
      try {
        onRefused?.(toReport(refused, count));
      } catch (cause) {
        state.runtime.report(cause);
      }
    });
    this.#acceptErrors = new ReportThrottle((error, count) => state.runtime.report(notAccepted(error, count)));
  }

  /** Reports a refused request, each reason of a caller once a minute. */
  refused(refused: RefusedRequest): void {
    this.#refusals.add(`${refused.limit ?? refused.status} ${refused.caller}`, refused);
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
    this.refused({ caller: remoteAddress && `address ${networkOf(remoteAddress)}`, limit: "connections" });
  }

  /** Reports an error while a connection was accepted, each kind once a minute. */
  notAccepted(error: AcceptError): void {
    this.#acceptErrors.add(error.code ?? "", error);
  }

  /** Returns what callers use now, and the requests in progress. */
  usage(): EndpointUsage {
    const { callers, running } = this.#state;
    // The calls of this turn count too.
    this.#state.endTurn();
    const { atOnce } = callers.limits;
    const shareOf = ({ used }: Caller) =>
      Math.max(
        ...Object.entries(used).map(([name, amount]) => amount / (atOnce[name as CountedResource]?.perCaller || 1)),
      );
    const busy = [...callers.known()].map((caller) => ({ caller, share: shareOf(caller) }));
    const now = performance.now();
    return {
      total: toUsage(callers.total),
      callers: busy
        .filter(({ share }) => share > 0)
        .sort((a, b) => b.share - a.share)
        .slice(0, maxListedCallers)
        .map(({ caller }) => toUsage(caller)),
      calls: [...running]
        .sort((a, b) => a.begunAt - b.begunAt)
        .slice(0, maxListedCalls)
        .map(({ exchange, begunAt }) => toCall(exchange, now - begunAt)),
    };
  }
}

function notAccepted(error: Error & { code?: string }, count: number): PortolanError {
  const advice =
    error.code === "EMFILE" ? "; raise the limit of open files (ulimit -n), or set limits.connections" : "";
  const times = count === 1 ? "" : ` (${count} times since the last report)`;
  const message = `listen: a connection could not be accepted: ${error.message}${advice}${times}`;
  return new PortolanError("connection-closed", message, { cause: error });
}

const principalPrefix = "principal ";

function toReport({ caller, limit, exhausted, status, request }: RefusedRequest, count: number): RefusalReport {
  const name = nameIn(request?.params);
  const principal = caller?.startsWith(principalPrefix) ? caller.slice(principalPrefix.length) : undefined;
  return {
    caller,
    ...(principal !== undefined && { principal }),
    ...(limit !== undefined && { limit }),
    status: status ?? (exhausted === "caller" ? 429 : 503),
    ...(request && { method: request.method }),
    ...(name !== undefined && { name }),
    count,
  };
}

function toCall({ method, params, principal, returnPath }: ServedExchange, ageMs: number): CallInProgress {
  const name = nameIn(params);
  const caller = returnPath.caller?.key;
  return {
    method,
    ...(name !== undefined && { name }),
    principal: principal.key,
    ...(caller !== undefined && { caller }),
    ageMs: Math.round(ageMs),
  };
}

function toUsage({ key, used }: Caller): CallerUsage {
  const { sessions, calls, streams, keptBytes } = used;
  return { ...(key !== undefined && { caller: key }), sessions, calls, streams, keptBytes };
}
