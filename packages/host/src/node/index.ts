export {
  type ConfigFile,
  type FindOptions,
  findConfigs,
  type Machine,
  type ReadConfigs,
  type ReadOptions,
  readConfigs,
  type WriteOptions,
  writeServer,
} from "./config/index.ts";
export { findWorkspace } from "./roots.ts";
