import type { Table, TableFilter } from "./catalog.ts";

/** A value bound to a statement. */
export type Parameter = string | number | boolean | null;

/** Values by position or by name. */
export type Parameters = readonly Parameter[] | { readonly [name: string]: Parameter };

/** One statement and the values for its placeholders. */
export interface Statement {
  readonly sql: string;
  readonly parameters?: Parameters;
}

/** A blob; `base64` is absent if it is larger than the limit. */
export interface Bytes {
  readonly bytes: number;
  readonly base64?: string;
}

/** A value in a result; numbers that JSON cannot represent, and dates, are exact strings. */
export type Cell = string | number | boolean | null | Bytes;

export interface Column {
  readonly name: string;
  /** The type name of the database. */
  readonly type: string;
}

/** Limits of one result. */
export interface Bounds {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxValueLength: number;
  readonly maxBlobBytes: number;
}

/** The rows that fit into the bounds. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** The bound that cut off further rows. */
  readonly cutBy?: "rows" | "bytes";
  /** Number of shortened values. */
  readonly shortened: number;
}

/** Result of a statement that writes. */
export interface Change extends Rows {
  /** Rows that were changed, added or removed. */
  readonly changes: number;
  /** True if tables or columns may have changed. */
  readonly isSchemaChanged: boolean;
}

export type Dialect = "sqlite" | "postgresql";

/** An open database. Failures that the model can act on are ToolErrors. */
export interface Database {
  readonly dialect: Dialect;
  /** A short description without secrets, such as "the SQLite database shop.db". */
  readonly about: string;
  /** A limit that this connection cannot set, for the operator; undefined if all are set. */
  readonly caution?: string | undefined;
  /** Runs a statement that cannot change anything. Callers share the connections; `caller` is the key of one. */
  read(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Rows>;
  /** Runs a statement in its own transaction. */
  write(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Change>;
  /** Returns the query plan of a statement as text. */
  explain(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<string>;
  tables(filter: TableFilter, signal: AbortSignal, caller?: string): Promise<Table[]>;
  /** Cancels running statements and closes all connections. */
  close(): Promise<void>;
}
