import { Collector, type Raw } from "../collector.ts";
import type { Bounds, Change, Parameter, Parameters, Rows, Statement } from "../database.ts";
import { trimEnd } from "../sql.ts";
import { forReading, forWriting } from "./authorizer.ts";
import type { Connection, Prepared } from "./binding.ts";
import { loadBinding } from "./binding.ts";

/** Options of an engine. */
export interface EngineOptions {
  readonly file: string;
  readonly isWriter: boolean;
  readonly busyMs: number;
  /** Longest value, in bytes. */
  readonly maxLength: number;
}

/** A request from the server process. */
export interface EngineRequest {
  readonly kind: "run" | "explain";
  readonly statement: Statement;
  readonly bounds: Bounds;
}

/** The response: a result, or SQLite's error message. */
export type EngineResponse = { readonly done: Change } | { readonly error: string };

/** SQLite itself, in a process that can be killed at any moment. */
export class Engine {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open({ file, isWriter, busyMs, maxLength }: EngineOptions): Promise<Engine> {
    const { DatabaseSync } = await loadBinding();
    const connection = new DatabaseSync(file, {
      readOnly: !isWriter,
      allowExtension: false,
      timeout: busyMs,
      enableDoubleQuotedStringLiterals: true,
    });
    // The schema of a file is untrusted: its views and triggers may only call harmless functions.
    connection.exec("PRAGMA trusted_schema = OFF");
    // Sorts and temporary tables count against the memory limit of the process: files would fill the disk.
    connection.exec("PRAGMA temp_store = MEMORY");
    connection.enableDefensive(true);
    if (!isWriter) connection.exec("PRAGMA query_only = ON");
    if (connection.limits) {
      connection.limits.length = maxLength;
      connection.limits.attach = 0;
    }
    // The first read; a writer also rolls back what a killed one left half done.
    for (const _ of connection.prepare("SELECT count(*) FROM sqlite_schema").iterate());
    connection.setAuthorizer(isWriter ? forWriting : forReading);
    return new Engine(connection);
  }

  handle(request: EngineRequest): EngineResponse {
    try {
      return { done: request.kind === "run" ? this.#run(request) : this.#explain(request) };
    } catch (reason) {
      return { error: (reason as Error).message };
    }
  }

  #run({ statement, bounds }: EngineRequest): Change {
    const before = this.#counters();
    const result = this.#rows(statement, bounds);
    const after = this.#counters();
    // changes() leaves out rows that triggers changed; the total includes them.
    const changes = after.total === before.total ? 0 : after.last;
    return { ...result, changes, isSchemaChanged: after.schema !== before.schema };
  }

  #explain({ statement, bounds }: EngineRequest): Change {
    this.#prepare(statement.sql);
    const sql = `EXPLAIN QUERY PLAN ${statement.sql}`;
    return { ...this.#rows({ ...statement, sql }, bounds), changes: 0, isSchemaChanged: false };
  }

  #rows({ sql, parameters = [] }: Statement, bounds: Bounds): Rows {
    const prepared = this.#prepare(sql);
    this.#checkCount(sql, parameters);
    prepared.setReadBigInts(true);
    prepared.setReturnArrays(true);
    const columns = prepared.columns().map(({ name, type }) => ({ name, type: type?.toLowerCase() ?? "" }));
    const collector = new Collector(bounds);
    // Breaking off is safe: a statement that writes has computed all its rows before it returns the first one.
    for (const row of prepared.iterate(...toValues(parameters))) {
      if (!collector.add(row as Raw[])) break;
    }
    return { columns, ...collector.result };
  }

  /** Compiles a statement; throws if there are several. */
  #prepare(sql: string): Prepared {
    if (sql.includes("\0")) throw new Error("a statement cannot contain the character U+0000");
    const alone = trimEnd(sql, "sqlite");
    if (alone.trim() === "") throw new Error("the text contains no statement");
    // Only SQLite knows where the first statement ends: triggers contain semicolons.
    const mark = "/*the end*/";
    if (this.#connection.prepare(`${alone}\n${mark}`).expandedSQL?.endsWith(mark) !== true) {
      throw new Error("only one statement is allowed: remove everything after the first semicolon");
    }
    return this.#connection.prepare(alone);
  }

  /** Throws for placeholders without a value, which SQLite would silently treat as NULL. */
  #checkCount(sql: string, parameters: Parameters): void {
    const given = Array.isArray(parameters) ? parameters.length : Object.keys(parameters).length;
    const wanted = this.#countPlaces(sql);
    if (wanted > given) throw new Error(`the statement has ${wanted} placeholders, but got ${given} parameters`);
  }

  #countPlaces(sql: string): number {
    let program: Prepared;
    try {
      program = this.#connection.prepare(`EXPLAIN ${sql}`);
    } catch {
      return 0;
    }
    program.setReturnArrays(true);
    let most = 0;
    for (const [, opcode, place] of program.iterate()) {
      if (opcode === "Variable") most = Math.max(most, Number(place));
    }
    return most;
  }

  #counters(): { readonly total: number; readonly last: number; readonly schema: number } {
    const sql = "SELECT total_changes(), changes(), schema_version FROM pragma_schema_version";
    const prepared = this.#connection.prepare(sql);
    prepared.setReturnArrays(true);
    // Read all rows: an unfinished statement holds a lock.
    const [[total, last, schema] = []] = [...prepared.iterate()];
    return { total: Number(total), last: Number(last), schema: Number(schema) };
  }
}

function toValues(parameters: Parameters): unknown[] {
  if (Array.isArray(parameters)) return parameters.map(toValue);
  return [Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, toValue(value)]))];
}

/** Binds integers as bigint: SQLite would store the number 5 as 5.0. */
function toValue(value: Parameter): string | number | bigint | null {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}
