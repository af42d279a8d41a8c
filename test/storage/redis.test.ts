import { createRedisStorage, type RedisStorage } from "portolan/storage/redis";
import { storageContract } from "portolan/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ClientLibrary, libraries, libraryNames } from "./redis-clients.ts";
import { type RedisServer, startCluster, startRedis } from "./redis-server.ts";

let prefixes = 0;

/** Makes two storages on the same data, each with a client of its own, as two processes would. */
async function openTwo(library: ClientLibrary, ports: readonly number[]) {
  prefixes += 1;
  const prefix = `t${prefixes}`;
  const clients = [0, 1].map(() => (ports.length === 1 ? library.single(ports[0] ?? 0) : library.cluster(ports)));
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
    for (const { name: title, run } of storageContract(() => openTwo(libraries[name], [server.port]))) test(title, run);
  });
});

describe("a cluster of three masters", () => {
  let nodes: readonly RedisServer[];
  beforeAll(async () => {
    nodes = await startCluster();
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  describe.each(libraryNames)("%s", (name) => {
    const open = () =>
      openTwo(
        libraries[name],
        nodes.map(({ port }) => port),
      );
    for (const { name: title, run } of storageContract(open)) test(title, run);
  });
});
