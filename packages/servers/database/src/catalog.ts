import { ToolError } from "portolan/server";
import type { Bounds, Cell, Rows, Statement } from "./database.ts";

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly default?: string;
  /** True for a computed column. */
  readonly generated?: boolean;
  /** The values of an enumeration type. */
  readonly values?: readonly string[];
  readonly comment?: string;
}

export interface ForeignKey {
  readonly columns: readonly string[];
  readonly table: string;
  /** Columns of the other table; empty means its primary key. */
  readonly references: readonly string[];
}

export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly string[];
}

/** A table or view; columns, keys and indexes are filled in if `details` was requested. */
export interface Table {
  /** The name to use in a statement, without quotes, with the schema if it is needed. */
  readonly name: string;
  readonly kind: string;
  /** An estimate, if the database has one. */
  readonly rows?: number;
  readonly comment?: string;
  readonly columns: readonly TableColumn[];
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly ForeignKey[];
  readonly indexes: readonly Index[];
  readonly checks: readonly string[];
  /** The CREATE statement, or the query of a view. */
  readonly definition?: string;
}

/** Selects tables. */
export interface TableFilter {
  /** Only the table of this name. */
  readonly name?: string;
  /** Only tables whose name contains this. */
  readonly search?: string;
  readonly from?: number;
  readonly limit: number;
  /** Also returns columns, keys and indexes. */
  readonly details: boolean;
}

const bounds: Omit<Bounds, "maxRows"> = { maxBytes: 16 * 1024 * 1024, maxValueLength: 4_000_000, maxBlobBytes: 0 };

/** Reads tables with a statement of the dialect: one row per table, with lists as JSON. */
export async function readTables(
  read: (statement: Statement, bounds: Bounds) => Promise<Rows>,
  statement: Statement,
): Promise<Table[]> {
  const { rows, cutBy } = await read(statement, { ...bounds, maxRows: 10_000 });
  if (cutBy === "bytes") throw new ToolError("The schema is too large to show at once; describe single tables");
  return rows.map(toTable);
}

function toTable([
  name,
  kind,
  rows,
  comment,
  columns,
  primaryKey,
  foreignKeys,
  indexes,
  checks,
  definition,
]: readonly Cell[]): Table {
  return {
    name: String(name),
    kind: String(kind),
    ...(typeof rows === "number" && { rows }),
    ...(typeof comment === "string" && { comment }),
    columns: toList<TableColumn>(columns).map(withoutNulls),
    primaryKey: toList<string>(primaryKey),
    foreignKeys: toList<ForeignKey>(foreignKeys),
    indexes: toList<Index>(indexes),
    checks: toList<string>(checks),
    ...(typeof definition === "string" && { definition: definition.trim() }),
  };
}

/** Parses a list that the database returned as JSON. */
function toList<T>(cell: Cell | undefined): T[] {
  return typeof cell === "string" ? (JSON.parse(cell) as T[]) : [];
}

function withoutNulls(column: TableColumn): TableColumn {
  return Object.fromEntries(Object.entries(column).filter(([, value]) => value !== null)) as unknown as TableColumn;
}

/** Returns the table of a name; throws a ToolError with similar names if there is none. */
export async function needTable(tables: (filter: TableFilter) => Promise<Table[]>, name: string): Promise<Table> {
  const [table] = await tables({ name, limit: 1, details: true });
  if (table) return table;
  const word = name.slice(name.lastIndexOf(".") + 1);
  const similar = await tables({ search: word.slice(0, 60), limit: 5, details: false });
  const also = similar.length > 0 ? similar : await tables({ search: word.slice(0, 3), limit: 5, details: false });
  const hint =
    also.length > 0 ? `did you mean ${also.map((one) => one.name).join(", ")}?` : "the tool tables lists them";
  throw new ToolError(`No table ${JSON.stringify(name.slice(0, 100))}; ${hint}`);
}
