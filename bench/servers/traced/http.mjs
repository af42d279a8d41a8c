import { traceServer } from "portolan/otel";
import { serveHttp } from "portolan/server/http";
import { createBenchServer } from "../portolan/tools.mjs";

// No SDK is registered: the API makes spans that record nothing.
const { url } = await serveHttp(createBenchServer(0).use(traceServer()), {
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen();
console.log(url);
