import { type Attributes, context, propagation, SpanKind, type TextMapGetter, trace } from "@opentelemetry/api";
import { isPromise } from "../async.ts";
import { type JsonObject, RpcError, rpcCodes } from "../jsonrpc/message.ts";
import { metaOf, type Outcome } from "../protocol/revision.ts";
import type { Exchange, ServedExchange } from "../server/call/exchange.ts";
import type { Middleware } from "../server/extension.ts";
import { attribute, contextMembers, metric } from "./names.ts";
import { type OperationEnd, type OperationFacts, Operations, type TraceOptions } from "./operation.ts";

/**
 * Makes a span and a duration of each request that a server handles: `server.use(traceServer())`. The span is active while
 * the handler runs. Its parent comes from the `_meta` of the request, otherwise from the active context.
 */
export function traceServer(options: TraceOptions = {}): Middleware {
  const operations = new Operations(SpanKind.SERVER, metric.serverDuration, options, "traceServer");
  return (exchange, next) => {
    const active = context.active();
    const meta = metaOf(exchange.params);
    const parent = meta ? propagation.extract(active, meta, getter) : active;
    const around = trace.getSpan(active);
    // The span of the HTTP request is linked if the client has sent a parent.
    const linked = around && trace.getSpan(parent) !== around ? around : undefined;
    const operation = operations.begin(factsOf(exchange), parent, linked);
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

function factsOf(exchange: Exchange): OperationFacts {
  // Every exchange is made by the library.
  const { method, params, id, peer, returnPath } = exchange as ServedExchange;
  const { network, caller, sessionId } = returnPath;
  const shared: Attributes = { [attribute.protocolVersion]: peer.revision.version };
  // Callers are counted over HTTP alone.
  if (caller) {
    shared[attribute.transport] = "tcp";
    shared[attribute.protocolName] = "http";
  } else if (network !== undefined) shared[attribute.transport] = network;
  return { method, params, id, shared, sessionId };
}

const getter: TextMapGetter<JsonObject> = {
  get(meta, member) {
    const value = contextMembers.includes(member) ? meta[member] : undefined;
    return typeof value === "string" ? value : undefined;
  },
  keys: (meta) => contextMembers.filter((member) => Object.hasOwn(meta, member)),
};
