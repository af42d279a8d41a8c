import { createBenchServer } from "./tools.mjs";

await createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)).start({ transportType: "stdio" });
