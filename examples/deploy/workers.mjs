// @ts-check
// Runs server.mjs in several processes on one port, one for each core.
// Run: WORKERS=2 node examples/deploy/workers.mjs
import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

const { WORKERS = String(availableParallelism()) } = process.env;
let isStopping = false;

cluster.setupPrimary({ exec: fileURLToPath(new URL("server.mjs", import.meta.url)) });
for (let count = 0; count < Number(WORKERS); count += 1) cluster.fork();

cluster.on("exit", ({ process: { pid } }, code, signal) => {
  if (isStopping) return;
  console.error(`Process ${pid} ended with ${signal ?? code}; another one starts in a second`);
  setTimeout(() => isStopping || cluster.fork(), 1_000);
});

process.on("SIGTERM", () => {
  isStopping = true;
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM");
});

// Ctrl-C reaches the workers without our help.
process.on("SIGINT", () => {
  isStopping = true;
});
