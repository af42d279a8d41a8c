import { once } from "node:events";
import { createServer } from "node:net";
import { openDatabase } from "portolan-database";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, failureOf } from "../kit/tools.ts";
import { openServer, shop } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

let postgres: Postgres;
let url = "";

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE reader LOGIN PASSWORD 'secret'");
  await postgres.sql("CREATE DATABASE shop");
  await postgres.sql(
    `${shop}
    CREATE TYPE mood AS ENUM ('fine', 'it''s bad');
    CREATE SCHEMA sales;
    CREATE TABLE sales.deals (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, mood mood DEFAULT 'fine',
      customer integer REFERENCES public.customers, a int, b int, double int GENERATED ALWAYS AS (a * 2) STORED,
      UNIQUE (a, b)
    );
    COMMENT ON TABLE sales.deals IS 'What was agreed';
    COMMENT ON COLUMN sales.deals.mood IS 'How it felt';
    CREATE TABLE sales.parts (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE sales.parts_2026 PARTITION OF sales.parts FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
    CREATE TABLE sales."Odd Name" ("From" int);
    CREATE TABLE sales.hidden (secret text);
    CREATE MATERIALIZED VIEW totals AS SELECT customer_id, sum(total) FROM orders GROUP BY 1;
    GRANT USAGE ON SCHEMA sales TO reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA public, sales TO reader;
    REVOKE ALL ON sales.hidden FROM reader;
    ANALYZE;`,
    "shop",
  );
  url = postgres.url("shop", "reader");
}, postgresStartMs);

afterAll(() => postgres.stop());

test.each(revisions)("queries on %s", async (revision) => {
  const client = await openServer(url, {}, { revision });
  const { content } = await client.callTool("query", { sql: "SELECT name FROM customers ORDER BY id" });
  expect(content).toMatchObject([{ type: "text", text: "2 rows\n| name |\n| --- |\n| Ada |\n| Grace |" }]);
});

describe("query", () => {
  test("binds values by position and by name", async () => {
    const client = await openServer(url);
    const rows = async (sql: string, parameters?: object) => (await call(client, "query", { sql, parameters })).rows;
    expect(await rows("SELECT name FROM customers WHERE id = $1 AND city = $2", [1, "London"])).toEqual([["Ada"]]);
    expect(await rows("SELECT name FROM customers WHERE city = :city OR city = :city", { city: "London" })).toEqual([
      ["Ada"],
    ]);
    const tricky =
      "SELECT ':id', $$:id$$, E'\\':id', \"name\" /* :id /* */ :id */, '1'::int, (ARRAY[7,8])[1:1] FROM customers WHERE id = :id -- :id";
    expect(await rows(tricky, { id: 1 })).toEqual([[":id", ":id", "':id", "Ada", 1, "{7}"]]);
    expect(await rows("SELECT $1::bool, $2::text IS NULL, $3::jsonb ->> 'a'", [true, null, '{"a":1}'])).toEqual([
      [true, true, "1"],
    ]);
  });

  test("rejects placeholders without a value and values without a placeholder", async () => {
    const client = await openServer(url);
    const fails = (sql: string, parameters: object) => failureOf(client, "query", { sql, parameters });
    expect(await fails("SELECT $1::int, $2::int", [1])).toContain("PostgreSQL");
    expect(await fails("SELECT 1", [1])).toContain("PostgreSQL");
    expect(await fails("SELECT 1", { b: 1 })).toContain("no placeholder :b");
    expect(await fails("SELECT :a::int, :b::int", { a: 1 })).toContain("PostgreSQL");
  });

  test("keeps values exact, with the types of their columns", async () => {
    const sql = `SELECT 9007199254740993::bigint AS big, 42::bigint AS small, 0.10::numeric AS price, 'NaN'::float8 AS nan,
      1.5::float4 AS real, true AS yes, '\\x00ff'::bytea AS bytes, NULL AS nothing, '2026-01-02 03:04:05.123456+00'::timestamptz AT TIME ZONE 'UTC' AS at,
      '0044-03-15 BC'::date AS day, '{"a": 1.0}'::json AS json, ARRAY[1,2] AS list, 'fine'::mood AS mood, 1 AS same, 2 AS same`;
    const { rows, columns } = await call(await openServer(url), "query", { sql });
    expect(rows).toEqual([
      [
        ...["9007199254740993", 42, "0.10", "NaN", 1.5, true, { bytes: 2, base64: "AP8=" }, null],
        ...["2026-01-02 03:04:05.123456", "0044-03-15 BC", '{"a": 1.0}', "{1,2}", "fine", 1, 2],
      ],
    ]);
    expect(columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toEqual([
      ...["big bigint", "small bigint", "price numeric", "nan double precision", "real real", "yes boolean"],
      ...["bytes bytea", "nothing text", "at timestamp without time zone", "day date", "json json", "list integer[]"],
      ...["mood mood", "same integer", "same integer"],
    ]);
  });

  test("fetches no more rows than it shows, even of a billion", async () => {
    const client = await openServer(url, { limits: { timeoutMs: 5_000 } });
    const { rows, isCut, note } = await call(client, "query", { sql: "SELECT generate_series(1, 1000000000)" });
    expect({ length: rows.length, last: rows.at(-1), isCut }).toEqual({ length: 100, last: [100], isCut: true });
    expect(note).toContain("raise limit");
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
    expect((await call(client, "query", { sql: endless, limit: 3 })).rows).toEqual([[1], [2], [3]]);
  });

  test("cuts off too much data: many long rows, one long value, a long plan", async () => {
    const client = await openServer(url, { limits: { timeoutMs: 50_000 } });
    const before = process.memoryUsage.rss();
    const many = "SELECT n, repeat('x', 100000) FROM generate_series(1, 900) n";
    const wide = await call(client, "query", { sql: many, limit: 900 });
    expect(wide.isCut).toBe(true);
    expect(wide.rows.length).toBeGreaterThan(1);
    expect(wide.note).toContain("because of their size");
    const long = "SELECT repeat('x', 200000000)";
    expect(await failureOf(client, "query", { sql: long })).toContain("The first row alone is too large");
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    const folded = "SELECT 1 FROM customers WHERE name = repeat('x', 50000000)";
    expect((await call(client, "explain", { sql: folded })).plan).toContain("the rest is too long to show");
    expect((await call(client, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
  });

  test("error messages suggest what to do next", async () => {
    const client = await openServer(url);
    expect(await failureOf(client, "query", { sql: "SELECT * FROM clients" })).toContain("the tool tables lists");
    expect(await failureOf(client, "query", { sql: "SELECT nme FROM customers" })).toContain("the tool describe lists");
    expect(await failureOf(client, "query", { sql: "SELECT * FROM sales.hidden" })).toContain("is not allowed to");
    expect(await failureOf(client, "query", { sql: "SELECT 1 / 0" })).toContain("division by zero");
  });
});

describe("the schema", () => {
  test("shows tables that the role may read, those of the search path first", async () => {
    const client = await openServer(url);
    const { tables } = await call(client, "tables");
    expect(tables.map(({ name, kind }: { name: string; kind: string }) => `${name}: ${kind}`)).toEqual([
      ...["customers: table", "orders: table", "spending: view", "totals: materialized view", "sales.Odd Name: table"],
      ...["sales.deals: table", "sales.parts: partitioned table"],
    ]);
    expect(tables[0].rows).toBe(2);
    expect(tables[5].comment).toBe("What was agreed");
  });

  test("shows only the chosen schema, and names need no schema then", async () => {
    const client = await openServer(url, { schemas: ["sales"] });
    const names = (await call(client, "tables")).tables.map(({ name }: { name: string }) => name);
    expect(names).toEqual(["Odd Name", "deals", "parts"]);
    expect((await call(client, "query", { sql: "SELECT count(*) FROM deals" })).rows).toEqual([[0]]);
  });

  test("describes a table with keys, comments, enumerations and indexes", async () => {
    const client = await openServer(url);
    expect(await call(client, "describe", { table: "sales.deals" })).toMatchObject({
      name: "sales.deals",
      comment: "What was agreed",
      columns: [
        { name: "id", type: "bigint", nullable: false, generated: true },
        { name: "mood", type: "mood", values: ["fine", "it's bad"], comment: "How it felt", default: "'fine'::mood" },
        { name: "customer", type: "integer", nullable: true },
        { name: "a" },
        { name: "b" },
        { name: "double", generated: true },
      ],
      primaryKey: ["id"],
      foreignKeys: [{ columns: ["customer"], table: "customers", references: ["id"] }],
      indexes: [
        { name: "deals_a_b_key", unique: true, columns: ["a", "b"] },
        { name: "deals_pkey", unique: true, columns: ["id"] },
      ],
    });
    expect((await call(client, "describe", { table: "orders" })).checks).toEqual(["CHECK ((total >= (0)::numeric))"]);
    expect((await call(client, "describe", { table: "spending" })).definition).toContain("GROUP BY");
    expect((await call(client, "describe", { table: "sales.parts" })).primaryKey).toEqual(["id", "day"]);
    expect(await failureOf(client, "describe", { table: "deals" })).toContain("did you mean sales.deals?");
    expect(await failureOf(client, "describe", { table: "sales.hidden" })).toContain("No table");
  });

  test("explain shows the plan", async () => {
    const client = await openServer(url);
    const { plan } = await call(client, "explain", { sql: "SELECT * FROM orders WHERE id = $1", parameters: [1] });
    expect(plan).toMatch(/Scan .*on orders/);
    expect(await failureOf(client, "explain", { sql: "SELECT 1; SELECT 2" })).toContain("multiple commands");
  });

  test("resources, completion and prompt examples use the real tables", async () => {
    const client = await openServer(url);
    const { contents } = await client.readResource("db://schema");
    expect(contents).toMatchObject([
      { text: expect.stringContaining("mood mood default 'fine'::mood one of 'fine', 'it's bad' -- How it felt") },
    ]);
    const odd = (await client.listResources()).find(({ name }) => name === "sales.Odd Name")!;
    expect((await client.readResource(odd.uri)).contents).toMatchObject([
      { text: expect.stringContaining("From integer") },
    ]);
    const ref = { type: "ref/prompt", name: "query" } as const;
    expect((await client.complete(ref, { name: "table", value: "sales.d" })).values).toEqual(["sales.deals"]);
    const known = { table: "sales.deals" };
    expect((await client.complete(ref, { name: "column", value: "mo" }, { known })).values).toEqual(["mood"]);
    for (const table of ["orders", "sales.deals", "sales.Odd Name", "sales.parts", "customers"]) {
      const { messages } = await client.getPrompt("query", { question: "?", table });
      const said = messages.map(({ content }) => (content.type === "text" ? content.text : ""));
      const calls = said.flatMap((text) => /^query\((.*)\)$/.exec(text)?.[1] ?? []);
      expect(calls.length).toBeGreaterThan(0);
      for (const args of calls) await call(client, "query", JSON.parse(args));
    }
  });
});

test("queues calls when all connections are busy, and refuses too many", async () => {
  const client = await openServer(url, { limits: { connections: 2, maxWaiting: 10 } });
  const calls = Array.from({ length: 20 }, (_, at) =>
    client.callTool("query", { sql: "SELECT $1::int, pg_sleep(0.05)", parameters: [at] }),
  );
  const results = await Promise.all(calls);
  const busy = results.filter(({ isError }) => isError === true);
  expect(busy.length).toBeGreaterThanOrEqual(8);
  expect(busy.length).toBeLessThan(20);
  expect(JSON.stringify(busy[0]?.content)).toContain("All 2 connections are busy");
});

test("reports a statement that was cancelled at the database", async () => {
  const client = await openServer(url);
  const calling = failureOf(client, "query", { sql: "SELECT pg_sleep(1000)" });
  const cancel =
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'reader' AND query ~ '^FETCH' AND state = 'active'";
  await expect.poll(async () => (await postgres.sql(cancel)).length, { timeout: 20_000 }).toBe(1);
  expect(await calling).toContain("the statement was cancelled at the database");
});

test("replaces a lost connection", async () => {
  const client = await openServer(url, { limits: { connections: 1 } });
  const pid = async () => (await call(client, "query", { sql: "SELECT pg_backend_pid()" })).rows[0][0];
  const first = await pid();
  await postgres.sql(`SELECT pg_terminate_backend(${first})`);
  await expect
    .poll(async () => (await client.callTool("query", { sql: "SELECT 1" })).isError ?? false, { timeout: 20_000 })
    .toBe(false);
  expect(await pid()).not.toBe(first);
});

test("reports a server that does not answer, or is not PostgreSQL", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  silent.on("connection", (socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await expect(openDatabase({ url: `postgres://reader@127.0.0.1:${port}/shop` })).rejects.toThrow(/lost or refused/);
  await expect(openDatabase({ url: "postgres://reader@127.0.0.1:1/shop" })).rejects.toThrow("ECONNREFUSED");
  await expect(openDatabase({ url: postgres.url("shop", "nobody") })).rejects.toThrow("password authentication failed");
  await expect(openDatabase({ url: postgres.url("nowhere", "reader") })).rejects.toThrow("does not exist");
});
