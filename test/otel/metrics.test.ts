// Metrics of an HTTP endpoint and of a storage as a collector gets them from the real OpenTelemetry SDK.
import { connect } from "portolan/client";
import { countRefusals, measureHttp, measureStorage } from "portolan/otel";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { storageContract } from "portolan/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { useTelemetry } from "./use-telemetry.ts";

const otel = useTelemetry();

const server = createServer({ name: "measured", version: "1.0.0" }).tool("wait", {
  run: (_, ctx) =>
    new Promise((resolve) => {
      begun.shift()?.();
      ctx.signal.addEventListener("abort", () => resolve("too late"));
    }),
});
const begun: (() => void)[] = [];

async function gauge(name: string): Promise<number | undefined> {
  await otel.telemetry.flush();
  return otel.collector.metrics.get(name)?.points[0]?.value;
}

test("gauges tell what the callers of an endpoint use, until they are stopped", async () => {
  const serving = serveHttp(server);
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  let readings = 0;
  const usage = () => {
    readings += 1;
    return serving.usage();
  };
  const stop = measureHttp({ usage });
  const client = await connect(url, { era: "stateful" });
  onTestFinished(() => client.close());
  const hasBegun = new Promise<void>((resolve) => begun.push(resolve));
  const cancel = new AbortController();
  const call = client.callTool("wait", {}, { signal: cancel.signal }).catch(() => {});
  await hasBegun;
  expect(await gauge("portolan.http.sessions")).toBe(1);
  expect(await gauge("portolan.http.calls")).toBe(1);
  expect(await gauge("portolan.http.kept_bytes")).toBeGreaterThan(0);
  expect(await gauge("portolan.http.streams")).toBeGreaterThanOrEqual(0);
  expect(otel.collector.metrics.get("portolan.http.kept_bytes")?.unit).toBe("By");
  cancel.abort();
  await call;
  expect(readings).toBeGreaterThan(0);
  stop();
  readings = 0;
  await otel.telemetry.flush();
  expect(readings).toBe(0);
});

test("refusals are counted by limit and by status", async () => {
  const serving = serveHttp(server, {
    sessions: { maxPerCaller: 1 },
    caller: () => "tester",
    onRefused: countRefusals(),
  });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const client = await connect(url, { era: "stateful" });
  onTestFinished(() => client.close());
  await expect(connect(url, { era: "stateful" })).rejects.toThrow();
  expect((await fetch(url, { method: "DELETE", headers: { "mcp-session-id": "unknown" } })).status).toBe(404);
  await otel.telemetry.flush();
  const { points } = await otel.collector.until(({ metrics }) => metrics.get("portolan.http.refusals"));
  expect(points).toEqual([
    { attributes: { "http.response.status_code": 429, "portolan.limit": "sessions" }, value: expect.any(Number) },
    { attributes: { "http.response.status_code": 404 }, value: 1 },
  ]);
});

test("each operation of a storage has a duration, and failures their type", async () => {
  const memory = createMemoryStorage();
  const { kv: working } = memory;
  const failing: Storage = {
    ...memory,
    kv: {
      get: (key) => working.get(key),
      set: (key, value, settings) => working.set(key, value, settings),
      list: (prefix, settings) => working.list(prefix, settings),
      delete: () => Promise.reject(new TypeError("away")),
    },
  };
  const { kv, log, bus } = measureStorage(failing);
  await kv.set("a", "1");
  expect(await kv.get("a")).toBe("1");
  expect(await kv.list("a")).toHaveLength(1);
  await expect(kv.delete("a")).rejects.toThrow("away");
  await log.append("l", "first");
  const read: string[] = [];
  for await (const { value } of log.after("l", "")) read.push(value);
  expect(read).toEqual(["first"]);
  const unsubscribe = await bus.subscribe(
    "t",
    () => {},
    () => {},
  );
  await bus.publish("t", "x");
  await unsubscribe();
  await otel.telemetry.flush();
  const { unit, points } = await otel.collector.until(({ metrics }) =>
    metrics.get("portolan.storage.operation.duration"),
  );
  expect(unit).toBe("s");
  const operations = points.map(({ attributes }) => attributes["portolan.storage.operation"]);
  expect(operations.sort()).toEqual(
    ["bus.publish", "bus.subscribe", "kv.delete", "kv.get", "kv.list", "kv.set", "log.after", "log.append"].sort(),
  );
  expect(points.map(({ attributes }) => attributes)).toContainEqual({
    "portolan.storage.operation": "kv.delete",
    "error.type": "TypeError",
  });
});

describe("a measured storage is a storage", () => {
  const make = async () => {
    let passed = 0;
    const storage = measureStorage(createMemoryStorage({ now: () => Date.now() + passed }));
    const passTime = async (ms: number) => {
      passed += ms;
    };
    return { storage, other: storage, passTime };
  };
  for (const { name, run } of storageContract(make)) test(name, run);
});
