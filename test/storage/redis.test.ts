import { createRedisStorage, type RedisStorage } from "portolan/storage/redis";
import { storageContract } from "portolan/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { libraries, libraryNames, type TestClient } from "./redis-clients.ts";
import { type RedisServer, type Sentinel, startCluster, startRedis, startSentinel } from "./redis-server.ts";

let prefixes = 0;

/** Makes two storages on the same data, each with a client of its own, as two processes would. */
async function openTwo(make: () => TestClient) {
  prefixes += 1;
  const prefix = `t${prefixes}`;
  const clients = [make(), make()];
  const [storage, other] = clients.map(({ client }) => createRedisStorage(client, { prefix })) as [
    RedisStorage,
    RedisStorage,
  ];
  return {
    storage,
    other,
    passTime: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms + 5)),
    async release() {
      await Promise.all([storage.close(), other.close()]);
      for (const { close } of clients) await close();
    },
  };
}

describe("one server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  describe.each(libraryNames)("%s", (name) => {
    const open = () => openTwo(() => libraries[name].single(server.port));
    for (const { name: title, run } of storageContract(open)) test(title, run);
  });
});

describe("a cluster of three masters", () => {
  let nodes: readonly RedisServer[];
  beforeAll(async () => {
    nodes = await startCluster();
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  describe.each(libraryNames)("%s", (name) => {
    const open = () => openTwo(() => libraries[name].cluster(nodes.map(({ port }) => port)));
    for (const { name: title, run } of storageContract(open)) test(title, run);
  });
});

describe("a master that a Sentinel names", () => {
  let sentinel: Sentinel;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(() => sentinel.stop());

  // A client of redis 5 cannot be duplicated.
  describe.each(libraryNames.filter((name) => name !== "redis 5"))("%s", (name) => {
    const open = () => openTwo(() => libraries[name].sentinel(sentinel.port));
    for (const { name: title, run } of storageContract(open)) test(title, run);
  });
});
