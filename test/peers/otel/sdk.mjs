import { metrics } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";

/** Registers the SDK, which sends everything to a collector as JSON. */
export function startTelemetry(collector, { isImmediate = false } = {}) {
  const exporter = new OTLPTraceExporter({ url: `${collector}/v1/traces` });
  const tracerProvider = new NodeTracerProvider({
    spanProcessors: [
      isImmediate ? new SimpleSpanProcessor(exporter) : new BatchSpanProcessor(exporter, { scheduledDelayMillis: 200 }),
    ],
  });
  tracerProvider.register();
  const meterProvider = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: `${collector}/v1/metrics` }),
        exportIntervalMillis: 60_000,
        exportTimeoutMillis: 10_000,
      }),
    ],
  });
  metrics.setGlobalMeterProvider(meterProvider);
  return {
    tracerProvider,
    meterProvider,
    async flush() {
      await tracerProvider.forceFlush();
      await meterProvider.forceFlush();
    },
    async close() {
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
    },
  };
}
