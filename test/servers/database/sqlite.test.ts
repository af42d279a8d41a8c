import { spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { freshFile, openServer, shop } from "./kit.ts";

test.each(revisions)("describes every tool and runs queries, on %s", async (revision) => {
  const client = await openServer(freshFile(), { write: true }, { revision });
  if (revision === "2026-07-28") await expectDescribed(client);
  const { content } = await client.callTool("query", { sql: "SELECT name FROM customers ORDER BY id" });
  expect(content).toMatchObject([{ type: "text", text: "2 rows\n| name |\n| --- |\n| Ada |\n| Grace |" }]);
});

test("offers no tool that changes anything without --write", async () => {
  const client = await openServer(freshFile());
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["describe", "explain", "query", "tables"]);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
});

describe("query", () => {
  test("binds values by position and by name, and integers as integers", async () => {
    const client = await openServer(freshFile());
    const rows = async (sql: string, parameters?: object) => (await call(client, "query", { sql, parameters })).rows;
    expect(await rows("SELECT name FROM customers WHERE id = ? AND city = ?", [1, "London"])).toEqual([["Ada"]]);
    expect(await rows("SELECT name FROM customers WHERE id = ?2 OR city = ?1", ["London", 2])).toHaveLength(2);
    expect(await rows("SELECT name FROM customers WHERE city = :city", { city: "New York" })).toEqual([["Grace"]]);
    expect(await rows("SELECT $a, @b", { a: 1, b: null })).toEqual([[1, null]]);
    expect(await rows("SELECT typeof(?), typeof(?), ?", [5, 5.5, true])).toEqual([["integer", "real", 1]]);
    expect(await rows("SELECT ?", ["'; DROP TABLE customers; --"])).toEqual([["'; DROP TABLE customers; --"]]);
  });

  test("rejects placeholders without a value and values without a placeholder", async () => {
    const client = await openServer(freshFile());
    const fails = (sql: string, parameters: object) => failureOf(client, "query", { sql, parameters });
    expect(await fails("SELECT ?, ?", [1])).toContain("the statement has 2 placeholders, but got 1 parameters");
    expect(await fails("SELECT :a, :b", { a: 1 })).toContain("the statement has 2 placeholders");
    expect(await fails("SELECT ?", [1, 2])).toContain("out of range");
    expect(await fails("SELECT :a", { b: 1 })).toContain("b");
  });

  test("keeps values exact, and columns with the same name", async () => {
    const client = await openServer(freshFile());
    const sql = "SELECT 9007199254740993, -1, 0.1, 1e999, x'00ff', NULL, 'a|b\nc' AS t, 1 AS t, '2026-01-01' AS day";
    const { rows, columns } = await call(client, "query", { sql });
    expect(rows).toEqual([
      ["9007199254740993", -1, 0.1, "Infinity", { bytes: 2, base64: "AP8=" }, null, "a|b\nc", 1, "2026-01-01"],
    ]);
    expect(columns.slice(-3).map(({ name }: { name: string }) => name)).toEqual(["t", "t", "day"]);
    const { content } = await client.callTool("query", { sql: "SELECT 'a|b\nc' AS t" });
    expect(content).toMatchObject([{ text: expect.stringContaining("| a\\|b\\nc |") }]);
  });

  test("returns the declared types of columns", async () => {
    const { columns } = await call(await openServer(freshFile()), "query", {
      sql: "SELECT id, total, 1+1 AS two FROM orders",
    });
    expect(columns).toEqual([
      { name: "id", type: "integer" },
      { name: "total", type: "numeric(10, 2)" },
      { name: "two", type: "" },
    ]);
  });

  test("stops at the row limit without computing further rows", async () => {
    const client = await openServer(freshFile());
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
    const { rows, isCut, note } = await call(client, "query", { sql: endless });
    expect({ length: rows.length, last: rows.at(-1), isCut }).toEqual({ length: 100, last: [100], isCut: true });
    expect(note).toContain("raise limit to at most 1000");
    expect((await call(client, "query", { sql: endless, limit: 3 })).rows).toEqual([[1], [2], [3]]);
    expect(await failureOf(client, "query", { sql: endless, limit: 1_001 })).toContain("limit");
  });

  test("stops at the byte limit, shortens long values, and shows the size of large blobs", async () => {
    const client = await openServer(freshFile(), {
      limits: { maxBytes: 10_000, maxValueLength: 100, maxBlobBytes: 10 },
    });
    const wide =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) SELECT hex(zeroblob(45)) FROM c";
    const cut = await call(client, "query", { sql: wide, limit: 1_000 });
    expect(cut.isCut).toBe(true);
    expect(cut.note).toContain("because of their size");
    expect(JSON.stringify(cut.rows).length).toBeLessThanOrEqual(10_000);
    const { rows, note } = await call(client, "query", { sql: "SELECT printf('%.*c', 50000, 'x'), zeroblob(11)" });
    expect(rows).toEqual([[`${"x".repeat(100)}… (50000 characters)`, { bytes: 11 }]]);
    expect(note).toContain("1 long values were shortened");
    const many = `SELECT ${Array.from({ length: 200 }, (_, at) => `printf('%.*c', 100, 'x') AS c${at}`).join(", ")}`;
    expect((await call(client, "query", { sql: many })).note).toContain("The first row alone is too large");
  });

  test("error messages suggest what to do next", async () => {
    const client = await openServer(freshFile());
    expect(await failureOf(client, "query", { sql: "SELECT * FROM clients" })).toContain("the tool tables lists");
    expect(await failureOf(client, "query", { sql: "SELECT nme FROM customers" })).toContain("the tool describe lists");
    expect(await failureOf(client, "query", { sql: "SELEC 1" })).toContain('near "SELEC"');
    expect(await failureOf(client, "query", { sql: " -- nothing" })).toContain("no statement");
  });

  test("runs several queries at once, and a long one does not block others", async () => {
    const client = await openServer(freshFile(), { limits: { timeoutMs: 20_000 } });
    const leave = new AbortController();
    const long = client.callTool(
      "query",
      { sql: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c" },
      { signal: leave.signal },
    );
    const ended = expect(long).rejects.toThrow();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => call(client, "query", { sql: "SELECT ?", parameters: [at] })),
    );
    expect(answers.map(({ rows }) => rows[0][0])).toEqual(Array.from({ length: 20 }, (_, at) => at));
    leave.abort();
    await ended;
  });

  test("waits for the lock of another program, then reports it", async () => {
    const file = freshFile();
    const other = new DatabaseSync(file);
    other.exec("BEGIN EXCLUSIVE");
    const client = await openServer(file, { limits: { timeoutMs: 300 } });
    expect(await failureOf(client, "query", { sql: "SELECT * FROM orders" })).toMatch(/locked|longer than/);
    other.exec("COMMIT");
    other.close();
    expect((await call(client, "query", { sql: "SELECT * FROM orders" })).rows).toHaveLength(3);
  });

  test("reads a database in write-ahead mode while another process writes to it", async () => {
    const file = freshFile(`PRAGMA journal_mode = WAL; ${shop}`);
    const client = await openServer(file);
    const writer = new DatabaseSync(file);
    writer.exec("BEGIN; INSERT INTO customers VALUES (3, 'Not yet', NULL, NULL)");
    const count = async () => (await call(client, "query", { sql: "SELECT count(*) FROM customers" })).rows[0][0];
    expect(await count()).toBe(2);
    writer.exec("COMMIT");
    expect(await count()).toBe(3);
    writer.close();
  });
});

describe("the schema", () => {
  test("lists tables in pages, and finds them by a part of the name", async () => {
    const client = await openServer(freshFile());
    expect((await call(client, "tables")).tables).toEqual([
      { name: "customers", kind: "table" },
      { name: "orders", kind: "table" },
      { name: "spending", kind: "view" },
    ]);
    const first = await call(client, "tables", { limit: 2 });
    expect(first.next).toBe(2);
    expect((await call(client, "tables", { from: first.next })).tables).toEqual([{ name: "spending", kind: "view" }]);
    expect((await call(client, "tables", { search: "ORD" })).tables).toEqual([{ name: "orders", kind: "table" }]);
    expect((await call(client, "tables", { search: "%" })).tables).toEqual([]);
  });

  test("describes a table with keys and indexes", async () => {
    const client = await openServer(freshFile());
    expect(await call(client, "describe", { table: "orders" })).toEqual({
      name: "orders",
      kind: "table",
      columns: [
        { name: "id", type: "integer", nullable: true },
        { name: "customer_id", type: "integer", nullable: false },
        { name: "total", type: "numeric(10, 2)", nullable: true },
      ],
      primaryKey: ["id"],
      foreignKeys: [{ columns: ["customer_id"], table: "customers", references: ["id"] }],
      indexes: [{ name: "orders_by_customer", unique: false, columns: ["customer_id"] }],
      checks: [],
      definition: expect.stringContaining("CREATE TABLE orders"),
    });
    expect(await failureOf(client, "describe", { table: "order" })).toContain("did you mean orders?");
    expect(await failureOf(client, "describe", { table: "zzz" })).toContain("the tool tables lists them");
  });

  test("describes composite keys, generated columns, unusual names and a broken view", async () => {
    const client = await openServer(
      freshFile(`
        CREATE TABLE "odd ""name" (a, b, c AS (a + b), PRIMARY KEY (b, a)) WITHOUT ROWID;
        CREATE TABLE child (x, y, FOREIGN KEY (x, y) REFERENCES "odd ""name");
        CREATE TABLE gone (z); CREATE VIEW broken AS SELECT z FROM gone; DROP TABLE gone;
        CREATE VIRTUAL TABLE docs USING fts5(body);
      `),
    );
    const odd = await call(client, "describe", { table: 'odd "name' });
    expect(odd.primaryKey).toEqual(["b", "a"]);
    expect(odd.columns[2]).toMatchObject({ name: "c", generated: true });
    const { foreignKeys } = await call(client, "describe", { table: "child" });
    expect(foreignKeys).toEqual([{ columns: ["x", "y"], table: 'odd "name', references: [] }]);
    expect((await call(client, "describe", { table: "broken" })).comment).toContain("no such table");
    const { contents } = await client.readResource("db://schema");
    expect(contents[0]).toMatchObject({
      text: expect.stringMatching(/broken \(view\)[\s\S]*child[\s\S]*docs \(virtual table\)/),
    });
    expect((await call(client, "tables")).tables).toHaveLength(4);
  });

  test("explain shows the plan without running the statement", async () => {
    const client = await openServer(freshFile());
    const sql = "SELECT * FROM orders WHERE customer_id = ? ORDER BY total";
    const { plan } = await call(client, "explain", { sql });
    expect(plan).toContain("orders_by_customer");
    expect(await failureOf(client, "explain", { sql: "SELECT 1; SELECT 2" })).toContain("one statement");
  });

  test("offers the schema and each table as resources, and completes names", async () => {
    const client = await openServer(freshFile());
    const { contents } = await client.readResource("db://schema");
    expect(contents).toMatchObject([
      { text: expect.stringContaining("customer_id integer not null references customers (id)") },
    ]);
    const listed = await client.listResources();
    expect(listed.map(({ uri }) => uri)).toEqual([
      ...["db://schema", "db://table/customers", "db://table/orders", "db://table/spending"],
    ]);
    const table = await client.readResource("db://table/spending");
    expect(table.contents).toMatchObject([{ text: expect.stringContaining("CREATE VIEW spending") }]);
    await expect(client.readResource("db://table/nothing")).rejects.toThrow("db://table/nothing");
    const ref = { type: "ref/resource", uri: "db://table/{name}" } as const;
    expect((await client.complete(ref, { name: "name", value: "O" })).values).toEqual(["orders", "customers"]);
  });

  test("the prompt contains examples from the real tables, and completes tables and columns", async () => {
    const client = await openServer(freshFile());
    const { messages } = await client.getPrompt("query", { question: "Who spends most?", table: "orders" });
    const said = messages.map(({ role, content }) => `${role}: ${content.type === "text" ? content.text : ""}`);
    expect(said[0]).toContain("orders (table)");
    expect(said[0]).toContain("customers (table)");
    expect(said[0]).not.toContain("spending");
    expect(said.at(-1)).toBe("user: Who spends most?");
    const calls = said.flatMap((one) => /^assistant: query\((.*)\)$/.exec(one)?.[1] ?? []);
    expect(calls.length).toBeGreaterThan(1);
    for (const args of calls) await call(client, "query", JSON.parse(args));
    expect(calls.join()).toContain("JOIN customers");
    const ref = { type: "ref/prompt", name: "query" } as const;
    const values = async (name: string, value: string, known: { [name: string]: string } = {}) =>
      (await client.complete(ref, { name, value }, { known })).values;
    expect(await values("table", "cust")).toEqual(["customers"]);
    expect(await values("column", "c", { table: "customers" })).toEqual(["city", "created_at"]);
    expect(await values("column", "tot")).toEqual(["total"]);
    await expect(client.getPrompt("query", { question: "?", table: "clients" })).rejects.toThrow("No table");
  });

  test("shows the tables that a table refers to, also with a single connection", async () => {
    const tables = Array.from(
      { length: 5 },
      (_, at) => `CREATE TABLE t${at} (id integer PRIMARY KEY, only_${at} text);`,
    );
    const references = Array.from({ length: 5 }, (_, at) => `r${at} integer REFERENCES t${at} (id)`);
    const file = freshFile(`${tables.join("")} CREATE TABLE hub (${references.join(", ")});`);
    const single = await openServer(file, { limits: { connections: 1, maxWaiting: 1 } });
    const { messages } = await single.getPrompt("query", { question: "?", table: "hub" });
    const said = JSON.stringify(messages);
    expect([0, 1, 2, 3, 4].filter((at) => !said.includes(`only_${at}`))).toEqual([]);
  });

  test("the prompt uses the chosen column in an example", async () => {
    const client = await openServer(freshFile());
    const { messages } = await client.getPrompt("query", { question: "?", table: "customers", column: "city" });
    expect(JSON.stringify(messages)).toContain("GROUP BY city");
  });
});

test("a program that embeds the server can exit", async () => {
  const script = `
    import { openDatabase } from "portolan-database";
    const database = await openDatabase({ url: process.argv[1] });
    const bounds = { maxRows: 1, maxBytes: 1e5, maxValueLength: 100, maxBlobBytes: 0 };
    const { rows } = await database.read({ sql: "SELECT 42" }, bounds, new AbortController().signal);
    console.log(rows[0][0]);`;
  const args = ["--input-type=module", "-e", script, freshFile()];
  const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [[said], [code]] = await Promise.all([once(child.stdout, "data"), once(child, "exit")]);
  expect({ said: String(said).trim(), code }).toEqual({ said: "42", code: 0 });
});
