// The bench's server with `traceServer`, and the real SDK.
import "./sdk.mjs";
import { traceServer } from "portolan/otel";
import { serveHttp } from "portolan/server/http";
import { createBenchServer } from "../../../../bench/servers/portolan/tools.mjs";

const { url } = await serveHttp(createBenchServer(0).use(traceServer()), {
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen();
console.log(url);
