import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Client, ClientConfig, FieldDef, QueryArrayConfig, QueryArrayResult } from "pg";
import type { Pooled } from "../pool.ts";

type Pg = typeof import("pg")["default"];

/** A row as sent by the server. */
type TextRow = readonly (string | null)[];

/** Outcome of a statement. */
export interface Outcome {
  readonly command: string;
  readonly count: number;
  readonly fields: readonly FieldDef[];
}

/** ServerFacts about the server and the role, read after connecting. */
export interface ServerFacts {
  readonly version: string;
  readonly database: string;
  readonly user: string;
  /** Why the role must not be used; undefined for a safe role. */
  readonly danger: string | undefined;
  /** True if the server notices a lost client while it runs a statement. */
  readonly noticesLoss: boolean;
  /** Limit of the role's temporary files in kilobytes; -1 if there is none. */
  readonly tempKb: number;
  /** True if the role may change that limit. */
  readonly maySetTemp: boolean;
}

const againMs = 200;
const patienceMs = 5_000;

/** Returns every value as text: the driver's own parsers round numbers and shift dates. */
const asText = { getTypeParser: () => (text: string) => text } as unknown as NonNullable<QueryArrayConfig["types"]>;

interface ExtendedQuery extends QueryArrayConfig<(string | null)[]> {
  /** The extended protocol: the server rejects several statements in one message. */
  readonly queryMode: "extended";
}

/** Members of a pg client that its types do not declare. */
interface Unlisted {
  readonly processID: number;
  readonly secretKey: number;
  ref(): void;
  unref(): void;
}

/** One session with the server; it runs one statement at a time. */
export class Session implements Pooled {
  readonly #pg: Pg;
  readonly #client: Client;
  #facts: ServerFacts | undefined;
  #isUsable = true;
  /** Settles when the current statement ends. */
  #working: Promise<void> | undefined;

  private constructor(pg: Pg, client: Client) {
    this.#pg = pg;
    this.#client = client;
    const lose = () => {
      this.#isUsable = false;
    };
    client.on("error", lose);
    client.on("end", lose);
  }

  static async open(config: ClientConfig): Promise<Session> {
    const { default: pg } = await import("pg");
    const session = new Session(pg, new pg.Client(config));
    try {
      await session.#client.connect();
      session.#facts = await session.#inTime(() => session.#ask());
      session.#rest();
      return session;
    } catch (reason) {
      await session.close();
      throw reason;
    }
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  get facts(): ServerFacts {
    if (!this.#facts) throw new Error("the session is not open");
    return this.#facts;
  }

  /** Id of the process that serves this session at the database server. */
  get processId(): number {
    return this.#unlisted.processID;
  }

  /** Keeps the process alive while the session works; an idle session does not. */
  wake(): void {
    this.#unlisted.ref();
  }

  /** Runs our own statements; several are allowed. */
  say(sql: string): Promise<void> {
    return this.#track(async () => {
      await this.#client.query(sql);
    });
  }

  /** Runs one statement with its values; calls `onRow` for each row as it arrives. */
  run(
    sql: string,
    values: (string | null)[],
    onRow: (row: TextRow, fields: readonly FieldDef[]) => void,
  ): Promise<Outcome> {
    const config: ExtendedQuery = { text: sql, values, rowMode: "array", types: asText, queryMode: "extended" };
    const query = new this.#pg.Query<(string | null)[]>(config);
    return this.#track(
      () =>
        new Promise((resolve, reject) => {
          query.on("row", (row, result) => onRow(row, result?.fields ?? []));
          query.on("error", reject);
          query.on("end", ({ command, rowCount, fields }) => resolve({ command, count: rowCount ?? 0, fields }));
          this.#client.query(query);
        }),
    );
  }

  /** Calls `tooMany` when more than `max` bytes arrive; returns a function that stops the count. */
  countBytes(max: number, tooMany: () => void): () => void {
    const { stream } = this.#client.connection;
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > max) tooMany();
    };
    stream.on("data", count);
    return () => stream.off("data", count);
  }

  /** Cancels the current statement, also on the server. The session cannot be used afterwards. */
  async end(graceMs: number): Promise<void> {
    this.#isUsable = false;
    const { host, port } = this.#client;
    const { processID: processId, secretKey: secret } = this.#unlisted;
    const over = performance.now() + graceMs;
    // A server that is between two statements ignores a cancel request and starts the next one, so it is repeated.
    while (this.#working && performance.now() < over) {
      await cancel({ host, port, processId, secret });
      await Promise.race([this.#working, wait(againMs)]);
    }
    // As a last resort: the server also notices a closed connection.
    this.cut();
  }

  /** Closes the connection at once. */
  cut(): void {
    this.#isUsable = false;
    this.#client.connection.stream.destroy();
  }

  /** Discards all that a statement left: transaction, settings, locks, temporary tables. */
  async reset(): Promise<void> {
    try {
      await this.#inTime(async () => {
        if (this.#client.getTransactionStatus() !== "I") await this.#client.query("ROLLBACK");
        await this.#client.query("DISCARD ALL");
      });
      this.#rest();
    } catch {
      this.#isUsable = false;
    }
  }

  async close(): Promise<void> {
    this.#isUsable = false;
    this.cut();
  }

  /** Closes the connection if the server does not answer our own statements in time. */
  async #inTime<T>(work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.cut(), patienceMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#isUsable) throw new Error("the session was ended");
    const doing = work();
    const working = doing.then(
      () => {},
      () => {},
    );
    this.#working = working;
    try {
      return await doing;
    } finally {
      if (this.#working === working) this.#working = undefined;
    }
  }

  get #unlisted(): Unlisted {
    return this.#client as unknown as Unlisted;
  }

  #rest(): void {
    this.#unlisted.unref();
  }

  async #ask(): Promise<ServerFacts> {
    const asked: QueryArrayConfig = { text: roleQuery, rowMode: "array" };
    const { rows }: QueryArrayResult = await this.#client.query(asked);
    const [version, number, database, user, roles, functions, tempKb] = rows[0] ?? [];
    // PostgreSQL before 14 does not have the setting, and some platforms do not support it.
    const noticesLoss = Number(number) >= 140_000 && (await this.#maySet("client_connection_check_interval = 1000"));
    // Only superusers and roles with a grant may change it; the operator can set it for every role.
    const maySetTemp = await this.#maySet(`temp_file_limit = ${Number(tempKb)}`);
    await this.#client.query("DISCARD ALL");
    const danger = dangerOf(user, roles, functions);
    return { version, database, user, danger, noticesLoss, tempKb: Number(tempKb), maySetTemp };
  }

  #maySet(setting: string): Promise<boolean> {
    return this.#client.query(`SET ${setting}`).then(
      () => true,
      () => false,
    );
  }
}

/** A connection whose statement is to be cancelled, with the key that the server sent when it was opened. */
interface CancelTarget {
  readonly host: string;
  readonly port: number;
  readonly processId: number;
  readonly secret: number;
}

const code = 80_877_102;

/** Sends a cancel request. The protocol wants a second connection for it, because the first one is busy. */
function cancel({ host, port, processId, secret }: CancelTarget): Promise<void> {
  const message = Buffer.alloc(16);
  for (const [at, number] of [message.length, code, processId, secret].entries()) message.writeInt32BE(number, at * 4);
  return new Promise((resolve) => {
    const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on("connect", () => socket.end(message));
    // Success shows on the other connection, which is closed in any case.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}

/** Query for a new connection: version, roles or functions that reach beyond the database, and a limit. */
const roleQuery = `
  SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_database(),
    session_user::text,
    (SELECT string_agg(r.rolname, ', ' ORDER BY r.rolname) FROM pg_roles r
      WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (r.rolsuper OR r.rolreplication OR r.rolcreaterole
        -- The roles of PostgreSQL itself reach beyond the database; its owner's role does not.
        OR (r.rolname LIKE 'pg\\_%' AND r.rolname <> 'pg_database_owner'))),
    (SELECT string_agg(DISTINCT p.proname, ', ' ORDER BY p.proname) FROM pg_proc p
      WHERE has_function_privilege(session_user, p.oid, 'EXECUTE') AND (
        (p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN
          ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_ls_logdir', 'pg_ls_waldir', 'pg_ls_tmpdir',
           'pg_ls_archive_statusdir', 'pg_stat_file', 'pg_current_logfile', 'pg_file_write', 'pg_file_rename',
           'pg_file_unlink', 'pg_file_sync', 'lo_import', 'lo_export', 'pg_reload_conf', 'pg_rotate_logfile',
           'pg_log_backend_memory_contexts', 'pg_switch_wal', 'pg_promote', 'pg_create_restore_point'))
        OR EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
          WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
            AND d.refclassid = 'pg_extension'::regclass
            AND e.extname IN ('dblink', 'adminpack', 'pg_cron', 'pg_background', 'http', 'pg_net')))),
    (SELECT setting FROM pg_settings WHERE name = 'temp_file_limit')`;

/** Describes what a role can do that a transaction does not contain; undefined if nothing. */
function dangerOf(user: string, roles: string | null, functions: string | null): string | undefined {
  if (roles !== null) return `the role ${user} has the rights of ${roles}`;
  if (functions !== null) return `the role ${user} may call ${functions}`;
  return undefined;
}
