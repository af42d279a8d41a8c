/** The part of SQLite's interface that Node's own module and the package share. */
export interface Binding {
  readonly DatabaseSync: new (file: string, options: OpenOptions) => Connection;
}

interface OpenOptions {
  readonly readOnly: boolean;
  readonly allowExtension: false;
  /** How long to wait for locks of other processes, in milliseconds. */
  readonly timeout: number;
  readonly enableDoubleQuotedStringLiterals: boolean;
}

export interface Connection {
  /** SQLite's limits; `length` is the longest value in bytes. */
  readonly limits?: { length: number; attach: number };
  readonly isTransaction: boolean;
  prepare(sql: string): Prepared;
  exec(sql: string): void;
  enableDefensive(isOn: boolean): void;
  setAuthorizer(decide: Authorizer): void;
}

/** Called for each action of a statement while it is compiled: 0 allows it, 1 denies it. */
export type Authorizer = (action: number, first: string | null, second: string | null) => number;

export interface Prepared {
  /** The text of the first statement only. */
  readonly expandedSQL: string | undefined;
  columns(): { readonly name: string; readonly type: string | null }[];
  iterate(...values: unknown[]): IterableIterator<unknown[]>;
  setReadBigInts(isOn: boolean): void;
  setReturnArrays(isOn: boolean): void;
}

/** Loads Node's own SQLite if it has an authorizer (Node 24.10), else the package with the same interface. */
export async function loadBinding(): Promise<Binding> {
  // A variable hides the name from bundlers; older versions of Node do not have the module.
  const builtIn = "node:sqlite";
  const own: { DatabaseSync?: { prototype: object } } = await import(builtIn).catch(() => ({}));
  if (own.DatabaseSync && "setAuthorizer" in own.DatabaseSync.prototype) return own as unknown as Binding;
  return (await import("@photostructure/sqlite")) as unknown as Binding;
}
