import { createServer } from "portolan/server";
import { type HttpLimits, serveHttp } from "portolan/server/http";
import { createRedisStorage, type RedisStorageOptions } from "portolan/storage/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { begin, type SessionPeer } from "../http/peer.ts";
import { byUser } from "../http/users.ts";
import { libraries } from "../storage/redis-clients.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";

// One caller that sends as fast as it can, and what another one gets meanwhile.

const revision = "2025-11-25";

async function startServer(limits: HttpLimits, options?: RedisStorageOptions) {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const storage = createRedisStorage(libraries["redis 6"].single(redis.port).client, options);
  await storage.ready();
  const reported: string[] = [];
  const onError = (error: unknown) => void reported.push(String(error));
  const server = createServer({ name: "test", version: "1.0.0" }, { onError }).template("page://{id}", {
    name: "page",
    async read({ id }, context) {
      context.progress(1, 1);
      // The answer becomes a stream.
      await new Promise((resolve) => setImmediate(resolve));
      return `page ${id}`;
    },
  });
  const endpoint = serveHttp(server, { storage, verify: byUser, limits: { callsPerMinute: 1e6, ...limits } });
  onTestFinished(async () => {
    redis.resume();
    await endpoint.close(0);
    await storage.close();
  });
  const { url } = await endpoint.listen();
  return { redis, url, endpoint, reported };
}

/** Reads pages, some at a time. Returns the text of each answer. */
async function readPages(peer: SessionPeer, count: number): Promise<string[]> {
  const texts: string[] = [];
  let next = 0;
  const work = async () => {
    while (next < count) {
      next += 1;
      const params = { uri: `page://${next}`, _meta: { progressToken: next } };
      texts.push(await (await peer.request("resources/read", params, next)).text());
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
  return texts;
}

/** Returns whether an answer has its progress and its result. */
function isWhole(text: string): boolean {
  return text.includes("notifications/progress") && text.includes('"text":"page ');
}

const usedMemory = async (redis: RedisServer) =>
  Number(/used_memory:(\d+)/.exec(await redis.command("INFO memory"))?.[1]);
const namesOf = async (redis: RedisServer, pattern: string) =>
  Number((await redis.command(`EVAL "return #redis.call('keys','${pattern}')" 0`)).slice(1));

const long = { timeout: 30_000 };

describe("one caller with many streams", () => {
  const mebibyte = 1024 * 1024;

  test("takes no more of Redis than its kept bytes, and all is given back with its session", async () => {
    // A quarter of them may be events.
    const { redis, url, endpoint } = await startServer({ keptBytesPerCaller: mebibyte });
    const [peer, other] = [await begin(url, revision, ada), await begin(url, revision, grace)];
    const before = await usedMemory(redis);
    const answers = await readPages(peer, 300);
    expect(answers.filter(isWhole)).toHaveLength(300);
    await expect.poll(async () => (await endpoint.usage()).total.calls, { timeout: 20_000 }).toBe(0);
    // The buffers of its connections are memory of Redis too.
    expect((await usedMemory(redis)) - before).toBeLessThan(mebibyte);
    const [kept] = await readPages(other, 1);
    expect(kept).toContain("id: ");
    expect((await peer.delete()).status).toBe(204);
    expect((await other.delete()).status).toBe(204);
    await expect.poll(() => namesOf(redis, "portolan:log:*"), { timeout: 20_000 }).toBe(0);
    expect(await namesOf(redis, "portolan:id:*")).toBe(0);
  });

  test("leaves commands to others while Redis is slow, and all its streams go on", async () => {
    const { redis, url, reported } = await startServer({}, { commandMs: 20_000, maxCommands: 2_300 });
    const peer = await begin(url, revision, ada);
    redis.pause();
    const answers = await readPages(peer, 600);
    expect(answers.filter(isWhole)).toHaveLength(600);
    // Those beyond the limit have no ids: they cannot be resumed.
    const resumable = answers.filter((text) => text.includes("id: ")).length;
    expect(resumable).toBeGreaterThan(0);
    expect(resumable).toBeLessThan(600);
    const isRefused = () => reported.some((error) => error.includes("too much is under way"));
    expect(isRefused()).toBe(false);
    const begun = begin(url, revision, grace).catch(() => undefined);
    redis.resume();
    // A slow machine takes longer for all these commands than a request waits for its storage.
    await expect
      .poll(async () => (await begun) ?? begin(url, revision, grace).catch(() => undefined), long)
      .toBeDefined();
    expect(isRefused()).toBe(false);
    // When Redis has caught up, streams can be resumed again.
    await expect.poll(async () => (await readPages(peer, 1))[0], long).toContain("id: ");
  });
});

const ada = { headers: { authorization: "ada" } };
const grace = { headers: { authorization: "grace" } };
