import { once } from "node:events";
import { createServer } from "node:net";
import { createBenchServer } from "./tools.mjs";

// It does not report its port, so this finds a free one first.
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = probe.address();
probe.close();
await once(probe, "close");

await createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)).start({
  transportType: "httpStream",
  httpStream: { host: "127.0.0.1", port, enableJsonResponse: process.env.BENCH_REPLY === "json" },
});
console.log(`http://127.0.0.1:${port}/mcp`);
