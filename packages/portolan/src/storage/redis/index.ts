// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export type { IoredisClient } from "./ioredis-link.ts";
export type { NodeRedisClient } from "./node-redis-link.ts";
export { createRedisStorage, type RedisClient, type RedisStorage, type RedisStorageOptions } from "./redis-storage.ts";
