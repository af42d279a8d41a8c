import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { trace } from "@opentelemetry/api";
import { connect as connectTo } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { pathTo } from "../examples/example.ts";
import { inMemory } from "../host/kit.ts";
import { useTelemetry } from "../otel/use-telemetry.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("observability");
const otel = useTelemetry();

test("a traced client and a traced server make one trace", async () => {
  const serving = serveHttp(guide.server);
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const client = await guide.connectTraced(url);
  onTestFinished(() => client.close());
  await client.callTool("roll");
  await otel.telemetry.flush();
  const [asking] = otel.collector.spans.filter(({ name, kind }) => name === "tools/call roll" && kind === "client");
  const [answering] = otel.collector.spans.filter(({ name, kind }) => name === "tools/call roll" && kind === "server");
  expect(answering).toMatchObject({ traceId: asking?.traceId, parentSpanId: asking?.spanId });
});

test("a traced host makes a span of a call inside the span of its caller", async () => {
  const host = await guide.createTracedHost({ servers: { dice: inMemory(guide.server) }, policy: [{ then: "allow" }] });
  onTestFinished(() => host.close());
  const { traceId, spanId } = await trace.getTracer("test").startActiveSpan("front end", async (span) => {
    await host.callTool("dice", "roll");
    span.end();
    return span.spanContext();
  });
  await otel.telemetry.flush();
  expect(await otel.collector.span("tools/call roll", "client", traceId)).toMatchObject({ parentSpanId: spanId });
});

test("the observer of your own writes durations", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => written.mockRestore());
  const serving = serveHttp(createServer({ name: "x", version: "1.0.0" }).tool("meta", { run: (_, { meta }) => meta }));
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const client = await connectTo(url, { observer: guide.stopwatch });
  onTestFinished(() => client.close());
  const { structuredContent } = await client.callTool("meta");
  expect(structuredContent).toMatchObject({ "example.com/request": expect.stringMatching(/^[\da-f-]{36}$/) });
  expect(written).toHaveBeenCalledWith(expect.stringMatching(/^tools\/call: answered after \d+ ms$/));
});

test("health is answered in front of the endpoint", async () => {
  let hasModel = false;
  const mcp = serveHttp(guide.server);
  onTestFinished(() => mcp.close(0));
  const handle = guide.withHealth(mcp, createMemoryStorage(), async () => hasModel);
  const response: Response = await handle(new Request("http://localhost/readyz"));
  expect([response.status, await response.json()]).toEqual([
    503,
    { status: "unavailable", checks: { model: "the model is not loaded yet" } },
  ]);
  hasModel = true;
  expect((await handle(new Request("http://localhost/healthz"))).status).toBe(200);
  const other: Response = await handle(new Request("http://localhost/mcp", { method: "DELETE" }));
  expect(await other.text()).toContain("jsonrpc");
});

test("the complete server sends spans and metrics, and tells its health", async () => {
  // Beside the packages of the SDK, which are not installed for the examples.
  const folder = mkdtempSync(pathTo("test/peers/otel/run-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of ["examples/observability/server.mjs", "examples/observability/telemetry.mjs"]) {
    cpSync(pathTo(file), join(folder, file.replace(/.*\//, "")));
  }
  const child = spawn(process.execPath, [join(folder, "server.mjs"), "0"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: otel.collector.url },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  expect(await (await fetch(new URL("/readyz", url))).json()).toEqual({ status: "ok" });
  otel.collector.spans.length = 0;
  otel.collector.metrics.clear();
  const client = await connectTo(url, { era: "stateful" });
  await client.callTool("roll");
  await client.close();
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
  expect(otel.collector.spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["initialize", "tools/call roll"]),
  );
  expect([...otel.collector.metrics.keys()]).toEqual(
    expect.arrayContaining(["mcp.server.operation.duration", "portolan.storage.operation.duration"]),
  );
});
