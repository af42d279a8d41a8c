// @ts-check
// Where a server keeps its sessions: a folder, or Redis with either client, alone, with Sentinel and as a cluster.

import { Cluster, Redis } from "ioredis";
import { serveHttp } from "portolan/server/http";
import { createFileStorage } from "portolan/storage/node";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient, createCluster, createSentinel } from "redis";
import { dice } from "../http/server.mjs";

// region file
/** @param {string} folder */
export async function serveFromFolder(folder) {
  const storage = createFileStorage(folder, { onError: console.error });
  await storage.ready(); // rejects if another process uses the folder
  return { mcp: serveHttp(dice, { storage }), storage };
}
// endregion

// region redis
/** @param {string} url */
export async function serveWithRedis(url) {
  const storage = createRedisStorage(createClient({ url }), { onError: console.error });
  await storage.ready(); // rejects with one line that says what is wrong
  return { mcp: serveHttp(dice, { storage, instances: 2 }), storage };
}
// endregion

// region ioredis
/** @param {string} url */
export const overIoredis = (url) => createRedisStorage(new Redis(url, { lazyConnect: true }));
// endregion

// region cluster
/** @param {string[]} urls */
export const overCluster = (urls) => createRedisStorage(createCluster({ rootNodes: urls.map((url) => ({ url })) }));

/** @param {string[]} urls */
export const overIoredisCluster = (urls) => createRedisStorage(new Cluster(urls, { lazyConnect: true }));
// endregion

// region sentinel
/** @param {{ host: string, port: number }[]} sentinels */
export const overSentinel = (sentinels) =>
  createRedisStorage(createSentinel({ name: "m", sentinelRootNodes: sentinels }));

/** @param {{ host: string, port: number }[]} sentinels */
export const overIoredisSentinel = (sentinels) =>
  createRedisStorage(new Redis({ name: "m", sentinels, lazyConnect: true }));
// endregion
