import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { connect } from "portolan/client";
import { openDatabase } from "portolan-database";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { scriptOf } from "../kit/programs.ts";
import { call, failureOf } from "../kit/tools.ts";
import { freshFile, look, openServer } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

/** Processes with this word on their command line, read from /proc. */
function processesWith(word: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const isOne = readFileSync(`/proc/${name}/cmdline`, "utf8").includes(word);
      const isDead = /^State:\s+Z/m.test(readFileSync(`/proc/${name}/status`, "utf8"));
      return isOne && !isDead && Number(name) !== process.pid ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

/** Returns true once a process has used enough CPU time to be past its start. */
function isWorking(pid: number): boolean {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) > 40;
}

/** Long enough for a busy machine. */
const soon = { timeout: 20_000 };

describe("SQLite", () => {
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";

  test.each(revisions)("stops a cancelled query and its process, on %s", async (revision) => {
    const file = freshFile();
    const client = await openServer(file, { limits: { timeoutMs: 60_000 } }, { revision });
    const leave = new AbortController();
    const calling = client.callTool("query", { sql: endless }, { signal: leave.signal });
    const ended = expect(calling).rejects.toThrow();
    await expect.poll(() => processesWith(file).filter(isWorking), soon).toHaveLength(1);
    leave.abort();
    await ended;
    await expect.poll(() => processesWith(file), soon).toEqual([]);
    expect(await client.callTool("query", { sql: "SELECT 1" })).toMatchObject({
      content: [{ text: expect.stringContaining("| 1 |") }],
    });
  });

  test("stops a query after the timeout and tells the model", async () => {
    const file = freshFile();
    const client = await openServer(file, { limits: { timeoutMs: 300 } });
    expect(await failureOf(client, "query", { sql: endless })).toContain("took longer than 0.3 s and was stopped");
    await expect.poll(() => processesWith(file), soon).toEqual([]);
  });

  test("a change that is cancelled halfway changes nothing", async () => {
    const file = freshFile("CREATE TABLE big (a, b); INSERT INTO big VALUES (1, 'first'), (2, 'second')");
    const client = await openServer(file, { write: true, ask: false, limits: { timeoutMs: 60_000 } });
    const sql = `INSERT INTO big ${endless.replace("max(x)", "x, hex(randomblob(500))")}`;
    const leave = new AbortController();
    const calling = client.callTool("execute", { sql }, { signal: leave.signal });
    const ended = expect(calling).rejects.toThrow();
    // More than the cache holds, so that uncommitted rows are in the file.
    await expect.poll(() => statSync(file).size, soon).toBeGreaterThan(5_000_000);
    leave.abort();
    await ended;
    const rows = "SELECT a FROM big ORDER BY a";
    await expect.poll(async () => (await client.callTool("query", { sql: rows })).isError ?? false, soon).toBe(false);
    expect((await call(client, "query", { sql: rows })).rows).toEqual([[1], [2]]);
    expect(look(file, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect((await call(client, "execute", { sql: "DELETE FROM big" })).changes).toBe(2);
  });

  test("the SQLite processes end with the server, even if it is killed during a query", async () => {
    const file = freshFile();
    const child = spawn(process.execPath, [scriptOf("database"), file], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    await handshake(child);
    send(child, { id: 2, method: "tools/call", params: { name: "query", arguments: { sql: endless } } });
    // The server's own command line does not contain the file.
    await expect.poll(() => processesWith(file).filter(isWorking), soon).toHaveLength(1);
    child.kill("SIGKILL");
    await expect.poll(() => processesWith(file), soon).toEqual([]);
  });

  test("leaves no process behind when the client disconnects", async () => {
    const file = freshFile();
    const client = await connect({ command: process.execPath, args: [scriptOf("database"), file] });
    await call(client, "query", { sql: "SELECT 1" });
    expect(processesWith(file).length).toBeGreaterThan(0);
    await client.close();
    await expect.poll(() => processesWith(file), soon).toEqual([]);
  });
});

describe("PostgreSQL", () => {
  let postgres: Postgres;
  let url = "";

  beforeAll(async () => {
    postgres = await startPostgres();
    await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'; CREATE ROLE sealed LOGIN PASSWORD 'secret'");
    await postgres.sql("CREATE DATABASE work OWNER clerk");
    await postgres.sql(
      "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 1000); GRANT ALL ON t TO clerk",
      "work",
    );
    url = postgres.url("work", "clerk");
  }, postgresStartMs);

  afterAll(() => postgres.stop());

  /** Our statements that the database server reports as running. */
  const working = async () =>
    (
      await postgres.sql(
        "SELECT 1 FROM pg_stat_activity WHERE usename IN ('clerk', 'sealed') AND state = 'active' AND query ~ '^(FETCH|DELETE)'",
      )
    ).length;

  const busy =
    "SELECT count(*) FROM generate_series(1, 10000) a, generate_series(1, 10000) b, generate_series(1, 10000) c";

  test.each(revisions)("stops a cancelled query on the database server, on %s", async (revision) => {
    const client = await openServer(url, { limits: { timeoutMs: 60_000 } }, { revision });
    const before = postgres.log().length;
    const leave = new AbortController();
    const calling = client.callTool("query", { sql: "SELECT pg_sleep(1000)" }, { signal: leave.signal });
    const ended = expect(calling).rejects.toThrow();
    await expect.poll(working, soon).toBe(1);
    leave.abort();
    await ended;
    await expect.poll(working, soon).toBe(0);
    // By a cancel request, not only because the connection was closed, which the server would notice later.
    expect(postgres.log().slice(before)).toContain("canceling statement due to user request");
    expect(await client.callTool("query", { sql: "SELECT 1" })).toMatchObject({
      content: [{ text: expect.stringContaining("| 1 |") }],
    });
  });

  test.each([
    ["a socket in the file system", () => postgres.socketUrl("work", "clerk")],
    ["TLS", () => `${postgres.url("work", "sealed")}?sslmode=verify-full&sslrootcert=${postgres.certificate}`],
  ])("cancels a query over %s", async (_, toUrl) => {
    const client = await openServer(toUrl(), { limits: { timeoutMs: 60_000 } });
    const before = postgres.log().length;
    const leave = new AbortController();
    const calling = client.callTool("query", { sql: "SELECT pg_sleep(1000)" }, { signal: leave.signal });
    const ended = expect(calling).rejects.toThrow();
    await expect.poll(working, soon).toBe(1);
    leave.abort();
    await ended;
    await expect.poll(working, soon).toBe(0);
    expect(postgres.log().slice(before)).toContain("canceling statement due to user request");
  });

  test("sends no password to a server without a valid certificate", async () => {
    const sealed = postgres.url("work", "sealed");
    await expect(openDatabase({ url: `${sealed}?sslmode=verify-full` })).rejects.toThrow(/SELF_SIGNED|certificate/i);
    await expect(openDatabase({ url: sealed })).rejects.toThrow("pg_hba.conf rejects connection");
  });

  test("stops a query after the timeout, even if it has turned statement_timeout off", async () => {
    const client = await openServer(url, { trustRole: true, limits: { timeoutMs: 300 } });
    const before = postgres.log().length;
    const said = "took longer than 0.3 s and was stopped";
    expect(await failureOf(client, "query", { sql: "SELECT pg_sleep(1000)" })).toContain(said);
    const unbound = "SELECT set_config('statement_timeout', '0', false), pg_sleep(1000)";
    expect(await failureOf(client, "query", { sql: unbound })).toContain(said);
    await expect.poll(working, soon).toBe(0);
    // The database server did it, both times.
    expect(
      postgres
        .log()
        .slice(before)
        .match(/canceling statement due to statement timeout/g),
    ).toHaveLength(2);
  });

  test("gives up on a database server that stops during a query", async () => {
    const client = await openServer(url, { limits: { timeoutMs: 2_000, connections: 1 } });
    const [[pid]] = (await call(client, "query", { sql: "SELECT pg_backend_pid()" })).rows;
    const calling = failureOf(client, "query", { sql: "SELECT pg_sleep(1000)" });
    await expect.poll(working, soon).toBe(1);
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    expect(await calling).toContain("took longer than 2 s");
    expect((await call(client, "query", { sql: "SELECT 1" })).rows).toEqual([[1]]);
  });

  test("closes the connection to a database server that no longer answers", async () => {
    const client = await openServer(url, { limits: { timeoutMs: 500, connections: 1 } });
    const [[pid]] = (await call(client, "query", { sql: "SELECT pg_backend_pid()" })).rows;
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    expect(await failureOf(client, "query", { sql: "SELECT 1" })).toMatch(/took longer|was lost|are busy/);
    await expect
      .poll(async () => (await client.callTool("query", { sql: "SELECT 1" })).isError ?? false, soon)
      .toBe(false);
    expect((await call(client, "query", { sql: "SELECT pg_backend_pid()" })).rows).not.toEqual([[pid]]);
  });

  test("a change that is cancelled halfway changes nothing", async () => {
    const client = await openServer(url, { write: true, ask: false, limits: { timeoutMs: 60_000 } });
    const leave = new AbortController();
    const sql = "DELETE FROM t WHERE a < 500 OR pg_sleep(1000) IS NULL";
    const calling = client.callTool("execute", { sql }, { signal: leave.signal });
    const ended = expect(calling).rejects.toThrow();
    await expect.poll(working, soon).toBe(1);
    leave.abort();
    await ended;
    await expect.poll(working, soon).toBe(0);
    expect(await postgres.sql("SELECT count(*)::int FROM t", "work")).toEqual([[1000]]);
  });

  test("a long query does not block others", async () => {
    const client = await openServer(url, { limits: { timeoutMs: 60_000 } });
    const leave = new AbortController();
    const long = client.callTool("query", { sql: busy }, { signal: leave.signal });
    const ended = expect(long).rejects.toThrow();
    await expect.poll(working, soon).toBe(1);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => call(client, "query", { sql: "SELECT $1::int", parameters: [at] })),
    );
    expect(answers.map(({ rows }) => rows[0][0])).toEqual(Array.from({ length: 20 }, (_, at) => at));
    leave.abort();
    await ended;
    await expect.poll(working, soon).toBe(0);
  });

  test("the database server stops the query of a killed client", async () => {
    const child = spawn(process.execPath, [scriptOf("database"), "--timeout", "600", url], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await handshake(child);
    send(child, { id: 2, method: "tools/call", params: { name: "query", arguments: { sql: busy } } });
    await expect.poll(working, soon).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(working, soon).toBe(0);
  });
});

test("an SQLite process does not get the server's environment", async () => {
  const file = freshFile();
  const env = { PGPASSWORD: "not for everybody", PORTOLAN_TOKEN: "nor this" };
  const client = await connect({ command: process.execPath, args: [scriptOf("database"), file], env });
  onTestFinished(() => client.close());
  await call(client, "query", { sql: "SELECT 1" });
  const [pid] = processesWith(file);
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toMatch(/not for everybody|nor this|HOME=/);
});

test("keeps the locks that the embedding program holds on the file", async () => {
  const file = freshFile();
  const own = new DatabaseSync(file);
  own.exec("BEGIN EXCLUSIVE");
  const client = await openServer(file, { limits: { timeoutMs: 300 } });
  await failureOf(client, "query", { sql: "SELECT * FROM orders" });
  own.close();
});

function send(child: ChildProcess, message: object): void {
  child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function handshake(child: ChildProcess): Promise<void> {
  const clientInfo = { name: "test", version: "1" };
  send(child, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  await once(child.stdout!, "data");
  send(child, { method: "notifications/initialized" });
}
