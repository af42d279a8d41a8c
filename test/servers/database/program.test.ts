import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { PeerClient } from "../../peers/clients/peer.d.mts";
import { forOfficialClients } from "../kit/official.ts";
import { connectTo, scriptOf, serveHttp } from "../kit/programs.ts";
import { call, failureOf, start } from "../kit/tools.ts";
import { freshFile, freshFolder, look, shop } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

const script = scriptOf("database");
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'");
  await postgres.sql("CREATE DATABASE shop OWNER clerk");
  await postgres.sql(`SET ROLE clerk; ${shop}`, "shop");
}, postgresStartMs);

afterAll(() => postgres.stop());

function run(args: string[], env: { [name: string]: string } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    ...{ encoding: "utf8", input: "", timeout: 30_000 },
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  return { status, said: stdout + stderr };
}

test.each([
  ["a path", (file: string) => file],
  ["sqlite: and a path", (file: string) => `sqlite:${file}`],
  ["sqlite:// and a path", (file: string) => `sqlite://${file}`],
])("accepts %s", async (_, toUrl) => {
  const client = await start(script, [toUrl(freshFile())]);
  expect((await call(client, "query", { sql: "SELECT count(*) FROM orders" })).rows).toEqual([[3]]);
});

test("accepts the address from the environment, so that no command line shows it", async () => {
  const client = await start(script, [], { PORTOLAN_DATABASE_URL: postgres.url("shop", "clerk") });
  expect((await call(client, "query", { sql: "SELECT count(*) FROM orders" })).rows).toEqual([[3]]);
});

test.each([
  ["nothing", [], 2, "expected one database"],
  ["two databases", ["a.db", "b.db"], 2, "expected one database"],
  ["a missing file", ["/nowhere/at.all"], 2, "no such file"],
  ["a folder", ["/tmp"], 2, "no such file"],
  ["a file that is not a database", [script], 2, "is not an SQLite database"],
  ["memory", [":memory:"], 2, "expected the path of an SQLite database file"],
  ["a database of another kind", ["mysql://root:hunter2@localhost/x"], 2, "begins with mysql:"],
  ["an invalid address", ["postgres://u:hunter2@[/x"], 2, "expected an address such as"],
  ["an unreachable server", ["postgres://u:hunter2@127.0.0.1:1/x"], 1, "ECONNREFUSED"],
  ["an invalid number", ["--max-rows", "many", "x.db"], 2, "--max-rows"],
  ["a row limit of zero", ["--max-rows", "0", "postgres://u:hunter2@127.0.0.1:1/x"], 2, "--max-rows: expected"],
  ["a timeout of zero", ["--timeout", "0", "postgres://u:hunter2@127.0.0.1:1/x"], 2, "--timeout: expected"],
  [
    "a timeout that is too long",
    ["--timeout", "9999999", "postgres://u:hunter2@127.0.0.1:1/x"],
    2,
    "--timeout: expected",
  ],
])("exits with the reason and without the password: %s", (_, args, status, says) => {
  const result = run(args);
  expect(result).toEqual({ status, said: expect.stringContaining(says) });
  expect(result.said).not.toContain("hunter2");
});

test("refuses a superuser with advice, and accepts it with --trust-role", async () => {
  const { status, said } = run([postgres.url("shop")]);
  expect({ status, said }).toEqual({ status: 1, said: expect.stringContaining("--trust-role") });
  expect(said).not.toContain("secret");
  const client = await start(script, ["--trust-role", postgres.url("shop")]);
  expect((await call(client, "query", { sql: "SELECT current_user::text" })).rows).toEqual([["boss"]]);
});

test("reads the password from the environment or from a file", async () => {
  const url = postgres.url("shop", "clerk").replace(":secret@", "@");
  const asked = "SELECT current_user::text";
  const byVariable = await start(script, [url], { PGPASSWORD: "secret" });
  expect((await call(byVariable, "query", { sql: asked })).rows).toEqual([["clerk"]]);
  const file = join(freshFolder(), "pgpass");
  writeFileSync(file, `127.0.0.1:*:shop:clerk:secret\n`);
  chmodSync(file, 0o600);
  const byFile = await start(script, [url], { PGPASSFILE: file });
  expect((await call(byFile, "query", { sql: asked })).rows).toEqual([["clerk"]]);
});

test("hides the password from the process list", async () => {
  const child = spawn(process.execPath, [script, postgres.url("shop", "clerk")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await once(child.stdout, "data");
  expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).not.toContain("secret");
});

test("has flags for limits, schemas and changes without questions", async () => {
  const url = postgres.url("shop", "clerk");
  const endless = "SELECT generate_series(1, 1000000)";
  const small = await start(script, ["--max-rows", "5", "--max-bytes", "1000", "--timeout", "1", url]);
  expect((await call(small, "query", { sql: endless })).rows).toHaveLength(5);
  expect((await call(small, "query", { sql: "SELECT repeat('x', 2000)" })).note).toContain("too large");
  expect(await failureOf(small, "query", { sql: "SELECT pg_sleep(100)" })).toContain("took longer than 1 s");
  const elsewhere = await start(script, ["--schema", "nothing", "--schema", "here", url]);
  expect((await call(elsewhere, "tables")).tables).toEqual([]);
  const file = freshFile();
  const writer = await start(script, ["--write", "--yes", file]);
  expect((await call(writer, "execute", { sql: "DELETE FROM orders" })).changes).toBe(3);
  expect(look(file, "SELECT count(*) AS n FROM orders")).toEqual([{ n: 0 }]);
  const asking = await start(script, ["--write", freshFile()]);
  expect(await failureOf(asking, "execute", { sql: "DELETE FROM orders" })).toContain("cannot ask the user");
});

test("serves over HTTP", async () => {
  const client = await connectTo(await serveHttp(script, [freshFile()]));
  expect((await call(client, "query", { sql: "SELECT count(*) FROM orders" })).rows).toEqual([[3]]);
});

describe.each(["SQLite", "PostgreSQL"])("%s", (kind) => {
  const env = () => ({ PORTOLAN_DATABASE_URL: kind === "SQLite" ? freshFile() : postgres.url("shop", "clerk") });

  async function use(client: PeerClient): Promise<void> {
    const { all } = await client.listTools();
    expect(all.map(({ name }) => name)).toEqual(["describe", "explain", "query", "tables"]);
    const { structuredContent } = await client.callTool("query", {
      sql: "SELECT name FROM customers WHERE id = :id",
      parameters: { id: 1 },
    });
    expect(structuredContent.rows).toEqual([["Ada"]]);
    expect(await client.callTool("query", { sql: "DELETE FROM orders" })).toMatchObject({ isError: true });
    const { contents } = await client.readResource("db://table/orders");
    expect(contents[0].text).toContain("customer_id integer");
    const { messages } = await client.getPrompt("query", { question: "How many?", table: "orders" });
    expect(messages.at(-1).content.text).toBe("How many?");
    const ref = { type: "ref/prompt", name: "query" };
    const { completion } = await client.complete({ ref, argument: { name: "table", value: "cus" } });
    expect(completion.values).toEqual(["customers"]);
  }

  forOfficialClients(script, "queries, reads the schema and completes", use, env);
});

describe("Node's own SQLite", () => {
  // The official conformance suite installs a Node whose SQLite has an authorizer.
  const newer = join(import.meta.dirname, "../../conformance/runtime/node_modules/node/bin/node");

  test("is used if it has an authorizer, and denies the same statements", async () => {
    const file = freshFile();
    const other = freshFile("CREATE TABLE secret (a)", "other.db");
    const client = await connect({ command: newer, args: [script, "--write", "--yes", file] });
    onTestFinished(() => client.close());
    const [[version]] = (await call(client, "query", { sql: "SELECT sqlite_version()" })).rows;
    const own = execFileSync(newer, ["-p", "process.versions.sqlite"], { encoding: "utf8" }).trim();
    expect(version).toBe(own);
    for (const sql of [
      ...["DELETE FROM orders", "CREATE TEMP TABLE x (a)", "PRAGMA journal_mode = WAL", "PRAGMA query_only = 0"],
      ...[`ATTACH '${other}' AS other`, `VACUUM INTO '${other}.copy'`, "SELECT load_extension('x')"],
    ]) {
      expect(await failureOf(client, "query", { sql })).toMatch(/not allowed|not authorized/);
    }
    expect(await failureOf(client, "query", { sql: "SELECT 1; SELECT 2" })).toContain("one statement");
    expect(await failureOf(client, "query", { sql: "SELECT ?" })).toContain("the statement has 1 placeholders");
    const sql = "SELECT 9007199254740993, x'00', 1 AS a, 2 AS a";
    expect((await call(client, "query", { sql })).rows).toEqual([
      ["9007199254740993", { bytes: 1, base64: "AA==" }, 1, 2],
    ]);
    expect((await call(client, "describe", { table: "orders" })).primaryKey).toEqual(["id"]);
    const returning = "UPDATE orders SET total = 1 RETURNING id";
    expect(await call(client, "execute", { sql: returning })).toMatchObject({ changes: 3, rows: [[1], [2], [3]] });
    expect(look(file, "SELECT sum(total) AS n FROM orders")).toEqual([{ n: 3 }]);
  });
});
