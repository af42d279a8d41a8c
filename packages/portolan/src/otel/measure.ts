import type { Attributes, BatchObservableCallback } from "@opentelemetry/api";
import type { RefusalReport } from "../server/http/options.ts";
import type { HttpEndpoint } from "../server/http/serve-http.ts";
import type { LogEntry, Storage } from "../storage/storage.ts";
import { attribute, metric, storageBounds } from "./names.ts";
import { checkMeasureOptions, errorTypeOf, type MeasureOptions, meterOf } from "./operation.ts";

/**
 * Measures what the callers of an HTTP endpoint use, whenever metrics are collected: sessions, streams, calls in progress
 * and kept bytes. Returns a function that stops. Register the provider of metrics before.
 */
export function measureHttp(endpoint: Pick<HttpEndpoint, "usage">, options: MeasureOptions = {}): () => void {
  checkMeasureOptions(options, "measureHttp");
  const meter = meterOf(options);
  const sessions = meter.createObservableGauge(metric.sessions, { description: "Sessions", unit: "{session}" });
  const streams = meter.createObservableGauge(metric.streams, { description: "Open event streams", unit: "{stream}" });
  const calls = meter.createObservableGauge(metric.calls, { description: "Requests in progress", unit: "{request}" });
  const keptBytes = meter.createObservableGauge(metric.keptBytes, {
    description: "Bytes of sessions, stored events, large requests and unread answers",
    unit: "By",
  });
  const observe: BatchObservableCallback = async (result) => {
    const { total } = await endpoint.usage();
    result.observe(sessions, total.sessions);
    result.observe(streams, total.streams);
    result.observe(calls, total.calls);
    result.observe(keptBytes, total.keptBytes);
  };
  const gauges = [sessions, streams, calls, keptBytes];
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}

/** Counts refused requests by limit and status: `serveHttp(server, { onRefused: countRefusals() })`. */
export function countRefusals(options: MeasureOptions = {}): (report: RefusalReport) => void {
  checkMeasureOptions(options, "countRefusals");
  const counter = meterOf(options).createCounter(metric.refusals, {
    description: "Refused requests",
    unit: "{request}",
  });
  return ({ limit, status, count }) => {
    counter.add(count, { [attribute.httpStatus]: status, ...(limit !== undefined && { [attribute.limit]: limit }) });
  };
}

/** Returns the same storage, and measures the duration of each operation and its failures. */
export function measureStorage(storage: Storage, options: MeasureOptions = {}): Storage {
  checkMeasureOptions(options, "measureStorage");
  const { kv, log, bus, isLocal = false } = storage;
  const histogram = meterOf(options).createHistogram(metric.storageDuration, {
    description: "Duration of operations of the storage",
    unit: "s",
    advice: { explicitBucketBoundaries: storageBounds },
  });
  const record: RecordOperation = (name, ms, failure) => {
    const attributes: Attributes = { [attribute.storageOperation]: name };
    if (failure !== undefined) attributes[attribute.errorType] = errorTypeOf(failure);
    histogram.record(ms / 1_000, attributes);
  };
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const begun = performance.now();
    try {
      const value = await work();
      record(name, performance.now() - begun);
      return value;
    } catch (cause) {
      record(name, performance.now() - begun, cause ?? "_OTHER");
      throw cause;
    }
  };
  return {
    kv: {
      get: (key) => timed("kv.get", () => kv.get(key)),
      set: (key, value, settings) => timed("kv.set", () => kv.set(key, value, settings)),
      delete: (key) => timed("kv.delete", () => kv.delete(key)),
      list: (prefix, settings) => timed("kv.list", () => kv.list(prefix, settings)),
    },
    log: {
      append: (key, value, settings) => timed("log.append", () => log.append(key, value, settings)),
      after: (key, id, settings) => {
        const entries = log.after(key, id, settings);
        // A reader that follows a log waits most of the time.
        if (settings?.follow) return entries;
        return { [Symbol.asyncIterator]: () => timeReading(entries, record) };
      },
      delete: (key) => timed("log.delete", () => log.delete(key)),
    },
    bus: {
      publish: (topic, value) => timed("bus.publish", () => bus.publish(topic, value)),
      subscribe: (topic, receive, lost) => timed("bus.subscribe", () => bus.subscribe(topic, receive, lost)),
    },
    isLocal,
  };
}

/** Measures how long the reader waits for entries, without what it does between them. */
async function* timeReading(entries: AsyncIterable<LogEntry>, record: RecordOperation): AsyncGenerator<LogEntry> {
  const iterator = entries[Symbol.asyncIterator]();
  let waitedMs = 0;
  let failure: unknown;
  try {
    for (;;) {
      const begun = performance.now();
      const next = await iterator.next().finally(() => {
        waitedMs += performance.now() - begun;
      });
      if (next.done) return;
      yield next.value;
    }
  } catch (cause) {
    failure = cause;
    throw cause;
  } finally {
    record("log.after", waitedMs, failure);
    await iterator.return?.();
  }
}

type RecordOperation = (name: string, ms: number, failure?: unknown) => void;
