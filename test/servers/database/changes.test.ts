import { scriptedAnswers } from "portolan/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { between, revisions } from "../../kit/revisions.ts";
import { call, failureOf } from "../kit/tools.ts";
import { freshFile, look, openServer, shop } from "./kit.ts";
import { type Postgres, postgresStartMs, startPostgres } from "./postgres.ts";

const yes = { action: "accept", content: {} } as const;
const count = "SELECT count(*) AS n FROM customers";

/** A database to write to, and an independent way to read it. */
interface Place {
  readonly url: string;
  readonly count: () => Promise<number>;
}

let postgres: Postgres;
let databases = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'");
}, postgresStartMs);

afterAll(() => postgres.stop());

const places: { [name: string]: () => Promise<Place> } = {
  async SQLite() {
    const file = freshFile();
    return { url: file, count: async () => (look(file, count) as { n: number }[])[0]!.n };
  },
  async PostgreSQL() {
    databases += 1;
    const name = `shop${databases}`;
    await postgres.sql(`CREATE DATABASE ${name} OWNER clerk`);
    await postgres.sql(`SET ROLE clerk; ${shop}`, name);
    return { url: postgres.url(name, "clerk"), count: async () => Number((await postgres.sql(count, name))[0]![0]) };
  },
};

const add = { sql: "INSERT INTO customers (id, name) VALUES (3, 'Alan')" };

describe.each(Object.keys(places))("on %s", (name) => {
  const make = places[name]!;

  test.each(between("2025-06-18", "2026-07-28"))("asks the user and shows the statement, on %s", async (revision) => {
    const place = await make();
    const answers = scriptedAnswers({ action: "decline" }, { action: "cancel" }, yes);
    const client = await openServer(place.url, { write: true }, { revision, answers });
    expect(await failureOf(client, "execute", add)).toContain("The user declined");
    expect(await failureOf(client, "execute", add)).toContain("The user declined");
    expect(await place.count()).toBe(2);
    expect((await call(client, "execute", add)).changes).toBe(1);
    expect(await place.count()).toBe(3);
    expect(JSON.stringify(answers.asked)).toContain("VALUES (3, 'Alan')");
    answers.done();
  });

  test.each(revisions)("refuses a client that cannot ask, unless questions are off, on %s", async (revision) => {
    const place = await make();
    const careful = await openServer(place.url, { write: true }, { revision });
    expect(await failureOf(careful, "execute", add)).toContain("--yes");
    expect(await place.count()).toBe(2);
    const bold = await openServer(place.url, { write: true, ask: false }, { revision });
    expect((await bold.callTool("execute", add)).content).toMatchObject([{ text: "Done; 1 rows changed" }]);
    expect(await place.count()).toBe(3);
  });

  test("counts changes and returns rows, and completes the change even if not all rows are shown", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, ask: false, limits: { maxRows: 1 } });
    const { changes, rows, isCut } = await call(client, "execute", {
      sql: "UPDATE customers SET city = 'X' WHERE id < 3 RETURNING id",
    });
    expect({ changes, rows, isCut }).toEqual({ changes: 2, rows: [[1]], isCut: true });
    expect((await call(client, "query", { sql: "SELECT count(*) FROM customers WHERE city = 'X'" })).rows).toEqual([
      [2],
    ]);
    expect((await call(client, "execute", { sql: "CREATE TABLE made (a integer)" })).changes).toBe(0);
    expect((await call(client, "execute", { sql: "DELETE FROM orders" })).changes).toBe(3);
  });

  test("runs a statement completely or not at all", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, ask: false });
    const sql = "INSERT INTO customers (id, name) VALUES (4, 'Edsger'), (1, 'Ada again')";
    expect(await failureOf(client, "execute", { sql })).toContain("nothing was changed; correct the values");
    expect(await place.count()).toBe(2);
    expect(await failureOf(client, "execute", { sql: "DELETE FROM customers" })).toContain("nothing was changed");
  });

  test("binds values in execute", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, ask: false });
    const sql = "INSERT INTO customers (id, name) VALUES (:id, :name)";
    const evil = "'); DELETE FROM customers; --";
    await call(client, "execute", { sql, parameters: { id: 9, name: evil } });
    const found = await call(client, "query", { sql: "SELECT name FROM customers WHERE id = 9" });
    expect(found.rows).toEqual([[evil]]);
  });

  test("notifies clients about a new table, but not about new rows", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, ask: false });
    const watching = await client.watch({ resources: true, uris: ["db://schema"] });
    onTestFinished(() => watching.close());
    const changes = watching[Symbol.asyncIterator]();
    await call(client, "execute", add);
    await call(client, "execute", { sql: "CREATE TABLE made (a integer)" });
    const heard = [(await changes.next()).value, (await changes.next()).value].map((change) => change?.kind);
    expect(heard.sort()).toEqual(["resource", "resources"]);
    const { contents } = await client.readResource("db://schema");
    expect(contents).toMatchObject([{ text: expect.stringContaining("made (table)") }]);
  });
});

test("one yes runs a statement once, however often the client repeats it", async () => {
  const file = freshFile();
  const capabilities = { elicitation: { form: {} } };
  const client = await openServer(file, { write: true }, { revision: "2026-07-28", capabilities });
  const args = { sql: "UPDATE orders SET total = total - 1 WHERE id = 1 RETURNING total" };
  // biome-ignore lint/suspicious/noExplicitAny: the result of an interim round
  const first: any = await client.callTool("execute", args, { autoAnswer: false } as never);
  expect(first.resultType).toBe("input_required");
  const [key] = Object.keys(first.inputRequests);
  const again = () =>
    client.callTool("execute", args, {
      ...{ autoAnswer: false, requestState: first.requestState, inputResponses: { [key!]: yes } },
    } as never);
  const results = [...(await Promise.all([again(), again()])), await again()];
  for (const result of results) expect(result.structuredContent).toMatchObject({ changes: 1, rows: [[11.5]] });
  expect(look(file, "SELECT total FROM orders WHERE id = 1")).toEqual([{ total: 11.5 }]);
});

test("escapes characters that hide or reorder text before the user agrees", async () => {
  const answers = scriptedAnswers({ action: "decline" });
  const client = await openServer(freshFile(), { write: true }, { answers });
  await failureOf(client, "execute", {
    sql: "DELETE FROM orders -- \u202Eharmless\u200B\u0007",
    parameters: ["\u2066"],
  });
  const [asked] = answers.asked;
  const shown = JSON.stringify(asked);
  expect(shown).toContain("\\\\u{202e}harmless\\\\u{200b}\\\\u{7}");
  expect(shown).toContain("\\\\u{2066}");
  expect(shown).not.toMatch(/[\u202E\u200B\u2066]/);
});

test("does not show the user a statement that is too long to review", async () => {
  const answers = scriptedAnswers();
  const client = await openServer(freshFile(), { write: true }, { answers });
  const sql = `DELETE FROM orders WHERE id = 1 ${" ".repeat(9_000)} OR 1 = 1`;
  expect(await failureOf(client, "execute", { sql })).toContain("too long for the user to review");
  answers.done();
});

test("changes nothing if the commit fails", async () => {
  const place = await places["PostgreSQL"]!();
  const client = await openServer(place.url, { write: true, ask: false });
  await call(client, "execute", {
    sql: "ALTER TABLE customers ADD COLUMN boss integer REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED",
  });
  const sql = "INSERT INTO customers (id, name, boss) VALUES (7, 'Nobody', 99)";
  expect(await failureOf(client, "execute", { sql })).toContain("nothing was changed");
  expect(await place.count()).toBe(2);
});

test("does not make a change that returns too much data", async () => {
  const place = await places["PostgreSQL"]!();
  const client = await openServer(place.url, { write: true, ask: false });
  const sql = "UPDATE customers SET city = 'gone' RETURNING repeat('x', 100000000), repeat('y', 100000000)";
  expect(await failureOf(client, "execute", { sql })).toMatch(/nothing was changed|The first row alone is too large/);
  const { rows } = await call(client, "query", { sql: "SELECT count(*) FROM customers WHERE city = 'gone'" });
  expect(rows).toEqual([[0]]);
});
