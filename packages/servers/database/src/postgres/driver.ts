import type { ClientConfig, FieldDef } from "pg";
import { ToolError } from "portolan/server";
import { readTables, type Table, type TableFilter } from "../catalog.ts";
import { Collector } from "../collector.ts";
import type { Bounds, Change, Column, Database, Parameter, Rows, Statement } from "../database.ts";
import type { DatabaseLimits, DatabaseOptions } from "../options.ts";
import { Pool } from "../pool.ts";
import { showPlan } from "../show.ts";
import { toPositions } from "../sql.ts";
import { catalogOf, knownTypes, toRaw } from "./catalog.ts";
import { refuseActing } from "./functions.ts";
import { type Outcome, type ServerFacts, Session } from "./session.ts";
import { TempWatch } from "./temp-watch.ts";

const idleMs = 60_000;
const connectMs = 10_000;
/** Time for the server to stop a statement after a cancel request or its own timeout. */
const graceMs = 2_000;
/** Bytes that may arrive beyond those shown: long values, and the one extra row. */
const spareBytes = 4 * 1024 * 1024;
const maxKnownTypes = 10_000;
const unknownOutcome =
  "The connection was lost during the commit; check with query whether the change was made before you try again";

/** A pool whose first connection was accepted, and its settings. */
interface OpenedPool {
  readonly facts: ServerFacts;
  readonly open: () => Promise<Session>;
  readonly pool: Pool<Session>;
  readonly limits: DatabaseLimits;
  readonly schemas: readonly string[] | undefined;
  readonly trustRole: boolean | undefined;
}

/** A database of a PostgreSQL server. */
export class PostgresDatabase implements Database {
  readonly dialect = "postgresql";
  readonly about: string;
  readonly caution: string | undefined;
  readonly #facts: ServerFacts;
  readonly #schemas: readonly string[] | undefined;
  readonly #limits: DatabaseLimits;
  readonly #pool: Pool<Session>;
  readonly #types = new Map<number, string>();
  readonly #trustsRole: boolean;
  /** Undefined if the database server itself limits temporary files. */
  readonly #tempWatch: TempWatch | undefined;

  private constructor({ facts, open, pool, limits, schemas, trustRole = false }: OpenedPool) {
    this.#facts = facts;
    this.#pool = pool;
    this.#limits = limits;
    this.#schemas = schemas;
    this.#trustsRole = trustRole;
    const { maySetTemp, tempKb } = facts;
    if (!maySetTemp && tempKb < 0) this.#tempWatch = new TempWatch(open, limits.maxTempMb * 1024 * 1024);
    this.about = `the PostgreSQL ${facts.version.split(" ", 1)[0]} database ${facts.database}`;
    this.caution = cautionOf(facts);
  }

  /** Connects once to check that the connection works and the role is safe. */
  static async open(url: string, options: DatabaseOptions, limits: DatabaseLimits): Promise<PostgresDatabase> {
    const config: ClientConfig = {
      connectionString: url,
      application_name: "portolan-database",
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
    };
    const open = async () => {
      const session = await Session.open(config).catch((reason: unknown) => {
        throw toOpenError(reason);
      });
      const { danger } = session.facts;
      if (danger === undefined || options.trustRole === true) return session;
      await session.close();
      throw new ToolError(
        `${danger}, which reaches beyond the database and beyond what a rollback can undo: connect as a role with fewer rights, or accept this one with --trust-role`,
      );
    };
    const pool = new Pool<Session>({
      ...{ max: limits.connections, maxWaiting: limits.maxWaiting, waitMs: 2 * limits.timeoutMs, idleMs, open },
    });
    const facts = await pool.use(new AbortController().signal, async (session) => session.facts);
    const { schemas, trustRole } = options;
    return new PostgresDatabase({ facts, open, pool, limits, schemas, trustRole });
  }

  async read(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Rows> {
    const { sql, values } = bind(statement);
    const collector = new Collector(bounds);
    const { fields } = await this.#work("READ ONLY", { signal, caller }, async (session) => {
      if (!this.#trustsRole) await refuseActing(session, sql);
      // Only a query can be declared as a cursor, and it computes no more rows than are fetched. After the declaration
      // the transaction has had its first query and can no longer be made writable.
      await session.run(`DECLARE portolan NO SCROLL CURSOR FOR ${sql}`, values, () => {});
      return collect(session, `FETCH ${bounds.maxRows + 1} FROM portolan`, [], collector, bounds);
    });
    return { columns: await this.#columns(fields, signal, caller), ...collector.result };
  }

  async write(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<Change> {
    const { sql, values } = bind(statement);
    const collector = new Collector(bounds);
    const { fields, command, count } = await this.#work("READ WRITE", { signal, caller }, async (session) => {
      const outcome = await collect(session, sql, values, collector, bounds);
      if (!session.isUsable)
        throw new ToolError("The statement returned too much data, so nothing was changed; return less");
      await session.say("COMMIT").catch((reason: unknown) => {
        throw explain(reason, this.#limits.timeoutMs) ?? new ToolError(unknownOutcome);
      });
      return outcome;
    });
    const isData = /^(INSERT|UPDATE|DELETE|MERGE|COPY)$/.test(command);
    return {
      columns: await this.#columns(fields, signal, caller),
      ...collector.result,
      changes: isData ? count : 0,
      isSchemaChanged: !isData && command !== "SELECT",
    };
  }

  async explain(statement: Statement, bounds: Bounds, signal: AbortSignal, caller?: string): Promise<string> {
    const { sql, values } = bind(statement);
    const collector = new Collector(bounds);
    await this.#work("READ ONLY", { signal, caller }, (session) =>
      collect(session, `EXPLAIN (FORMAT TEXT) ${sql}`, values, collector, bounds),
    );
    return showPlan(
      collector.result.rows.map(([line]) => String(line)),
      collector.isCut,
    );
  }

  tables(filter: TableFilter, signal: AbortSignal, caller?: string): Promise<Table[]> {
    return readTables(
      (statement, bounds) => this.read(statement, bounds, signal, caller),
      catalogOf(filter, this.#schemas),
    );
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#pool.close(), this.#tempWatch?.close()]);
  }

  /** Runs `work` in a transaction that is rolled back afterwards unless `work` commits it. */
  #work<T>(
    mode: "READ ONLY" | "READ WRITE",
    { signal, caller }: { signal: AbortSignal; caller: string | undefined },
    work: (session: Session) => Promise<T>,
  ): Promise<T> {
    return this.#pool.use(
      signal,
      async (session) => {
        const { timeoutMs } = this.#limits;
        let why: unknown;
        const end = (reason: unknown) => {
          why ??= reason;
          void session.end(graceMs);
        };
        const abort = () => end(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        const timer = setTimeout(() => end({ code: "57014" }), timeoutMs + graceMs);
        session.wake();
        const unwatch = this.#tempWatch?.watch(session.processId, end);
        try {
          await session.say(this.#begin(mode));
          return await work(session);
        } catch (reason) {
          throw explain(why ?? reason, timeoutMs) ?? why ?? toOpenError(reason);
        } finally {
          clearTimeout(timer);
          unwatch?.();
          signal.removeEventListener("abort", abort);
        }
      },
      caller,
    );
  }

  #begin(mode: string): string {
    const { timeoutMs } = this.#limits;
    const path = this.#schemas?.map((name) => `"${name.replaceAll('"', '""')}"`).join(", ");
    const settings = [
      `statement_timeout = ${timeoutMs}`,
      `lock_timeout = ${timeoutMs}`,
      `idle_in_transaction_session_timeout = ${timeoutMs + 10_000}`,
      ...(this.#facts.noticesLoss ? ["client_connection_check_interval = 1000"] : []),
      ...(path === undefined ? [] : [`search_path = ${path}`]),
      ...this.#tempLimit(),
      // The files of parallel workers lie where they cannot be measured.
      ...(this.#tempWatch ? ["max_parallel_workers_per_gather = 0"] : []),
      "bytea_output = hex",
      "datestyle = ISO",
    ];
    return [
      `BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED ${mode}`,
      ...settings.map((setting) => `SET LOCAL ${setting}`),
    ].join("; ");
  }

  /** Lowers the limit of temporary files, if the role may; it never raises what the operator has set. */
  #tempLimit(): string[] {
    const { tempKb, maySetTemp } = this.#facts;
    const wantedKb = this.#limits.maxTempMb * 1024;
    return maySetTemp && (tempKb < 0 || tempKb > wantedKb) ? [`temp_file_limit = ${wantedKb}`] : [];
  }

  async #columns(fields: readonly FieldDef[], signal: AbortSignal, caller?: string): Promise<Column[]> {
    const nameOf = (oid: number) => knownTypes[oid] ?? this.#types.get(oid);
    const unknown = fields.map(({ dataTypeID }) => dataTypeID).filter((oid) => nameOf(oid) === undefined);
    if (unknown.length > 0) {
      const sql =
        "SELECT t.oid, format_type(t.oid, NULL) FROM pg_type t WHERE t.oid IN (SELECT json_array_elements_text($1::json)::oid)";
      const bounds = { maxRows: 2_000, maxBytes: 1e6, maxValueLength: 1_000, maxBlobBytes: 0 };
      // A failed lookup of type names must not lose the result: it may be the result of a change.
      const asked = this.read({ sql, parameters: [JSON.stringify(unknown)] }, bounds, signal, caller);
      const { rows } = await asked.catch(() => ({ rows: [] }));
      if (this.#types.size > maxKnownTypes) this.#types.clear();
      for (const [oid, name] of rows) this.#types.set(Number(oid), String(name));
    }
    return fields.map(({ name, dataTypeID }) => ({ name, type: nameOf(dataTypeID) ?? "unknown" }));
  }
}

/** Says what the operator should set, because this role cannot. */
function cautionOf({ user, tempKb, maySetTemp }: ServerFacts): string | undefined {
  if (maySetTemp || tempKb >= 0) return undefined;
  const role = `"${user.replaceAll('"', '""')}"`;
  return `This role may not limit its temporary files. They are measured while a statement runs, so a fast statement can write more than the limit before it is stopped. For an exact limit run as a superuser: ALTER ROLE ${role} SET temp_file_limit = '1GB'`;
}

/** Runs a statement and collects its rows; closes the connection if far more data arrives than can be used. */
async function collect(
  session: Session,
  sql: string,
  values: (string | null)[],
  collector: Collector,
  bounds: Bounds,
): Promise<Outcome> {
  let fields: readonly FieldDef[] = [];
  let isFlooded = false;
  const stop = session.countBytes(bounds.maxBytes * 4 + spareBytes, () => {
    isFlooded = true;
    session.cut();
  });
  try {
    return await session.run(sql, values, (row, described) => {
      fields = described;
      if (!collector.isCut) collector.add(row.map((text, at) => toRaw(text, described[at]?.dataTypeID ?? 0)));
    });
  } catch (reason) {
    if (!isFlooded) throw reason;
    if (fields.length === 0) {
      throw new ToolError("The first row alone is too large; select fewer columns, or parts of values with left()");
    }
    collector.cut("bytes");
    return { command: "FETCH", count: 0, fields };
  } finally {
    stop();
  }
}

function bind({ sql, parameters = [] }: Statement): { readonly sql: string; readonly values: (string | null)[] } {
  if (sql.includes("\0")) throw new ToolError("A statement cannot contain the character U+0000");
  if (Array.isArray(parameters)) return { sql, values: parameters.map(toText) };
  const named = parameters as { readonly [name: string]: Parameter };
  const names = Object.keys(named);
  const { sql: positional, used } = toPositions(sql, names);
  const unused = names.filter((name) => !used.includes(name));
  if (unused.length > 0) throw new ToolError(`The statement has no placeholder :${unused.join(", :")}`);
  return { sql: positional, values: used.map((name) => toText(named[name] ?? null)) };
}

function toText(value: Parameter): string | null {
  return value === null ? null : String(value);
}

/** Returns the error for a failed connection; it contains no address and no password. */
function toOpenError(reason: unknown): unknown {
  if (reason instanceof ToolError) return reason;
  const said = explain(reason, 0);
  if (said) return said;
  const { code, message = "" } = reason as { code?: string; message?: string };
  if (code !== undefined) return new ToolError(`The database server cannot be reached (${code}); tell the user`);
  return new ToolError(`The connection to the database server was lost or refused (${message}); try again`);
}

/** An error sent by the server. */
interface ServerError {
  readonly code?: string;
  readonly message: string;
  readonly hint?: string;
  readonly detail?: string;
}

/** Advice for the model, by SQLSTATE code or class of codes. */
const advice: { readonly [code: string]: string } = {
  "25006": "query only reads; changes need the tool execute, which the server has with --write",
  "42P01": "the tool tables lists the tables",
  "42703": "the tool describe lists the columns of a table",
  "42501": "the role of this server is not allowed to; use other tables",
  "42601": "give one statement; query takes SELECT, VALUES, TABLE or WITH",
  "55P03": "another session holds a lock; try again",
  "40P01": "nothing was changed; try again",
  "40001": "nothing was changed; try again",
  "25001": "each statement runs in a transaction whose mode is fixed; run statements that need another mode elsewhere",
  "23": "nothing was changed; correct the values",
  "53400": "the statement needs too large temporary files; sort or join fewer rows",
  "53": "the database server is out of a resource; try again later",
  "57014": "the statement was cancelled at the database",
  "57": "the database server is going down or cannot be reached; try again later",
};

/** Returns the error for the model; undefined if the server did not send the failure. */
function explain(reason: unknown, timeoutMs: number): ToolError | undefined {
  const { code, message, hint, detail } = reason as ServerError;
  // The same code means a timeout and a cancellation by a user of the database.
  if (code === "57014" && !/user request/.test(message ?? "")) {
    const why = `The statement took longer than ${timeoutMs / 1000} s and was stopped`;
    return new ToolError(`${why}; narrow it, or check its plan with explain`);
  }
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return undefined;
  const more = [detail, hint, advice[code] ?? advice[code.slice(0, 2)]].filter(
    (one) => one !== undefined && one !== "",
  );
  return new ToolError([`PostgreSQL: ${message}`, ...more].join("; "));
}
