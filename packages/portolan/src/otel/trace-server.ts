import { type Attributes, context, SpanKind, trace } from "@opentelemetry/api";
import { isPromise } from "../async.ts";
import { type JsonObject, RpcError, rpcCodes } from "../jsonrpc/message.ts";
import type { Outcome } from "../protocol/revision.ts";
import type { Exchange, ObserveQuestion, ServedExchange } from "../server/call/exchange.ts";
import type { Middleware } from "../server/extension.ts";
import { attribute, metric } from "./names.ts";
import {
  checkTraceOptions,
  Durations,
  endOfSent,
  isOff,
  type OperationEnd,
  type OperationFacts,
  Operations,
  type TraceOptions,
} from "./operation.ts";
import { contextOf, contextToMeta } from "./propagate.ts";

/**
 * Makes a span and a duration of each request that a server handles, and of each question that it sends to a stateful client;
 * also a duration of each session: `server.use(traceServer())`. The span of a request is active while its handler runs. Its
 * parent comes from the `_meta` of the request, otherwise from the active context.
 */
export function traceServer(options: TraceOptions = {}): Middleware {
  checkTraceOptions(options, "traceServer");
  const requests = new Operations(SpanKind.SERVER, options);
  const questions = new Operations(SpanKind.CLIENT, options);
  const sessions = new Durations(metric.serverSession, "Duration of MCP sessions", options);
  const observeQuestion: ObserveQuestion = (exchange, { method, params = {} }) => {
    const facts = { ...factsOf(exchange), method, params: params as JsonObject, id: undefined };
    const operation = questions.begin(facts, context.active());
    return { meta: contextToMeta(operation.context), end: (outcome) => operation.end(endOfSent(outcome)) };
  };
  return (exchange, next) => {
    // Every exchange is made by the library.
    const served = exchange as ServedExchange;
    if (served.method === "initialize") measureSession(served, sessions);
    if (isOff(options)) return next(exchange);
    const active = context.active();
    const parent = contextOf(exchange.params, active);
    const around = parent === active ? undefined : trace.getSpan(active);
    // The span of the HTTP request is linked if the client has sent a parent.
    const linked = around && trace.getSpan(parent) !== around ? around : undefined;
    const operation = requests.begin(factsOf(served), parent, linked);
    served.observeQuestion = observeQuestion;
    const complete = (outcome: Outcome): Outcome => {
      operation.end(exchange.isCancelled ? cancelled : { result: "result" in outcome ? outcome.result : undefined });
      return outcome;
    };
    const fail = (cause: unknown): never => {
      operation.end(exchange.isCancelled ? cancelled : endOf(exchange, cause));
      throw cause;
    };
    try {
      const outcome = context.with(operation.context, next, undefined, exchange);
      return isPromise(outcome) ? outcome.then(complete, fail) : complete(outcome);
    } catch (cause) {
      return fail(cause);
    }
  };
}

const cancelled: OperationEnd = { errorType: "cancelled" };

/** Returns the error that the peer gets. */
function endOf({ peer }: Exchange, cause: unknown): OperationEnd {
  const isTold = cause instanceof RpcError;
  const code = isTold ? peer.revision.encodeError(cause).code : rpcCodes.internalError;
  return { errorType: String(code), code, message: isTold ? cause.message : undefined };
}

/** Records the duration of the session that a handshake begins, when it ends. */
function measureSession(exchange: ServedExchange, sessions: Durations): void {
  const begunAt = performance.now();
  const attributes = sharedOf(exchange);
  exchange.returnPath.onSessionEnd?.(() => sessions.record(begunAt, attributes));
}

function factsOf(exchange: ServedExchange): OperationFacts {
  const { method, params, id, returnPath } = exchange;
  return { method, params, id, shared: sharedOf(exchange), sessionId: returnPath.sessionId };
}

function sharedOf({ peer, returnPath }: ServedExchange): Attributes {
  const { network, caller } = returnPath;
  const { version } = peer.revision;
  // Callers are counted over HTTP alone.
  if (caller) {
    return {
      [attribute.protocolVersion]: version,
      [attribute.transport]: "tcp",
      [attribute.protocolName]: "http",
    };
  }
  if (network === undefined) return { [attribute.protocolVersion]: version };
  return { [attribute.protocolVersion]: version, [attribute.transport]: network };
}
