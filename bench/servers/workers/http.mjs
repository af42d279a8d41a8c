// The server with a storage in Redis, in as many processes as BENCH_WORKERS says, on one port.
import cluster from "node:cluster";
import { fileURLToPath } from "node:url";

// Workers report nothing to the bench: their port is that of the first one.
cluster.setupPrimary({
  exec: fileURLToPath(new URL("../redis/http.mjs", import.meta.url)),
  execArgv: [],
  silent: true,
});
const urls = [];
for (let count = 0; count < Number(process.env.BENCH_WORKERS); count += 1) {
  const worker = cluster.fork();
  worker.process.stderr.pipe(process.stderr);
  worker.process.stdout.setEncoding("utf8").on("data", (text) => {
    urls.push(text);
    // Load begins when all of them listen.
    if (urls.length === Number(process.env.BENCH_WORKERS)) process.stdout.write(text);
  });
}
