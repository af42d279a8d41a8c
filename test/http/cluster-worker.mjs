// Starts itself once more as a worker of node:cluster, which listens, prints its first report and ends.
import cluster from "node:cluster";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";

if (cluster.isPrimary) cluster.fork();
else {
  let onError;
  const reported = new Promise((resolve) => {
    onError = resolve;
  });
  const endpoint = serveHttp(createServer({ name: "worker", version: "1" }, { onError }).tool("t", { run: () => "" }));
  await endpoint.listen();
  console.error((await reported).message);
  await endpoint.close();
  process.disconnect();
}
