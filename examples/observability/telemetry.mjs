// @ts-nocheck The packages of the SDK are yours to install; the other examples do without them.
// region sdk
import { metrics } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

// The address of the collector is in OTEL_EXPORTER_OTLP_ENDPOINT. Default: http://localhost:4318.
const tracerProvider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
tracerProvider.register();

const meterProvider = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
});
metrics.setGlobalMeterProvider(meterProvider);

/** Sends what has not been sent yet. */
export async function endTelemetry() {
  await tracerProvider.shutdown();
  await meterProvider.shutdown();
}
// endregion
