// Preloaded into measured children: answers each question of the parent, about CPU time in µs or about memory in bytes.
import { setTimeout as pause } from "node:timers/promises";

process.on("message", async (question) => {
  if (question === "memory") process.send?.(await memory());
  else {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  }
});
process.channel?.unref();

/** What is in use once everything that can be collected has been; needs --expose-gc. */
async function memory() {
  // What a collection lets go of is often finished, and its memory given back, only in later turns.
  for (let i = 0; i < 4; i++) {
    globalThis.gc();
    await pause(50);
  }
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, used: heapUsed + external };
}
