// The bench's server with spans and metrics of the real SDK. Nothing is sent: spans are dropped, metrics are not collected.
import { metrics } from "@opentelemetry/api";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { traceServer } from "portolan/otel";
import { serveHttp } from "portolan/server/http";
import { createBenchServer } from "../../../../bench/servers/portolan/tools.mjs";

const dropped = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: async () => {},
};

class IdleReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(dropped)] }).register();
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [new IdleReader()] }));

const { url } = await serveHttp(createBenchServer(0).use(traceServer()), {
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen();
console.log(url);
