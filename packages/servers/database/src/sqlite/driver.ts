import { basename } from "node:path";
import { ToolError } from "portolan/server";
import { checkFile } from "../address.ts";
import { readTables, type Table, type TableFilter } from "../catalog.ts";
import type { Bounds, Change, Database, Rows, Statement } from "../database.ts";
import type { DatabaseLimits } from "../options.ts";
import { Pool } from "../pool.ts";
import { showPlan } from "../show.ts";
import type { EngineRequest } from "./engine.ts";
import { EngineProcess } from "./process.ts";

const idleMs = 60_000;
/** How long to wait for locks of other programs. */
const busyMs = 5_000;
/** Longest value that a statement may produce, in bytes. */
const maxLength = 64 * 1024 * 1024;

/** An SQLite file. Each connection is a process, because only killing the process stops a statement. */
export class SqliteDatabase implements Database {
  readonly dialect = "sqlite";
  readonly about: string;
  readonly #timeoutMs: number;
  readonly #readers: Pool<EngineProcess>;
  readonly #writer: Pool<EngineProcess>;

  constructor(file: string, limits: DatabaseLimits) {
    checkFile(file);
    this.about = `the SQLite database ${basename(file)}`;
    this.#timeoutMs = limits.timeoutMs;
    const { connections, maxWaiting, timeoutMs, maxMemoryMb } = limits;
    const shared = { file, busyMs: Math.min(busyMs, timeoutMs), maxLength, maxMemoryMb };
    const pool = (max: number, isWriter: boolean) =>
      new Pool<EngineProcess>({
        ...{ max, maxWaiting, waitMs: 2 * timeoutMs, idleMs },
        open: () => EngineProcess.start({ ...shared, isWriter }),
      });
    this.#readers = pool(connections, false);
    this.#writer = pool(1, true);
  }

  async read(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Rows> {
    return this.#send(this.#readers, { kind: "run", statement, bounds }, signal, caller);
  }

  async write(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Change> {
    let isBegun = false;
    const work = (engine: EngineProcess) => {
      isBegun = true;
      return engine.run({ kind: "run", statement, bounds }, this.#timeoutMs, signal);
    };
    try {
      return await this.#writer.use(signal, work, caller);
    } catch (reason) {
      if (isBegun) await this.#recover(caller);
      throw reason;
    }
  }

  async explain(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<string> {
    const { rows, cutBy } = await this.#send(this.#readers, { kind: "explain", statement, bounds }, signal, caller);
    const depths = new Map<unknown, number>([[0, -1]]);
    const lines = rows.map(([id, parent, , detail]) => {
      const depth = (depths.get(parent) ?? -1) + 1;
      depths.set(id, depth);
      return `${"  ".repeat(depth)}${detail}`;
    });
    return showPlan(lines, cutBy !== undefined);
  }

  async tables(filter: TableFilter, signal: AbortSignal, caller?: string): Promise<Table[]> {
    const read = (statement: Statement, bounds: Bounds) => this.read(statement, bounds, signal, caller);
    try {
      return await readTables(read, catalogOf(filter));
    } catch (reason) {
      if (!(reason instanceof ToolError) || !filter.details) throw reason;
      return this.#oneByOne(filter, read);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#readers.close(), this.#writer.close()]);
  }

  /** Opens a writer after a failed change: a killed one leaves a journal that blocks all readers until a writer rolls it back. */
  async #recover(caller: string | undefined): Promise<void> {
    // A failure to open the file is reported by the next statement.
    await this.#writer.use(new AbortController().signal, async () => {}, caller).catch(() => {});
  }

  /** Describes tables one by one, so that a broken view does not hide the others. */
  async #oneByOne(
    filter: TableFilter,
    read: (statement: Statement, bounds: Bounds) => Promise<Rows>,
  ): Promise<Table[]> {
    const listed = await readTables(read, catalogOf({ ...filter, details: false }));
    const tables: Table[] = [];
    for (const table of listed) {
      const [described] = await readTables(read, catalogOf({ name: table.name, limit: 1, details: true })).catch(
        (reason: unknown) => {
          if (!(reason instanceof ToolError)) throw reason;
          return [{ ...table, comment: `cannot be described: ${reason.message}` }];
        },
      );
      tables.push(described ?? table);
    }
    return tables;
  }

  #send(pool: Pool<EngineProcess>, request: EngineRequest, signal: AbortSignal, caller?: string): Promise<Change> {
    return pool.use(signal, (engine) => engine.run(request, this.#timeoutMs, signal), caller);
  }
}

const details = `
  (SELECT json_group_array(json_object('name', x.name, 'type', lower(x.type),
      'nullable', json(iif(x."notnull" OR (x.pk > 0 AND l.wr), 'false', 'true')), 'default', x.dflt_value,
      'generated', iif(x.hidden > 1, json('true'), NULL)))
    FROM pragma_table_xinfo(l.name) x WHERE x.hidden <> 1),
  (SELECT json_group_array(k.name) FROM (SELECT name FROM pragma_table_xinfo(l.name) WHERE pk > 0 ORDER BY pk) k),
  (SELECT json_group_array(json_object('columns', json(f.columns), 'table', f."table", 'references', json(f.targets)))
    FROM (SELECT id, "table", json_group_array("from") AS columns,
        iif(count("to") = 0, '[]', json_group_array("to")) AS targets
      FROM (SELECT * FROM pragma_foreign_key_list(l.name) ORDER BY id, seq) GROUP BY id) f),
  (SELECT json_group_array(json_object('name', i.name, 'unique', json(iif(i."unique", 'true', 'false')), 'columns',
      json((SELECT json_group_array(coalesce(c.name, '(expression)')) FROM pragma_index_info(i.name) c))))
    FROM pragma_index_list(l.name) i),
  '[]',
  (SELECT s.sql FROM sqlite_schema s WHERE s.name = l.name AND s.type IN ('table', 'view'))`;

/** Returns the statement that lists the tables of a file. */
function catalogOf(filter: TableFilter): Statement {
  const { name = null, search = null, from = 0, limit } = filter;
  const sql = `
    SELECT l.name, iif(l.type = 'virtual', 'virtual table', l.type), NULL, NULL${filter.details ? `, ${details}` : ""}
    FROM pragma_table_list l
    WHERE l.schema = 'main' AND l.type <> 'shadow' AND l.name NOT LIKE 'sqlite~_%' ESCAPE '~'
      AND (?1 IS NULL OR l.name = ?1 COLLATE NOCASE)
      AND (?2 IS NULL OR instr(lower(l.name), lower(?2)) > 0)
    ORDER BY l.name LIMIT ?3 OFFSET ?4`;
  return { sql, parameters: [name, search, limit, from] };
}
