// Preloaded into measured children: answers each request of the parent for CPU time in µs or memory in bytes.
import { setTimeout as pause } from "node:timers/promises";

process.on("message", async (question) => {
  if (question === "memory") process.send?.(await memory());
  else {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  }
});
process.channel?.unref();

/** The memory in use after a garbage collection; needs --expose-gc. */
async function memory() {
  // Finalizers often run, and memory is often released, only in later turns.
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await pause(50);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, used: heapUsed + external };
}
