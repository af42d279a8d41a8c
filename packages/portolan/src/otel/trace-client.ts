import { type Attributes, context, propagation, SpanKind, type TextMapSetter } from "@opentelemetry/api";
import type { ObservedTransport, RequestObserver, RequestOutcome } from "../client/options.ts";
import { PortolanError } from "../errors.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { attribute, contextMembers, metric } from "./names.ts";
import { type OperationEnd, Operations, type TraceOptions } from "./operation.ts";

/**
 * Makes a span and a duration of each request of a client or a host, and sends its context in `_meta`:
 * `connect(target, { observer: traceClient() })`, `createHost({ observer: traceClient() })`.
 */
export function traceClient(options: TraceOptions = {}): RequestObserver {
  const operations = new Operations(SpanKind.CLIENT, metric.clientDuration, options, "traceClient");
  return {
    begin({ method, params, id, server, transport }) {
      const parent = context.active();
      const shared = networkOf(transport);
      if (server) shared[attribute.protocolVersion] = server.version;
      const { sessionId } = transport;
      const operation = operations.begin({ method, params, id, shared, sessionId }, parent);
      const meta: { [member: string]: string } = {};
      propagation.inject(operation.context, meta, setter);
      return {
        meta,
        end: (outcome) => operation.end(endOf(outcome)),
        // The response arrives in the context of the connection.
        run: (work) => context.with(parent, work),
      };
    },
  };
}

function endOf(outcome: RequestOutcome): OperationEnd {
  if ("result" in outcome) return outcome;
  const { error } = outcome;
  const { message } = error;
  if (error instanceof RpcError) return { errorType: String(error.code), code: error.code, message };
  return { errorType: error instanceof PortolanError ? error.code : error.name, message };
}

function networkOf({ kind, url }: ObservedTransport): Attributes {
  if (kind === "stdio") return { [attribute.transport]: "pipe" };
  if (kind !== "http" || !url) return {};
  return {
    [attribute.transport]: "tcp",
    [attribute.protocolName]: "http",
    [attribute.serverAddress]: url.hostname,
    [attribute.serverPort]: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
  };
}

const setter: TextMapSetter<{ [member: string]: string }> = {
  // Other propagators write other members, which `_meta` does not reserve.
  set(meta, member, value) {
    if (contextMembers.includes(member)) meta[member] = value;
  },
};
