import { StdioTransport } from "@tmcp/transport-stdio";
import { createBenchServer } from "./tools.mjs";

new StdioTransport(createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0))).listen();
