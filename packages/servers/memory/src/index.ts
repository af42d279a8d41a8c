export { defaultFile, type Limits, type MemoryOptions, type StoreOptions } from "./options.ts";
export { createMemory } from "./server.ts";
export type { Entity, Graph, Operation, Relation } from "./store/graph.ts";
export type { Entry } from "./store/line.ts";
export type { Changes, Damage } from "./store/replica.ts";
export { type ComputeChange, type MemoryStore, openStore } from "./store/store.ts";
