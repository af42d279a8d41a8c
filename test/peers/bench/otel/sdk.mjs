// Registers the real SDK of OpenTelemetry. Nothing is sent: spans are dropped, metrics are not collected.
import { metrics } from "@opentelemetry/api";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

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
