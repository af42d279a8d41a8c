// The bench's server with a storage in Redis, and a tool that asks. With BENCH_SESSIONS=memory the storage is connected, but
// the server does not use it.
import { serveHttp } from "portolan/server/http";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient } from "redis";
import { createBenchServer } from "../portolan/tools.mjs";

const storage = createRedisStorage(createClient({ url: process.env.BENCH_REDIS_URL }), { onError: console.error });
await storage.ready();
const server = createBenchServer(0).tool("ask", {
  run: async (_, ctx) => ({ content: [{ type: "text", text: String(await ctx.confirm("sure", "Sure?")) }] }),
});
const { url } = await serveHttp(server, {
  ...(process.env.BENCH_SESSIONS !== "memory" && { storage }),
  // The load comes from one client, which the default limits would refuse.
  sessions: { perMinute: 1_000_000, max: 100_000 },
}).listen(Number(process.env.BENCH_PORT ?? 0));
console.log(url);
