import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openDatabase } from "portolan-database";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { openServer, shop } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

const root = join(import.meta.dirname, "../../..");
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'; CREATE ROLE other LOGIN PASSWORD 'secret'");
  await postgres.sql("CREATE DATABASE shop");
  await postgres.sql(
    `${shop}
    CREATE SEQUENCE numbers;
    CREATE FUNCTION take_all() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; RETURN 1; END $$;
    CREATE FUNCTION dynamic(what text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN 1; END $$;
    CREATE FUNCTION leave() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM orders; RETURN 1; END $$;
    CREATE PROCEDURE committing() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM orders; COMMIT; END $$;
    -- The role may write: only the transaction keeps it from that.
    GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk;
    GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO clerk;
    GRANT CREATE ON SCHEMA public TO clerk;`,
    "shop",
  );
}, postgresStartMs);

afterAll(() => postgres.stop());

/** Reads everything that a statement could have changed. */
async function state() {
  const [counts] = await postgres.sql(
    `SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders), (SELECT last_value FROM numbers),
      (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_prepared_xacts)`,
    "shop",
  );
  return counts;
}

const onlyReads = "query only reads";
const onlyQueries = "query takes SELECT, VALUES, TABLE or WITH";

// A server that trusts its role does not look at functions: these prove what the transaction and the role refuse.
const attempts: [name: string, sql: string, says: string][] = [
  ["a second statement", "SELECT 1; DELETE FROM orders", "multiple commands"],
  ["a second statement behind a comment", "SELECT 1 -- ;\n; DELETE FROM orders", "multiple commands"],
  ["a second statement behind a nested comment", "SELECT 1 /* /* */ */; DELETE FROM orders /* */", "multiple commands"],
  ["a second statement behind a dollar", "SELECT $a$;$a$; DELETE FROM orders", "multiple commands"],
  ["the end of the transaction", "COMMIT", onlyQueries],
  ["the end of the transaction and more", "SELECT 1; COMMIT; DELETE FROM orders", "multiple commands"],
  ["a closed cursor", "SELECT 1); DELETE FROM orders; --", onlyQueries],
  ["DELETE", "DELETE FROM orders", onlyQueries],
  ["DELETE inside WITH", "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone", "data-modifying"],
  ["SELECT INTO", "SELECT * INTO evil FROM orders", "INTO"],
  ["a lock of rows", "SELECT * FROM orders FOR UPDATE", onlyReads],
  ["a lock of a table", "LOCK TABLE orders", onlyQueries],
  ["CREATE TEMP TABLE", "CREATE TEMP TABLE evil AS SELECT 1", onlyQueries],
  ["SET", "SET TRANSACTION READ WRITE", onlyQueries],
  ["SET SESSION CHARACTERISTICS", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", onlyQueries],
  [
    "set_config",
    "SELECT set_config('transaction_read_only', 'off', false), take_all()",
    "must be set before any query",
  ],
  [
    "set_config for the next one",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "must be set before any query",
  ],
  ["a function that sets it", "SELECT leave()", "must be set before any query"],
  ["a function that writes", "SELECT take_all()", onlyReads],
  ["a function that runs dynamic SQL", "SELECT dynamic('DELETE FROM orders')", onlyReads],
  ["a function that makes a table", "SELECT dynamic('CREATE TABLE evil ()')", onlyReads],
  ["a function that ends the transaction", "SELECT dynamic('COMMIT')", "PostgreSQL"],
  ["a procedure that commits", "CALL committing()", onlyQueries],
  ["a block", "DO $$ BEGIN COMMIT; DELETE FROM orders; END $$", onlyQueries],
  ["PREPARE TRANSACTION", "PREPARE TRANSACTION 'evil'", onlyQueries],
  ["PREPARE TRANSACTION in a function", "SELECT dynamic('PREPARE TRANSACTION ''evil''')", "PostgreSQL"],
  ["nextval", "SELECT nextval('numbers')", onlyReads],
  ["setval", "SELECT setval('numbers', 99)", onlyReads],
  ["COPY to a program", "COPY (SELECT 1) TO PROGRAM 'touch /tmp/portolan-evil'", onlyQueries],
  [
    "COPY to a program in a function",
    "SELECT dynamic('COPY (SELECT 1) TO PROGRAM ''touch /tmp/portolan-evil''')",
    "must be superuser",
  ],
  ["COPY from a file in a function", "SELECT dynamic('COPY customers FROM ''/etc/passwd''')", "PostgreSQL"],
  ["pg_read_file", "SELECT pg_read_file('/etc/passwd')", "permission denied"],
  ["pg_ls_dir", "SELECT pg_ls_dir('/')", "permission denied"],
  ["lo_import", "SELECT lo_import('/etc/passwd')", "permission denied"],
  ["lo_export", "SELECT lo_export(1, '/tmp/portolan-evil')", "permission denied"],
  ["another role", "SELECT set_config('role', 'boss', false)", "permission denied"],
  ["pg_reload_conf", "SELECT pg_reload_conf()", "permission denied"],
  ["query_to_xml", "SELECT query_to_xml('DELETE FROM orders RETURNING *', true, true, '')", "PostgreSQL"],
  ["VACUUM", "VACUUM", onlyQueries],
  ["NOTIFY", "NOTIFY evil", onlyQueries],
  ["EXPLAIN ANALYZE", "EXPLAIN ANALYZE DELETE FROM orders", onlyQueries],
  ["U+0000", "SELECT 1\0; DELETE FROM orders", "U+0000"],
];

describe("query changes nothing, even for a role that may write", () => {
  test.each(attempts)("by %s", async (_, sql, says) => {
    const client = await openServer(postgres.url("shop", "clerk"), { trustRole: true });
    const before = await state();
    expect(await failureOf(client, "query", { sql })).toContain(says);
    expect(await state()).toEqual(before);
    expect(existsSync("/tmp/portolan-evil")).toBe(false);
  });
});

test("explain changes nothing, whatever the statement", async () => {
  const client = await openServer(postgres.url("shop", "clerk"));
  const before = await state();
  for (const [, sql] of attempts) await client.callTool("explain", { sql });
  for (const sql of ["ANALYZE DELETE FROM orders", "(ANALYZE) DELETE FROM orders", "SELECT 1; DELETE FROM orders"]) {
    await failureOf(client, "explain", { sql });
  }
  expect(await state()).toEqual(before);
});

test("large objects and messages are rolled back, too", async () => {
  const client = await openServer(postgres.url("shop", "clerk"), { trustRole: true });
  const before = await state();
  const listener = new pg.Client(postgres.url("shop", "clerk"));
  await listener.connect();
  onTestFinished(() => listener.end());
  const heard: unknown[] = [];
  listener.on("notification", (message) => heard.push(message.payload));
  await listener.query("LISTEN news");
  await client.callTool("query", { sql: "SELECT lo_create(4711)" });
  await call(client, "query", { sql: "SELECT pg_notify('news', 'evil')" });
  await postgres.sql("SELECT pg_notify('news', 'real')", "shop");
  await expect.poll(() => heard, { timeout: 20_000 }).toEqual(["real"]);
  expect(await state()).toEqual(before);
});

describe("nothing is left for the next call", () => {
  test.each([
    [
      "a setting",
      "SELECT set_config('application_name', 'evil', false)",
      "SELECT current_setting('application_name')",
      "portolan-database",
    ],
    [
      "a search path",
      "SELECT set_config('search_path', 'evil', false)",
      "SELECT current_setting('search_path')",
      '"$user", public',
    ],
    [
      "a time-out",
      "SELECT set_config('statement_timeout', '0', false)",
      "SELECT current_setting('statement_timeout')",
      "15s",
    ],
    [
      "a default",
      "SELECT set_config('default_transaction_read_only', 'off', false)",
      "SELECT current_setting('transaction_read_only')",
      "on",
    ],
    ["a lock", "SELECT pg_advisory_lock(42)", "SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory'", 0],
    [
      "a prepared statement",
      "SELECT dynamic('PREPARE evil AS SELECT 1')",
      "SELECT count(*)::int FROM pg_prepared_statements WHERE name = 'evil'",
      0,
    ],
    ["a listener", "SELECT dynamic('LISTEN evil')", "SELECT count(*)::int FROM pg_listening_channels()", 0],
  ])("not %s", async (_, first, then, expected) => {
    const client = await openServer(postgres.url("shop", "clerk"), { trustRole: true, limits: { connections: 1 } });
    const process = async () => (await call(client, "query", { sql: "SELECT pg_backend_pid()" })).rows[0][0];
    const before = await process();
    await call(client, "query", { sql: first });
    expect((await call(client, "query", { sql: then })).rows).toEqual([[expected]]);
    // The same session, otherwise the test would prove nothing.
    expect(await process()).toBe(before);
  });

  test("temporary tables and settings of a change", async () => {
    const client = await openServer(postgres.url("shop", "clerk"), {
      write: true,
      ask: false,
      limits: { connections: 1 },
    });
    await call(client, "execute", { sql: "CREATE TEMP TABLE customers (evil int)" });
    await call(client, "execute", { sql: "SET search_path = pg_temp" });
    expect((await call(client, "query", { sql: "SELECT name FROM customers WHERE id = 1" })).rows).toEqual([["Ada"]]);
  });
});

describe("a role that reaches beyond the database", () => {
  const open = (role: string, trustRole = false) => openDatabase({ url: postgres.url("shop", role), trustRole });

  test("is refused: a superuser, and a role that can become one", async () => {
    await postgres.sql("CREATE ROLE deputy LOGIN PASSWORD 'secret' NOINHERIT IN ROLE boss");
    await expect(open("boss")).rejects.toThrow("the role boss has the rights of boss");
    await expect(open("deputy")).rejects.toThrow("has the rights of boss");
  });

  test.each([
    ...["pg_read_server_files", "pg_write_server_files", "pg_execute_server_program", "pg_signal_backend"],
    ...["pg_monitor", "pg_read_all_settings", "pg_read_all_stats", "pg_stat_scan_tables"],
    ...["pg_read_all_data", "pg_write_all_data", "pg_checkpoint"],
  ])("is refused: a member of %s", async (role) => {
    await postgres.sql(`CREATE ROLE "in_${role}" LOGIN PASSWORD 'secret' IN ROLE ${role}`);
    await expect(open(`in_${role}`)).rejects.toThrow(role);
  });

  test("is refused: a role that can give itself such rights", async () => {
    await postgres.sql("CREATE ROLE maker LOGIN PASSWORD 'secret' CREATEROLE");
    await expect(open("maker")).rejects.toThrow("has the rights of maker");
  });

  test("is not the owner of the database", async () => {
    await postgres.sql("CREATE ROLE landlord LOGIN PASSWORD 'secret'");
    await postgres.sql("CREATE DATABASE owned OWNER landlord");
    const client = await openServer(postgres.url("owned", "landlord"));
    expect((await call(client, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
  });

  test("is refused: a role whose functions read files or open connections", async () => {
    await postgres.sql("CREATE ROLE reader LOGIN PASSWORD 'secret'");
    await postgres.sql("CREATE DATABASE lent");
    await postgres.sql("GRANT EXECUTE ON FUNCTION pg_read_file(text) TO reader", "lent");
    await expect(openDatabase({ url: postgres.url("lent", "reader") })).rejects.toThrow("may call pg_read_file");
    await postgres.sql("CREATE DATABASE linked");
    await postgres.sql("CREATE EXTENSION dblink", "linked");
    await expect(openDatabase({ url: postgres.url("linked", "other") })).rejects.toThrow("may call dblink");
  });

  test("is accepted with trustRole, and query still cannot write", async () => {
    const client = await openServer(postgres.url("shop", "boss"), { trustRole: true });
    const before = await state();
    expect(await failureOf(client, "query", { sql: "SELECT take_all()" })).toContain(onlyReads);
    expect(await failureOf(client, "query", { sql: "COPY (SELECT 1) TO PROGRAM 'true'" })).toContain(onlyQueries);
    // The reason for the refusal.
    expect((await call(client, "query", { sql: "SELECT length(pg_read_file('/etc/passwd')) > 0" })).rows).toEqual([
      [true],
    ]);
    expect(await state()).toEqual(before);
  });
});

describe("temporary files", () => {
  /** Sorts about 35 MB, far more than a session keeps in memory. */
  const large = "SELECT x, repeat('x', 100) AS y FROM generate_series(1, 300000) AS x ORDER BY y, x DESC";

  test("of a query are limited if the role may limit them", async () => {
    const client = await openServer(postgres.url("shop", "boss"), { trustRole: true, limits: { maxTempMb: 2 } });
    expect(await failureOf(client, "query", { sql: large })).toContain("too large temporary files");
    expect(client.database.caution).toBeUndefined();
  });

  test("of a query are limited by the operator, whose limit is not raised", async () => {
    await postgres.sql("CREATE ROLE tidy LOGIN PASSWORD 'secret'; ALTER ROLE tidy SET temp_file_limit = '2MB'");
    const client = await openServer(postgres.url("shop", "tidy"));
    expect(await failureOf(client, "query", { sql: large })).toContain("too large temporary files");
    expect(client.database.caution).toBeUndefined();
  });

  describe("of a role that may not limit them", () => {
    /** Sorts about 3 GB in one statement. */
    const hostile = "SELECT x, repeat('x', 1000) AS y FROM generate_series(1, 3000000) AS x ORDER BY y, x DESC";
    const limits = { maxTempMb: 32, timeoutMs: 120_000 };
    const megabyte = 1024 * 1024;

    /** Creates a role whose temporary files the database server writes into its log, with their final sizes. */
    async function createLogged(name: string): Promise<string> {
      await postgres.sql(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'; ALTER ROLE ${name} SET log_temp_files = 0`);
      return postgres.url("shop", name);
    }

    /** Returns the bytes of all temporary files in the log since a place in it. */
    function writtenSince(start: number): number {
      const sizes = postgres
        .log()
        .slice(start)
        .matchAll(/temporary file: path .*, size (\d+)/g);
      return [...sizes].reduce((sum, [, size]) => sum + Number(size), 0);
    }

    test("end the statement soon after they grow beyond the limit", async () => {
      const client = await openServer(await createLogged("filler"), { limits });
      const start = postgres.log().length;
      expect(await failureOf(client, "query", { sql: hostile })).toContain("grew by more than 32 MB");
      await expect.poll(() => writtenSince(start), { timeout: 20_000 }).toBeGreaterThan(32 * megabyte);
      expect(writtenSince(start)).toBeLessThan(800 * megabyte);
      expect((await call(client, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
    }, 120_000);

    test("do not end a long statement that writes none", async () => {
      const client = await openServer(await createLogged("sorter"), { limits });
      const innocent = call(client, "query", { sql: "SELECT 'rested' FROM pg_sleep(12)" });
      const sleeping = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'sorter' AND wait_event = 'PgSleep'";
      await expect.poll(() => postgres.sql(sleeping), { timeout: 20_000 }).toEqual([["1"]]);
      expect(await failureOf(client, "query", { sql: hostile })).toContain("grew by more than 32 MB");
      expect((await innocent).rows).toEqual([["rested"]]);
    }, 120_000);

    test("end the statement that writes large objects instead", async () => {
      const client = await openServer(await createLogged("hoarder"), { trustRole: true, limits });
      const megabyteOf = "SELECT decode(string_agg(md5((x * y)::text), ''), 'hex') FROM generate_series(1, 65536) y";
      const sql = `SELECT lo_from_bytea(0, (${megabyteOf})) FROM generate_series(1, 2000) x OFFSET 1999`;
      const said = await failureOf(client, "query", { sql });
      // PostgreSQL 16 and newer refuse to write large objects in a reading transaction.
      expect(said).toMatch(/grew by more than 32 MB|read-only transaction/);
    }, 120_000);

    test("end a statement that switches on parallel workers, whose files are not measured", async () => {
      const client = await openServer(await createLogged("crowd"), { trustRole: true, limits });
      const on = { max_parallel_workers_per_gather: 4, min_parallel_table_scan_size: 0, parallel_setup_cost: 0 };
      const settings = Object.entries(on).map(([name, value]) => `set_config('${name}', '${value}', true)`);
      const inner = "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d";
      const sql = `SELECT ${settings.join(", ")}, query_to_xml('${inner}', true, false, '')`;
      expect(await failureOf(client, "query", { sql })).toContain("switched on parallel workers");
    }, 120_000);

    test("end the statement if they cannot be measured", async () => {
      const url = await createLogged("alone");
      await postgres.sql("ALTER ROLE alone CONNECTION LIMIT 1");
      const client = await openServer(url, { limits: { ...limits, connections: 1 } });
      const said = await failureOf(client, "query", { sql: "SELECT pg_sleep(100)" });
      expect(said).toContain("could not be measured");
      expect(said).toContain("too many connections for role");
    }, 120_000);

    test("are reported to the operator", async () => {
      const { database } = await openServer(postgres.url("shop", "clerk"));
      expect(database.caution).toContain('ALTER ROLE "clerk" SET temp_file_limit');
    });
  });
});

test("the role from the README can read, and the database refuses the rest", async () => {
  const statements = readFileSync(join(root, "examples/database/role.sql"), "utf8");
  await postgres.sql("CREATE DATABASE lonely");
  await postgres.sql(`${shop}; ${statements.replace("choose one", "secret")}`, "lonely");
  const client = await openServer(postgres.url("lonely", "assistant"), { write: true, ask: false });
  expect((await call(client, "query", { sql: "SELECT count(*) FROM orders" })).rows).toEqual([[3]]);
  expect(await failureOf(client, "execute", { sql: "DELETE FROM orders" })).toContain("permission denied");
  expect(await failureOf(client, "execute", { sql: "CREATE TABLE evil ()" })).toContain("permission denied");
});

test("a separate role cannot end the sessions of others", async () => {
  const victim = new pg.Client(postgres.url("shop", "other"));
  await victim.connect();
  onTestFinished(() => victim.end());
  const { rows } = await victim.query("SELECT pg_backend_pid() AS pid");
  const client = await openServer(postgres.url("shop", "clerk"), { trustRole: true });
  const sql = "SELECT pg_terminate_backend($1::int)";
  expect(await failureOf(client, "query", { sql, parameters: [rows[0].pid] })).toContain("must be a member");
  expect((await victim.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
});

test("treats names and patterns as values, never as SQL", async () => {
  const client = await openServer(postgres.url("shop", "clerk"));
  const before = await state();
  const evil = `orders'); DELETE FROM orders; --`;
  expect(await failureOf(client, "describe", { table: evil })).toContain("No table");
  expect((await call(client, "tables", { search: evil })).tables).toEqual([]);
  await expect(client.readResource(`db://table/${encodeURIComponent(evil)}`)).rejects.toThrow();
  const sql = "SELECT name FROM customers WHERE name = :name OR name = ':name' -- :name";
  expect((await call(client, "query", { sql, parameters: { name: `' OR 1 = 1; --` } })).rows).toEqual([]);
  const hostile = await openServer(postgres.url("shop", "clerk"), { schemas: [`public"; DELETE FROM orders; --`] });
  expect((await call(hostile, "tables")).tables).toEqual([]);
  expect(await state()).toEqual(before);
});

test("neither results nor errors contain the password", async () => {
  const secret = "s3cr3t-password";
  await postgres.sql(`CREATE ROLE quiet LOGIN PASSWORD '${secret}'`);
  const url = postgres.url("shop", "quiet").replace("secret@", `${secret}@`);
  const client = await openServer(url);
  const said = JSON.stringify([
    ...[await client.listTools(), client.server, await client.callTool("query", { sql: "SELECT nothing" })],
    ...[await client.readResource("db://schema"), await client.getPrompt("query", { question: "?" })],
  ]);
  expect(said).not.toContain(secret);
  for (const wrong of [url.replace("quiet", "nobody"), url.replace("/shop", "/none"), url.replace(/:\d+\//, ":1/")]) {
    const reason: Error = await openDatabase({ url: wrong }).then(
      () => Promise.reject(new Error("opened")),
      (error: Error) => error,
    );
    expect(`${reason.message} ${reason.stack}`).not.toContain(secret);
  }
});
