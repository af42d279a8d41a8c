import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { HttpTransport } from "@tmcp/transport-http";
import { createBenchServer } from "./tools.mjs";

const transport = new HttpTransport(createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)), { path: "/mcp" });
const server = createServer(getRequestListener((request) => transport.respond(request)));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
