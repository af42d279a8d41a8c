import type { Table, TableFilter } from "./catalog.ts";

/** A value that is bound to a statement. */
export type Parameter = string | number | boolean | null;

/** Values by position or by name. */
export type Parameters = readonly Parameter[] | { readonly [name: string]: Parameter };

/** One statement and the values for its places. */
export interface Statement {
  readonly sql: string;
  readonly parameters?: Parameters;
}

/** Bytes; left out where they are many. */
export interface Bytes {
  readonly bytes: number;
  readonly base64?: string;
}

/** A value as it is shown: numbers that JSON cannot hold, and dates, are exact texts. */
export type Cell = string | number | boolean | null | Bytes;

export interface Column {
  readonly name: string;
  /** As the database calls it. */
  readonly type: string;
}

/** How much of a result is taken. */
export interface Bounds {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxValueLength: number;
  readonly maxBlobBytes: number;
}

/** Rows as far as the bounds allowed. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** Which bound kept further rows out. */
  readonly cutBy?: "rows" | "bytes";
  /** How many values were shortened. */
  readonly shortened: number;
}

/** What a statement that writes has done. */
export interface Change extends Rows {
  /** Rows that it changed, added or took away. */
  readonly changes: number;
  /** Whether there may be other tables or columns now. */
  readonly isSchemaChanged: boolean;
}

export type Dialect = "sqlite" | "postgresql";

/** A database that is open. Failures that the model can do something about are ToolErrors. */
export interface Database {
  readonly dialect: Dialect;
  /** What it is, in a few words and without secrets. */
  readonly about: string;
  /** Runs a statement that cannot change anything. */
  read(statement: Statement, bounds: Bounds, signal: AbortSignal): Promise<Rows>;
  /** Runs a statement as a transaction of its own. */
  write(statement: Statement, bounds: Bounds, signal: AbortSignal): Promise<Change>;
  /** How the database would run a statement, as a text. */
  explain(statement: Statement, bounds: Bounds, signal: AbortSignal): Promise<string>;
  tables(filter: TableFilter, signal: AbortSignal): Promise<Table[]>;
  /** Ends what is running and lets go of all connections. */
  close(): Promise<void>;
}
