/** What is used of SQLite: the part that Node's own module and the package have in common. */
export interface Binding {
  readonly DatabaseSync: new (file: string, options: OpenOptions) => Connection;
}

interface OpenOptions {
  readonly readOnly: boolean;
  readonly allowExtension: false;
  /** How long to wait for the locks of others, in milliseconds. */
  readonly timeout: number;
  readonly enableDoubleQuotedStringLiterals: boolean;
}

export interface Connection {
  /** What a value, a statement and so on may be at most. */
  readonly limits?: { length: number; attach: number };
  readonly isTransaction: boolean;
  prepare(sql: string): Prepared;
  exec(sql: string): void;
  enableDefensive(isOn: boolean): void;
  setAuthorizer(decide: Authorizer): void;
}

/** Says of each thing that a statement would do, while it is compiled, whether it may: 0 for yes, 1 for no. */
export type Authorizer = (action: number, first: string | null, second: string | null) => number;

export interface Prepared {
  /** The text of the statement alone, without what followed it. */
  readonly expandedSQL: string | undefined;
  columns(): { readonly name: string; readonly type: string | null }[];
  iterate(...values: unknown[]): IterableIterator<unknown[]>;
  setReadBigInts(isOn: boolean): void;
  setReturnArrays(isOn: boolean): void;
}

/** Node's own SQLite where it has an authorizer (Node 24.10), else the package with the same interface. */
export async function loadBinding(): Promise<Binding> {
  // Named by a variable: older versions of Node do not know it, and bundlers would look for it.
  const builtIn = "node:sqlite";
  const own: { DatabaseSync?: { prototype: object } } = await import(builtIn).catch(() => ({}));
  if (own.DatabaseSync && "setAuthorizer" in own.DatabaseSync.prototype) return own as unknown as Binding;
  return (await import("@photostructure/sqlite")) as unknown as Binding;
}
