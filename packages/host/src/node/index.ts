export {
  type ConfigFile,
  configProducts,
  type FindOptions,
  findConfigs,
  type Machine,
  productFile,
  type ReadConfigs,
  type ReadOptions,
  readConfigs,
  type WriteOptions,
  writeServer,
} from "./config/index.ts";
export { findWorkspace } from "./roots.ts";
