import { ToolError } from "portolan/server";
import type { Bounds, Cell, Rows, Statement } from "./database.ts";

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly default?: string;
  /** Whether the database computes it. */
  readonly generated?: boolean;
  /** What an enumeration allows. */
  readonly values?: readonly string[];
  readonly comment?: string;
}

export interface ForeignKey {
  readonly columns: readonly string[];
  readonly table: string;
  /** Those of the other table; empty means its primary key. */
  readonly references: readonly string[];
}

export interface Index {
  readonly name: string;
  readonly unique: boolean;
  readonly columns: readonly string[];
}

/** A table or view; what it consists of is there if it was asked for. */
export interface Table {
  /** As a statement has to call it, without quotes: with its schema where that is needed. */
  readonly name: string;
  readonly kind: string;
  /** About how many, where the database knows. */
  readonly rows?: number;
  readonly comment?: string;
  readonly columns: readonly TableColumn[];
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly ForeignKey[];
  readonly indexes: readonly Index[];
  readonly checks: readonly string[];
  /** The statement it was made with, or the query of a view. */
  readonly definition?: string;
}

/** Which tables are wanted. */
export interface TableFilter {
  /** This one only. */
  readonly name?: string;
  /** Those whose name has this in it. */
  readonly search?: string;
  readonly from?: number;
  readonly limit: number;
  /** Whether columns, keys and indexes are wanted too. */
  readonly details: boolean;
}

const bounds: Omit<Bounds, "maxRows"> = { maxBytes: 16 * 1024 * 1024, maxValueLength: 4_000_000, maxBlobBytes: 0 };

/** Reads tables with a statement of the dialect: one row each, with lists as JSON. */
export async function readTables(
  read: (statement: Statement, bounds: Bounds) => Promise<Rows>,
  statement: Statement,
): Promise<Table[]> {
  const { rows, cutBy } = await read(statement, { ...bounds, maxRows: 10_000 });
  if (cutBy === "bytes") throw new ToolError("The schema is too large to be shown at once; describe single tables");
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

/** What the database put together as JSON. */
function toList<T>(cell: Cell | undefined): T[] {
  return typeof cell === "string" ? (JSON.parse(cell) as T[]) : [];
}

function withoutNulls(column: TableColumn): TableColumn {
  return Object.fromEntries(Object.entries(column).filter(([, value]) => value !== null)) as unknown as TableColumn;
}

/** The one table of a name; an error that names similar ones otherwise. */
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
