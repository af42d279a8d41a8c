// The bench's server with a span and a duration made by hand, and the real SDK: what tracing a call costs at least. The calls
// of the SDK and the attributes are those of `traceServer` for a tool call over HTTP, written for this one case.
import "../otel/sdk.mjs";
import { context, metrics, SpanKind, trace } from "@opentelemetry/api";
import { serveHttp } from "portolan/server/http";
import { createBenchServer } from "../../../../bench/servers/portolan/tools.mjs";

const tracer = trace.getTracer("by hand");
const histogram = metrics.getMeter("by hand").createHistogram("mcp.server.operation.duration", {
  unit: "s",
  advice: { explicitBucketBoundaries: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] },
});

function traceByHand(exchange, next) {
  const { id, method, params, peer, returnPath } = exchange;
  const shared = {
    "mcp.method.name": method,
    "mcp.protocol.version": peer.revision.version,
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "gen_ai.tool.name": params.name,
    "gen_ai.operation.name": "execute_tool",
  };
  const attributes = { ...shared, "jsonrpc.request.id": String(id) };
  if (returnPath.sessionId !== undefined) attributes["mcp.session.id"] = returnPath.sessionId;
  const parent = context.active();
  const span = tracer.startSpan(`${method} ${params.name}`, { kind: SpanKind.SERVER, attributes }, parent);
  const active = trace.setSpan(parent, span);
  const begun = performance.now();
  // The handler is an async function that does not fail.
  return context.with(active, next, undefined, exchange).then((outcome) => {
    span.end();
    histogram.record((performance.now() - begun) / 1_000, shared, active);
    return outcome;
  });
}

const { url } = await serveHttp(createBenchServer(0).use(traceByHand), {
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen();
console.log(url);
