import { createServer } from "portolan/server";
import { createRedisStorage } from "portolan/storage/redis";
import { expect, onTestFinished, test } from "vitest";
import { start } from "../http/kit.ts";
import { begin } from "../http/peer.ts";
import { libraries } from "../storage/redis-clients.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";

/** Starts two endpoints that share a Redis, as two processes do. */
async function startTwo(redis: RedisServer): Promise<readonly [string, string]> {
  const open = async () => {
    const storage = createRedisStorage(libraries["redis 6"].single(redis.port).client);
    onTestFinished(() => storage.close());
    const server = createServer({ name: "test", version: "1.0.0" }, { onError() {} });
    return (await start(server, { storage, instances: 2 })).url;
  };
  return [await open(), await open()];
}

test.each([
  ["the process that it began at", 0],
  ["another process, which has not read it yet", 1],
])("a session ends in all processes although Redis is full, at %s", async (_, at) => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const urls = await startTwo(redis);
  const peer = await begin(urls[0], "2025-06-18");
  if (at === 0) expect((await peer.at(urls[1]).request("ping")).status).toBe(200);
  await redis.command("CONFIG SET maxmemory 1mb");
  expect((await peer.at(urls[at] ?? "").delete()).status).toBe(204);
  const statuses = () => Promise.all(urls.map(async (url) => (await peer.at(url).request("ping")).status));
  await expect.poll(statuses).toEqual([404, 404]);
});
