import type { MeterProvider, TracerProvider } from "@opentelemetry/api";

export interface Telemetry {
  readonly tracerProvider: TracerProvider;
  readonly meterProvider: MeterProvider;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Registers the SDK, which sends everything to a collector as JSON. `isImmediate` sends each span when it ends. */
export function startTelemetry(collector: string, options?: { isImmediate?: boolean }): Telemetry;
