import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createBenchServer } from "./tools.mjs";

await createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)).connect(new StdioServerTransport());
