// @ts-check
// A traced server over HTTP with metrics and two paths of health: node server.mjs <port>
import { createServer as createHttpServer } from "node:http";
import { countRefusals, measureHttp, measureStorage, traceServer } from "portolan/otel";
import { createServer } from "portolan/server";
import { createHealthHandler } from "portolan/server/health";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { endTelemetry } from "./telemetry.mjs";

const server = createServer({ name: "dice", version: "1.0.0" })
  .tool("roll", { run: () => String(1 + Math.floor(Math.random() * 6)) })
  .use(traceServer());

const storage = measureStorage(createMemoryStorage());
const mcp = serveHttp(server, { storage, onRefused: countRefusals() });
const stopMeasuring = measureHttp(mcp);
const health = createHealthHandler({ endpoint: mcp, storage });

const listener = createHttpServer((request, response) => {
  if (!health.node(request, response)) mcp.node(request, response);
});
listener.listen(Number(process.argv[2] ?? 3000), "127.0.0.1", () => {
  const address = listener.address();
  if (address && typeof address === "object") console.log(`http://127.0.0.1:${address.port}/mcp`);
});

process.once("SIGTERM", async () => {
  await mcp.close();
  listener.close();
  stopMeasuring();
  await endTelemetry();
});
