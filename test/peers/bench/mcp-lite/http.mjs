import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { InMemorySessionAdapter, StreamableHttpTransport } from "mcp-lite";
import { createBenchServer } from "./tools.mjs";

const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
const handle = new StreamableHttpTransport({ sessionAdapter }).bind(
  createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)),
);
const server = createServer(getRequestListener((request) => handle(request)));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
