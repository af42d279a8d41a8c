import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBenchServer } from "./tools.mjs";

serveStdio(() => createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)));
