import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { openServer, shop } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

let postgres: Postgres;
const long = "f".repeat(63);

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'");
  await postgres.sql("CREATE DATABASE shop");
  await postgres.sql(
    `${shop}
    CREATE FUNCTION plain() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION steady() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
    CREATE FUNCTION "Mixed Case""s"() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION "Ünï"() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION ${long}() RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION of_row(orders) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION joined(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE OPERATOR <~@~> (LEFTARG = int, RIGHTARG = int, FUNCTION = joined);
    CREATE AGGREGATE gathered(int) (SFUNC = joined, STYPE = int);
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO clerk;`,
    "shop",
  );
}, postgresStartMs);

afterAll(() => postgres.stop());

/** Opens a session of the role of the server, which may end it. */
async function openVictim(): Promise<{ client: pg.Client; pid: number }> {
  const client = new pg.Client(postgres.url("shop", "clerk"));
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  return { client, pid: rows[0].pid };
}

describe("query refuses a call of pg_terminate_backend", () => {
  const spellings: [name: string, sql: string][] = [
    ["plain", "SELECT pg_terminate_backend(PID)"],
    ["in capital letters", "SELECT PG_Terminate_BACKEND(PID)"],
    ["with a schema", "SELECT pg_catalog.pg_terminate_backend(PID)"],
    ["in quotes", 'SELECT "pg_catalog" . "pg_terminate_backend" (PID)'],
    ["before space and lines", "SELECT pg_terminate_backend\n\t\f  (PID)"],
    ["before a comment", "SELECT pg_terminate_backend/* x /* y */ */(PID)"],
    ["before a comment of one line", "SELECT pg_terminate_backend -- x\n (PID)"],
    ["before a comment, in quotes", 'SELECT "pg_terminate_backend"--x\n(PID)'],
    ["with Unicode escapes", 'SELECT U&"\\0070g_terminate_backend"(PID)'],
    ["with other Unicode escapes", `SELECT u&"!0070g_terminate_backend" UESCAPE '!' (PID)`],
    ["as a table", "SELECT * FROM pg_terminate_backend(PID)"],
    ["in ROWS FROM", "SELECT * FROM ROWS FROM (pg_terminate_backend(PID))"],
    ["in VALUES", "VALUES (false), (pg_terminate_backend(PID))"],
    ["in LIMIT", "SELECT 1 LIMIT pg_terminate_backend(PID)::int"],
    ["in OFFSET", "SELECT 1 OFFSET pg_terminate_backend(PID)::int"],
    ["in the frame of a window", "SELECT sum(id) OVER (ROWS pg_terminate_backend(PID)::int PRECEDING) FROM orders"],
    ["in IN", "SELECT pg_terminate_backend(PID) IN (SELECT true FROM orders)"],
    ["in a condition", "SELECT 1 FROM orders WHERE pg_terminate_backend(PID)"],
    ["in ORDER BY", "SELECT 1 FROM orders ORDER BY pg_terminate_backend(PID)"],
    ["in WITH", "WITH w AS MATERIALIZED (SELECT pg_terminate_backend(PID)) SELECT * FROM w"],
    ["in a sample", "SELECT * FROM orders TABLESAMPLE system (pg_terminate_backend(PID)::int)"],
    ["after a string in dollars", "SELECT $a$x$a$=pg_terminate_backend(PID)::text"],
    ["after a string with a backslash", "SELECT 'x\\' = pg_terminate_backend(PID)::text"],
    ["after a string of lines", "SELECT 'x'\n'y' = pg_terminate_backend(PID)::text"],
    ["in another statement", "SELECT query_to_xml('SELECT pg_termin'||'ate_backend(PID)', true, true, '')"],
    ["for statistics of words", "SELECT * FROM ts_stat('SELECT to_tsvector(pg_termin'||'ate_backend(PID)::text)')"],
  ];

  test.each(spellings)("%s", async (_, sql) => {
    const { client: victim, pid } = await openVictim();
    const client = await openServer(postgres.url("shop", "clerk"));
    const said = await failureOf(client, "query", { sql: sql.replace("PID", String(pid)) });
    expect(said).toMatch(/may act outside the transaction|Unicode escapes/);
    // Its session is still there.
    expect((await victim.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });
});

test.each([
  ["pg_cancel_backend", "SELECT pg_cancel_backend(1)"],
  ["pg_advisory_lock", "SELECT pg_advisory_lock(1)"],
  ["pg_try_advisory_xact_lock", "SELECT pg_try_advisory_xact_lock(1)"],
  ["pg_notify", "SELECT pg_notify('a', 'b')"],
  ["set_config", "SELECT set_config('work_mem', '1GB', false)"],
  ["lo_create", "SELECT lo_create(0)"],
  ["pg_read_file", "SELECT pg_read_file('/etc/passwd')"],
  ["pg_logical_emit_message", "SELECT pg_logical_emit_message(false, 'a', 'b')"],
  ["nextval", "SELECT nextval('numbers')"],
  ["plain", "SELECT plain()"],
  [`Mixed Case"s`, `SELECT "Mixed Case""s"()`],
  ["Ünï", `SELECT "Ünï"()`],
  [long, `SELECT ${long}_and_more()`],
  ["of_row", "SELECT o.of_row FROM orders o"],
  ["of_row", "SELECT (o).of_row FROM orders o"],
  ["the operator <~@~>", "SELECT 1 <~@~> 2"],
  ["gathered", "SELECT gathered(id) FROM orders"],
])("query refuses %s and names it", async (name, sql) => {
  const client = await openServer(postgres.url("shop", "clerk"));
  expect(await failureOf(client, "query", { sql })).toContain(`and ${name} may act outside the transaction`);
});

test.each([
  "SELECT random() < 2, clock_timestamp() > now(), gen_random_uuid() IS NOT NULL",
  "SELECT count(*), sum(id), max(id) FROM orders",
  "SELECT steady(), coalesce(NULL, 1), extract(year FROM now()), substring('abc' FROM 2)",
  "SELECT pg_total_relation_size('orders') > 0, pg_sleep(0)",
  "SELECT id AS plain, row_number() OVER (ORDER BY id) FROM orders",
  "SELECT generate_series(1, 3), to_char(now(), 'YYYY'), 'pg_terminate_backend'",
])("query runs %s", async (sql) => {
  const client = await openServer(postgres.url("shop", "clerk"));
  expect((await call(client, "query", { sql })).rows).not.toEqual([]);
});

test("a server that trusts its role does not look at functions", async () => {
  const client = await openServer(postgres.url("shop", "clerk"), { trustRole: true });
  expect((await call(client, "query", { sql: "SELECT plain()" })).rows).toEqual([[1]]);
});
