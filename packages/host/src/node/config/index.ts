export type { Machine } from "./find.ts";
export { type ConfigFile, type FindOptions, findConfigs } from "./find.ts";
export { type ReadConfigs, type ReadOptions, readConfigs } from "./read.ts";
export { type WriteOptions, writeServer } from "./write.ts";
