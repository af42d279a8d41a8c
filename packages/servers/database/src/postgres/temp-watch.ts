import { ToolError } from "portolan/server";
import type { Session } from "./session.ts";

/** A statement that runs shorter is not watched at all. */
const firstMs = 100;
const intervalMs = 200;
/** A measurement that takes longer is given up: a database server that cannot be measured is not watched. */
const measureMs = 5_000;
/** A statement is ended when no measurement has succeeded for this long. */
const blindMs = 5_000;
/** How long the connection stays open after the last watched statement. */
const idleMs = 60_000;

/** One statement that runs. */
interface WatchedStatement {
  readonly processId: number;
  readonly since: number;
  readonly end: (reason: ToolError) => void;
  /** Bytes on disk when the statement was first seen. */
  bytesBefore: number | undefined;
  /** How often the statement was seen using temporary files. */
  seen: number;
}

/** The findings of one measurement. */
interface Measurement {
  readonly bytes: number;
  /** Process ids of sessions that wait for a temporary file. */
  readonly busy: ReadonlySet<number>;
  /** Process ids of sessions with parallel workers. */
  readonly parallel: ReadonlySet<number>;
}

/**
 * Ends statements that fill the disk of the database server with temporary files, for roles that may not set
 * `temp_file_limit`. Every role may ask for the size of the tablespace of its database, which contains these files.
 */
export class TempWatch {
  readonly #open: () => Promise<Session>;
  readonly #maxBytes: number;
  readonly #statements = new Set<WatchedStatement>();
  #session: Session | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isMeasuring = false;
  #isClosed = false;
  #measuredAt = 0;

  constructor(open: () => Promise<Session>, maxBytes: number) {
    this.#open = open;
    this.#maxBytes = maxBytes;
  }

  /** Watches a statement until the returned function is called; calls `end` if it writes too much. */
  watch(processId: number, end: (reason: ToolError) => void): () => void {
    const statement = { processId, end, since: performance.now(), bytesBefore: undefined, seen: 0 };
    this.#statements.add(statement);
    if (this.#statements.size === 1 && !this.#isMeasuring) this.#schedule(firstMs);
    return () => {
      this.#statements.delete(statement);
      if (this.#statements.size === 0 && !this.#isMeasuring) this.#rest();
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#session?.close();
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#look(), delayMs);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed || !this.#session) return;
    this.#timer = setTimeout(() => {
      void this.#session?.close();
      this.#session = undefined;
    }, idleMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    this.#isMeasuring = true;
    const begun = performance.now();
    try {
      this.#judge(await this.#measure());
      this.#measuredAt = performance.now();
    } catch (reason) {
      this.#endBlind(reason);
    }
    this.#isMeasuring = false;
    // A server with very many files takes long to measure; it is asked less often.
    if (this.#statements.size > 0) this.#schedule(Math.max(intervalMs, 2 * (performance.now() - begun)));
    else this.#rest();
  }

  async #measure(): Promise<Measurement> {
    if (!this.#session?.isUsable) {
      this.#session = undefined;
      const session = await this.#open();
      if (this.#isClosed) await session.close();
      this.#session = session;
    }
    const session = this.#session;
    const timer = setTimeout(() => session.cut(), measureMs);
    let row: readonly (string | null)[] = [];
    try {
      await session.run(sizeQuery, [], (one) => {
        row = one;
      });
    } finally {
      clearTimeout(timer);
    }
    const [bytes, busy, parallel] = row;
    const ids = (text: string | null | undefined) => new Set((text ?? "").split(",").map(Number));
    return { bytes: Number(bytes), busy: ids(busy), parallel: ids(parallel) };
  }

  /** Ends at most one statement for its files: they vanish with it, and the next measurement shows whether that was enough. */
  #judge({ bytes, busy, parallel }: Measurement): void {
    let worst: WatchedStatement | undefined;
    for (const statement of this.#statements) {
      statement.bytesBefore ??= bytes;
      if (busy.has(statement.processId)) statement.seen += 1;
      if (parallel.has(statement.processId)) this.#end(statement, inParallel());
      if (bytes - statement.bytesBefore <= this.#maxBytes) continue;
      // The size does not say which statement wrote the files: the one that was seen using them most often ends, or the latest of several.
      if (!worst || statement.seen >= worst.seen) worst = statement;
    }
    if (worst) this.#end(worst, tooMuch(this.#maxBytes));
  }

  /** Ends the statements that have run for too long without a measurement, whatever prevents it. */
  #endBlind(reason: unknown): void {
    const before = performance.now() - blindMs;
    for (const statement of [...this.#statements]) {
      if (Math.max(statement.since, this.#measuredAt) < before) this.#end(statement, notMeasured(reason));
    }
  }

  #end(statement: WatchedStatement, reason: ToolError): void {
    this.#statements.delete(statement);
    statement.end(reason);
  }
}

function tooMuch(maxBytes: number): ToolError {
  return new ToolError(
    `The temporary files of the database grew by more than ${maxBytes / 1024 / 1024} MB while the statement ran, and it was stopped; sort or join fewer rows`,
  );
}

function inParallel(): ToolError {
  return new ToolError("The statement switched on parallel workers, which are off here, and was stopped");
}

function notMeasured(reason: unknown): ToolError {
  const why = (reason as Error).message;
  return new ToolError(
    `The statement was stopped because the size of its temporary files could not be measured (${why}); tell the user to set temp_file_limit for the role of this server, which makes measuring unnecessary`,
    { cause: reason },
  );
}

/**
 * Query for the bytes of temporary files, and of large objects, which PostgreSQL before 16 lets a reading transaction
 * write: the tablespaces that the role can fill, without the databases in them. The files of other sessions count, too.
 */
const sizeQuery = `
  WITH spaces AS (
    SELECT t.oid FROM pg_catalog.pg_tablespace t
    WHERE t.spcname <> 'pg_global' AND (pg_catalog.has_tablespace_privilege(t.oid, 'CREATE')
      OR t.oid = (SELECT d.dattablespace FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())))
  SELECT (SELECT pg_catalog.sum(pg_catalog.pg_tablespace_size(s.oid)) FROM spaces s)
    - (SELECT pg_catalog.sum(pg_catalog.pg_database_size(d.oid)) FROM pg_catalog.pg_database d
        WHERE d.dattablespace IN (SELECT s.oid FROM spaces s) AND pg_catalog.has_database_privilege(d.oid, 'CONNECT'))
    + pg_catalog.pg_total_relation_size('pg_catalog.pg_largeobject'),
    (SELECT pg_catalog.string_agg(a.pid::text, ',') FROM pg_catalog.pg_stat_activity a
      WHERE a.usename = session_user AND a.wait_event LIKE 'BufFile%'),
    -- PostgreSQL 12 does not have the column leader_pid.
    (SELECT pg_catalog.string_agg(pg_catalog.to_jsonb(a) ->> 'leader_pid', ',') FROM pg_catalog.pg_stat_activity a
      WHERE a.usename = session_user AND a.backend_type = 'parallel worker')`;
