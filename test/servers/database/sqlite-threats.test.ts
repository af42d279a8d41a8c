import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { freshFile, look, openServer, shop } from "./kit.ts";

/** Snapshot of the file and the files beside it, to detect any change. */
function state(file: string) {
  return { bytes: readFileSync(file).toString("base64"), names: readdirSync(dirname(file)) };
}

const refused = "not allowed";
let file = "";
let client: Awaited<ReturnType<typeof openServer>>;

beforeEach(async () => {
  file = freshFile();
  client = await openServer(file, { write: true });
});

const attempts = [
  ["a second statement", "SELECT 1; DROP TABLE orders", "one statement"],
  ["a second statement behind a comment", "SELECT 1 -- ;\n; DROP TABLE orders", "one statement"],
  ["a second statement behind a nested comment", "SELECT 1 /* /* */; DROP TABLE orders /* */", "one statement"],
  ["a second statement behind a string", "SELECT ';'';' ; DROP TABLE orders --", "one statement"],
  ["a second statement behind empty ones", ";;; SELECT 1 ;;; DROP TABLE orders;", "one statement"],
  ["a second statement behind U+0000", "SELECT 1\0; DROP TABLE orders", "U+0000"],
  ["DROP", "DROP TABLE orders", refused],
  ["DELETE", "DELETE FROM orders", refused],
  ["DELETE with rows", "DELETE FROM orders RETURNING *", refused],
  ["INSERT with a query", "WITH x AS (SELECT 1) INSERT INTO customers SELECT 9, 'x', 'y', NULL FROM x", refused],
  ["REPLACE", "REPLACE INTO customers VALUES (1, 'x', 'y', NULL)", refused],
  ["CREATE TABLE", "CREATE TABLE evil (a)", refused],
  ["CREATE TEMP TABLE", "CREATE TEMP TABLE evil AS SELECT 1", refused],
  ["CREATE TEMP VIEW", "CREATE TEMP VIEW customers AS SELECT 'evil' AS name", refused],
  ["ALTER", "ALTER TABLE orders RENAME TO evil", refused],
  ["REINDEX", "REINDEX", refused],
  ["ANALYZE", "ANALYZE", refused],
  ["VACUUM", "VACUUM", refused],
  ["BEGIN", "BEGIN IMMEDIATE", refused],
  ["SAVEPOINT", "SAVEPOINT s", refused],
  ["DETACH", "DETACH DATABASE main", refused],
  ["an extension", "SELECT load_extension('/tmp/evil.so')", "not"],
  ["a tokenizer by address", "SELECT fts3_tokenizer('x', x'0000000000000000')", "not"],
  ...[
    ...["journal_mode = DELETE", "journal_mode(wal)", "writable_schema = ON", "query_only = OFF", "query_only(0)"],
    ...["user_version = 7", "application_id(7)", "schema_version = 99", "encoding = 'UTF-16'", "trusted_schema = ON"],
    ...["temp_store_directory = '/tmp'", "wal_checkpoint(TRUNCATE)", "optimize", "incremental_vacuum(1)"],
    ...["foreign_keys = OFF", "main.locking_mode = EXCLUSIVE", "mmap_size = 1000000000", "cache_size = -1000000000"],
    ...["integrity_check", "quick_check", "shrink_memory", "hard_heap_limit = 1", "case_sensitive_like = ON"],
  ].map((pragma) => [`PRAGMA ${pragma}`, `PRAGMA ${pragma}`, refused]),
].map(([name = "", sql = "", says = ""]) => ({ name, sql, says }));

describe("query changes nothing", () => {
  test.each(attempts)("by $name", async ({ sql, says }) => {
    const before = state(file);
    expect(await failureOf(client, "query", { sql })).toContain(says);
    expect(state(file)).toEqual(before);
    // No settings are left for the next call.
    expect((await call(client, "query", { sql: "SELECT name FROM customers WHERE id = 1" })).rows).toEqual([["Ada"]]);
    expect(await failureOf(client, "query", { sql: "DELETE FROM customers" })).toContain(refused);
  });
});

test("explain changes nothing, whatever the statement", async () => {
  const before = state(file);
  for (const { sql } of attempts) await client.callTool("explain", { sql });
  expect(state(file)).toEqual(before);
  expect((await call(client, "query", { sql: "SELECT name FROM customers WHERE id = 1" })).rows).toEqual([["Ada"]]);
  expect(await failureOf(client, "query", { sql: "DELETE FROM customers" })).toContain(refused);
});

describe("query and explain reach no other file", () => {
  test.each([
    ["ATTACH", (other: string) => `ATTACH DATABASE '${other}' AS other`],
    [
      "ATTACH by an expression",
      (other: string) => `ATTACH DATABASE '${other.slice(0, 4)}' || '${other.slice(4)}' AS other`,
    ],
    ["ATTACH behind EXPLAIN", (other: string) => `EXPLAIN ATTACH DATABASE '${other}' AS other`],
    ["ATTACH by an address", (other: string) => `ATTACH DATABASE 'file:${other}?mode=rwc' AS other`],
    ["VACUUM INTO", (other: string) => `VACUUM INTO '${other}.copy'`],
    ["VACUUM INTO by an expression", (other: string) => `VACUUM main INTO '${other}' || '.copy'`],
    ["readfile", (other: string) => `SELECT readfile('${other}')`],
    ["writefile", (other: string) => `SELECT writefile('${other}.copy', 'x')`],
  ])("by %s", async (_, sqlFor) => {
    const other = freshFile("CREATE TABLE secret (a); INSERT INTO secret VALUES ('hidden')", "other.db");
    const before = state(other);
    await client.callTool("explain", { sql: sqlFor(other) });
    await failureOf(client, "query", { sql: sqlFor(other) });
    await failureOf(client, "query", { sql: "SELECT * FROM other.secret" });
    expect(state(other)).toEqual(before);
  });
});

test("treats names and patterns as values, never as SQL", async () => {
  const before = state(file);
  const evil = `orders'); DROP TABLE orders; --`;
  expect(await failureOf(client, "describe", { table: evil })).toContain("No table");
  expect((await call(client, "tables", { search: evil })).tables).toEqual([]);
  await expect(client.readResource(`db://table/${encodeURIComponent(evil)}`)).rejects.toThrow();
  const ref = { type: "ref/resource", uri: "db://table/{name}" } as const;
  expect((await client.complete(ref, { name: "name", value: evil })).values).toEqual([]);
  await expect(client.getPrompt("query", { question: "?", table: evil })).rejects.toThrow("No table");
  expect(state(file)).toEqual(before);
});

test("reading an untrusted file runs nothing in it", async () => {
  const trapped = freshFile(`
    CREATE TABLE t (a);
    CREATE VIEW trap AS SELECT load_extension('/tmp/evil.so');
    CREATE VIEW deep AS SELECT fts3_tokenizer('simple');
  `);
  const reader = await openServer(trapped);
  for (const view of ["trap", "deep"]) {
    expect(await failureOf(reader, "query", { sql: `SELECT * FROM ${view}` })).toMatch(
      /unsafe use|not authorized|no such/,
    );
  }
});

describe("execute cannot leave the file or the transaction", () => {
  test.each([
    ["ATTACH", "ATTACH DATABASE '/tmp/portolan-never.db' AS other"],
    ["VACUUM INTO", "VACUUM INTO '/tmp/portolan-never.db'"],
    ["an extension", "SELECT load_extension('/tmp/evil.so')"],
    ["BEGIN", "BEGIN"],
    ["a setting", "PRAGMA writable_schema = ON"],
    ["the journal", "PRAGMA journal_mode = OFF"],
    ["the schema itself", "UPDATE sqlite_schema SET sql = 'x'"],
    ["a second statement", "DELETE FROM orders; DELETE FROM customers"],
    ["a temporary table", "CREATE TEMP TABLE orders (evil)"],
  ])("by %s", async (_, sql) => {
    const writer = await openServer(file, { write: true, ask: false });
    const before = state(file).bytes;
    await failureOf(writer, "execute", { sql });
    expect(state(file).bytes).toBe(before);
    expect(existsSync("/tmp/portolan-never.db")).toBe(false);
    expect((await call(writer, "execute", { sql: "DELETE FROM orders WHERE id = 1" })).changes).toBe(1);
    expect(look(file, "SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
  });
});

test("refuses a value of a gigabyte before it is allocated", async () => {
  expect(await failureOf(client, "query", { sql: "SELECT length(hex(zeroblob(500000000)))" })).toMatch(
    /too (big|long)/,
  );
});

test("stops only the statement that needs too much memory", async () => {
  const small = await openServer(file, { limits: { maxMemoryMb: 200 } });
  // Each value is below the limit; together they exceed the memory limit of the process.
  const hoard = `SELECT ${Array.from({ length: 60 }, (_, at) => `hex(randomblob(30000000 + ${at}))`).join(", ")}`;
  expect(await failureOf(small, "query", { sql: hoard })).toContain("too much memory");
  expect((await call(small, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
});

test("counts a sort against the memory limit, and writes no temporary file", async () => {
  const small = await openServer(file, { limits: { maxMemoryMb: 200, timeoutMs: 120_000 } });
  const numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3000000)";
  const sql = `${numbers} SELECT x, hex(randomblob(100)) AS y FROM n ORDER BY y`;
  expect(await failureOf(small, "query", { sql })).toContain("too much memory");
  expect((await call(small, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
});

test("reports a file that is damaged or not a database", async () => {
  const damaged = freshFile(shop, "damaged.db");
  const bytes = readFileSync(damaged);
  bytes.fill(0xff, 100, bytes.length);
  writeFileSync(damaged, bytes);
  expect(await failureOf(await openServer(damaged), "query", { sql: "SELECT * FROM orders" })).toMatch(
    /malformed|cannot be opened/,
  );
  const text = join(dirname(damaged), "text.db");
  writeFileSync(text, "just a text, and longer than the header of a database has to be at least".repeat(20));
  expect(await failureOf(await openServer(text), "tables")).toContain("not a database");
});
