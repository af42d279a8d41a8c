import { Collector, type Raw } from "../collector.ts";
import type { Bounds, Change, Parameter, Parameters, Rows, Statement } from "../database.ts";
import { trimEnd } from "../sql.ts";
import { forReading, forWriting } from "./authorizer.ts";
import type { Connection, Prepared } from "./binding.ts";
import { loadBinding } from "./binding.ts";

/** What an engine is told when it starts. */
export interface EngineOptions {
  readonly file: string;
  readonly isWriter: boolean;
  readonly busyMs: number;
  /** Bytes of the longest value. */
  readonly maxLength: number;
}

/** What the other process asks for. */
export interface Order {
  readonly kind: "run" | "explain";
  readonly statement: Statement;
  readonly bounds: Bounds;
}

/** What it gets: a result, or what SQLite says. */
export type Answer = { readonly done: Change } | { readonly error: string };

/** SQLite itself, in a process that may be ended at any moment. */
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
    // What a file says of itself was written by somebody else: its views and triggers call harmless functions only.
    connection.exec("PRAGMA trusted_schema = OFF");
    connection.enableDefensive(true);
    if (!isWriter) connection.exec("PRAGMA query_only = ON");
    if (connection.limits) {
      connection.limits.length = maxLength;
      connection.limits.attach = 0;
    }
    // Reads the file for the first time; a writer also takes back what one before it left half done.
    for (const _ of connection.prepare("SELECT count(*) FROM sqlite_schema").iterate());
    connection.setAuthorizer(isWriter ? forWriting : forReading);
    return new Engine(connection);
  }

  handle(order: Order): Answer {
    try {
      return { done: order.kind === "run" ? this.#run(order) : this.#explain(order) };
    } catch (reason) {
      return { error: (reason as Error).message };
    }
  }

  #run({ statement, bounds }: Order): Change {
    const before = this.#counters();
    const result = this.#rows(statement, bounds);
    const after = this.#counters();
    // Without the rows that triggers have changed, which only the total tells of.
    const changes = after.total === before.total ? 0 : after.last;
    return { ...result, changes, isSchemaChanged: after.schema !== before.schema };
  }

  #explain({ statement, bounds }: Order): Change {
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
    // A statement that writes must come to its end; its rows were computed before the first one is given.
    for (const row of prepared.iterate(...toValues(parameters))) {
      if (!collector.add(row as Raw[])) break;
    }
    return { columns, ...collector.result };
  }

  /** Compiles a statement, if it is the only one. */
  #prepare(sql: string): Prepared {
    if (sql.includes("\0")) throw new Error("a statement cannot contain the character U+0000");
    const alone = trimEnd(sql, "sqlite");
    if (alone.trim() === "") throw new Error("there is no statement in it");
    // What belongs to the first statement only SQLite knows: triggers have semicolons inside.
    const mark = "/*the end*/";
    if (this.#connection.prepare(`${alone}\n${mark}`).expandedSQL?.endsWith(mark) !== true) {
      throw new Error("only one statement at a time: leave out what follows the first semicolon");
    }
    return this.#connection.prepare(alone);
  }

  /** Places without a value would be NULL without a word. */
  #checkCount(sql: string, parameters: Parameters): void {
    const given = Array.isArray(parameters) ? parameters.length : Object.keys(parameters).length;
    const wanted = this.#countPlaces(sql);
    if (wanted > given) throw new Error(`the statement has places for ${wanted} parameters, and ${given} were given`);
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
    // To the end: a statement that is not done holds a lock.
    const [[total, last, schema] = []] = [...prepared.iterate()];
    return { total: Number(total), last: Number(last), schema: Number(schema) };
  }
}

function toValues(parameters: Parameters): unknown[] {
  if (Array.isArray(parameters)) return parameters.map(toValue);
  return [Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, toValue(value)]))];
}

/** Whole numbers go in as such: SQLite would keep 5.0 where 5 was meant. */
function toValue(value: Parameter): string | number | bigint | null {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
}
