import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Value = string | number | boolean;

export interface CollectedSpan {
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: { readonly [name: string]: Value };
  readonly links: readonly string[];
  readonly isError: boolean;
  readonly message?: string;
}

export interface CollectedMetric {
  readonly name: string;
  readonly unit: string;
  readonly points: readonly {
    readonly attributes: { readonly [name: string]: Value };
    /** The number of measurements of a histogram, or the value of a gauge or counter. */
    readonly value: number;
    readonly bounds?: readonly number[];
  }[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
}

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly links?: readonly { readonly spanId: string }[];
  readonly status: { readonly code: number; readonly message?: string };
}

interface OtlpPoint {
  readonly attributes: readonly OtlpAttribute[];
  readonly asInt?: number | string;
  readonly asDouble?: number;
  readonly count?: number | string;
  readonly explicitBounds?: readonly number[];
}

interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: { readonly dataPoints: readonly OtlpPoint[] };
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] };
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[] };
}

const kinds = ["internal", "internal", "server", "client"] as const;

/** Stands in for an OpenTelemetry collector: receives OTLP as JSON over HTTP. */
export class Collector {
  readonly url: string;
  readonly close: () => void;
  /** All spans that have arrived. */
  readonly spans: CollectedSpan[] = [];
  /** The latest state of each metric. */
  readonly metrics = new Map<string, CollectedMetric>();
  #waiting: (() => void)[] = [];

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.close = close;
  }

  static async start(): Promise<Collector> {
    const server = createServer((request, response) => collector.#receive(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const collector: Collector = new Collector(`http://127.0.0.1:${port}`, () => {
      server.closeAllConnections();
      server.close();
    });
    return collector;
  }

  /** Resolves to what `find` returns, as soon as it is not undefined. */
  async until<T>(find: (collector: Collector) => T | undefined): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Resolves to the only span with this name and kind in a trace. */
  span(name: string, kind: CollectedSpan["kind"], traceId: string): Promise<CollectedSpan> {
    return this.until(({ spans }) => {
      const found = spans.filter((span) => span.name === name && span.kind === kind && span.traceId === traceId);
      if (found.length > 1) throw new Error(`${found.length} spans ${name} of kind ${kind}`);
      return found[0];
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      for (const { spans } of scopeSpans as { spans: OtlpSpan[] }[]) this.spans.push(...spans.map(toSpan));
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const { metrics } of scopeMetrics as { metrics: OtlpMetric[] }[]) {
        for (const metric of metrics) this.metrics.set(metric.name, toMetric(metric));
      }
    }
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function toSpan({
  name,
  kind,
  traceId,
  spanId,
  parentSpanId,
  attributes,
  links = [],
  status,
}: OtlpSpan): CollectedSpan {
  return {
    ...{ name, traceId, spanId, attributes: toObject(attributes) },
    kind: kinds[kind] ?? "internal",
    ...(parentSpanId && { parentSpanId }),
    links: links.map((link) => link.spanId),
    isError: status.code === 2,
    ...(status.message && { message: status.message }),
  };
}

function toMetric({ name, unit, histogram, gauge, sum }: OtlpMetric): CollectedMetric {
  const { dataPoints } = histogram ?? gauge ?? sum ?? { dataPoints: [] };
  const points = dataPoints.map(({ attributes, asInt, asDouble, count, explicitBounds }) => ({
    attributes: toObject(attributes),
    value: Number(count ?? asInt ?? asDouble),
    ...(explicitBounds && { bounds: explicitBounds }),
  }));
  return { name, unit, points };
}

function toObject(attributes: readonly OtlpAttribute[]): { [name: string]: Value } {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value;
      return [key, stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue ?? "") : Number(intValue))];
    }),
  );
}
