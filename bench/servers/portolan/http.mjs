import { serveHttp } from "portolan/server/http";
import { createBenchServer } from "./tools.mjs";

const { url } = await serveHttp(createBenchServer(Number(process.env.BENCH_EXTRA_TOOLS ?? 0)), {
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen();
console.log(url);
