import * as ioredis6 from "ioredis";
import * as ioredis5 from "ioredis5";
import type { RedisClient } from "portolan/storage/redis";
import * as redis6 from "redis";
import * as redis5 from "redis5";

/** A client of one of the libraries, and how to end it. */
export interface TestClient {
  readonly client: RedisClient;
  close(): Promise<void>;
}

/** How one library makes its clients, as its documentation shows it. */
export interface ClientLibrary {
  single(port: number, password?: string): TestClient;
  cluster(ports: readonly number[]): TestClient;
  sentinel(port: number): TestClient;
}

const host = "127.0.0.1";

function nodeRedis({ createClient, createCluster, createSentinel }: typeof redis6): ClientLibrary {
  // The user's client is never connected: the storage does not need it to be.
  const never = async () => {};
  return {
    single: (port, password) => ({
      client: createClient({ url: `redis://${password === undefined ? "" : `:${password}@`}${host}:${port}` }),
      close: never,
    }),
    cluster: (ports) => ({
      client: createCluster({ rootNodes: ports.map((port) => ({ url: `redis://${host}:${port}` })) }),
      close: never,
    }),
    sentinel: (port) => ({
      client: createSentinel({ name: "m", sentinelRootNodes: [{ host, port }] }),
      close: never,
    }),
  };
}

function ioredis({ Redis, Cluster }: typeof ioredis6): ClientLibrary {
  const toTestClient = (client: ioredis6.Redis | ioredis6.Cluster): TestClient => {
    client.on("error", () => {});
    return { client, close: async () => client.disconnect() };
  };
  return {
    single: (port, password) =>
      toTestClient(new Redis({ host, port, lazyConnect: true, ...(password !== undefined && { password }) })),
    cluster: (ports) =>
      toTestClient(
        new Cluster(
          ports.map((port) => ({ host, port })),
          { lazyConnect: true },
        ),
      ),
    sentinel: (port) => toTestClient(new Redis({ name: "m", sentinels: [{ host, port }], lazyConnect: true })),
  };
}

/** The libraries by name and version. */
export const libraries = {
  "redis 6": nodeRedis(redis6),
  "redis 5": nodeRedis(redis5 as unknown as typeof redis6),
  "ioredis 6": ioredis(ioredis6),
  "ioredis 5": ioredis(ioredis5 as unknown as typeof ioredis6),
};

export const libraryNames = Object.keys(libraries) as (keyof typeof libraries)[];
