import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import type { RedisStorage } from "portolan/storage/redis";
import { expect, onTestFinished, test } from "vitest";
import { startCluster, startRedis, startSentinel } from "../storage/redis-server.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("storage");

async function works(storage: RedisStorage): Promise<void> {
  onTestFinished(() => storage.close());
  await storage.ready();
  await storage.kv.set("a", "1");
  expect(await storage.kv.get("a")).toBe("1");
}

test("one server: a session that one process began is served by another", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const url = `redis://127.0.0.1:${redis.port}`;
  const [first, second] = [await guide.serveWithRedis(url), await guide.serveWithRedis(url)];
  let turn = 0;
  // Each request goes to the other process, as behind a round robin.
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    turn += 1;
    return (turn % 2 ? first : second).mcp.fetch(new Request(input, init));
  };
  const client = await connect(http("http://localhost/mcp", { fetch }), { era: "stateful" });
  onTestFinished(async () => {
    await client.close();
    for (const { mcp, storage } of [first, second]) {
      await mcp.close(0);
      await storage.close();
    }
  });
  for (let call = 0; call < 4; call += 1) {
    expect((await client.callTool("roll", {})).structuredContent).toEqual({ total: expect.any(Number) });
  }
});

test("one server, with ioredis", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await works(guide.overIoredis(`redis://127.0.0.1:${redis.port}`));
});

test("a cluster, with both clients", async () => {
  const nodes = await startCluster();
  onTestFinished(() => Promise.all(nodes.map((node) => node.stop())).then(() => {}));
  const urls = nodes.map(({ port }) => `redis://127.0.0.1:${port}`);
  await works(guide.overCluster(urls));
  await works(guide.overIoredisCluster(urls));
});

test("Sentinel, with both clients", async () => {
  const sentinel = await startSentinel();
  onTestFinished(() => sentinel.stop());
  const sentinels = [{ host: "127.0.0.1", port: sentinel.port }];
  await works(guide.overSentinel(sentinels));
  await works(guide.overIoredisSentinel(sentinels));
});
