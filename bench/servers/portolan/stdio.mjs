import { serveStdio } from "portolan/server/stdio";
import { createBenchServer } from "./tools.mjs";

const maxMessageBytes = Number(process.env.PORTOLAN_BENCH_MAX_BYTES ?? 0);
serveStdio(
  createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)),
  maxMessageBytes > 0 ? { maxMessageBytes } : {},
);
