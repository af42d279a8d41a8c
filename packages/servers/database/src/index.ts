export type { ForeignKey, Index, Table, TableColumn, TableFilter } from "./catalog.ts";
export type {
  Bounds,
  Bytes,
  Cell,
  Change,
  Column,
  Database,
  Dialect,
  Parameter,
  Parameters,
  Rows,
  Statement,
} from "./database.ts";
export type { DatabaseLimits, DatabaseOptions } from "./options.ts";
export { createDatabase, openDatabase } from "./server.ts";
