import { type Attributes, context, SpanKind } from "@opentelemetry/api";
import type { ObservedRequest, ObservedTransport, RequestObserver } from "../client/options.ts";
import { attribute, metric } from "./names.ts";
import {
  checkTraceOptions,
  Durations,
  endOfSent,
  errorTypeOf,
  isOff,
  type OperationFacts,
  Operations,
  type TraceOptions,
} from "./operation.ts";
import { contextOf, contextToMeta } from "./propagate.ts";

/**
 * Makes a span and a duration of each request of a client or a host, and of each question that a stateful server sends; also
 * a duration of each session. The context travels in `_meta`: `connect(target, { observer: traceClient() })`,
 * `createHost({ observer: traceClient() })`.
 */
export function traceClient(options: TraceOptions = {}): RequestObserver {
  checkTraceOptions(options, "traceClient");
  const requests = new Operations(SpanKind.CLIENT, options);
  const questions = new Operations(SpanKind.SERVER, options);
  const sessions = new Durations(metric.clientSession, "Duration of MCP sessions", options);
  return {
    begin(request) {
      if (isOff(options)) return undefined;
      const parent = context.active();
      const operation = requests.begin(factsOf(request), parent);
      return {
        meta: contextToMeta(operation.context),
        end: (outcome) => operation.end(endOfSent(outcome)),
        // The response arrives in the context of the connection.
        run: (work) => context.with(parent, work),
      };
    },
    beginQuestion(question) {
      if (isOff(options)) return undefined;
      const operation = questions.begin(factsOf(question), contextOf(question.params, context.active()));
      return {
        // The answer names the same errors as one that was received.
        end: (outcome) => operation.end(endOfSent(outcome)),
        run: (work) => context.with(operation.context, work),
      };
    },
    beginSession({ version, transport }) {
      const begunAt = performance.now();
      return (error) => {
        const attributes = networkOf(transport);
        attributes[attribute.protocolVersion] = version;
        if (error) attributes[attribute.errorType] = errorTypeOf(error);
        sessions.record(begunAt, attributes);
      };
    },
  };
}

function factsOf({ method, params, id, server, transport }: ObservedRequest): OperationFacts {
  const shared = networkOf(transport);
  if (server) shared[attribute.protocolVersion] = server.version;
  return { method, params, id, shared, sessionId: transport.sessionId };
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
