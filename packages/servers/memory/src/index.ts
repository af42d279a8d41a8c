export type { Entity, Graph, Operation, Relation } from "./graph.ts";
export type { Entry } from "./line.ts";
export { defaultFile, type Limits, type MemoryOptions, type StoreOptions } from "./options.ts";
export type { Changes, Damage } from "./replica.ts";
export { createMemory } from "./server.ts";
export { type MemoryStore, openStore, type Work } from "./store.ts";
