// Starts itself once more as a worker of node:cluster, which listens and ends.
import cluster from "node:cluster";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";

if (cluster.isPrimary) cluster.fork();
else {
  const endpoint = serveHttp(createServer({ name: "worker", version: "1" }).tool("t", { run: () => "" }));
  await endpoint.listen();
  await endpoint.close();
  process.disconnect();
}
