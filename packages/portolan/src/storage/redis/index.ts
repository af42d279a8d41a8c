export type { IoredisClient } from "./ioredis-link.ts";
export type { NodeRedisClient } from "./node-redis-link.ts";
export { createRedisStorage, type RedisClient, type RedisStorage, type RedisStorageOptions } from "./redis-storage.ts";
