export type { Machine } from "./find.ts";
export { type ConfigFile, configProducts, type FindOptions, findConfigs, productFile } from "./find.ts";
export { type ReadConfigs, type ReadOptions, readConfigs } from "./read.ts";
export { type WriteOptions, writeServer } from "./write.ts";
