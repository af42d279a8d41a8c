import { fileStore, memoryStore, storeIn } from "portolan/auth/client";
import { createMemoryStorage } from "portolan/storage";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RedisServer, startRedis } from "../../storage/redis-server.ts";
import { temporaryFolder } from "./kit.ts";
import { testStore } from "./store-contract.ts";

describe("a store in memory", () => {
  testStore(async () => {
    const store = memoryStore();
    return { store, other: store };
  });
});

describe("a store in a storage", () => {
  testStore(async () => {
    const storage = createMemoryStorage();
    return { store: storeIn(storage), other: storeIn(storage) };
  });

  test("uses its prefix for all keys", async () => {
    const storage = createMemoryStorage();
    const [mine, theirs] = [storeIn(storage, { prefix: "mine/" }), storeIn(storage, { prefix: "theirs/" })];
    await mine.set("a", "1");
    expect(await theirs.get("a")).toBe(undefined);
    const nested = await mine.exclusive("a", () => theirs.exclusive("a", async () => "both"));
    expect(nested).toBe("both");
    for (const { key } of await storage.kv.list("")) expect(key).toMatch(/^(mine|theirs)\//);
  });
});

describe("a store in a file", () => {
  testStore(async () => {
    const path = `${temporaryFolder()}/new/folder/credentials.json`;
    return { store: fileStore(path), other: fileStore(path) };
  });
});

describe("a store in Redis", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  const storages: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(storages.map((storage) => storage.close())).then(() => {}));

  testStore(async () => {
    await redis.command("FLUSHALL");
    const open = () => {
      const storage = createRedisStorage(createClient({ url: `redis://127.0.0.1:${redis.port}` }));
      storages.push(storage);
      return storeIn(storage);
    };
    return { store: open(), other: open() };
  });
});
