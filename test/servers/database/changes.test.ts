import { scriptedAnswers } from "portolan/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { between, revisions } from "../../kit/revisions.ts";
import { call, failureOf } from "../kit/tools.ts";
import { freshFile, look, openServer, shop } from "./kit.ts";
import { type Postgres, startPostgres } from "./postgres.ts";

const yes = { action: "accept", content: {} } as const;
const count = "SELECT count(*) AS n FROM customers";

/** A place to write to, and a way to look at it that is not ours. */
interface Place {
  readonly url: string;
  readonly count: () => Promise<number>;
}

let postgres: Postgres;
let databases = 0;

beforeAll(async () => {
  postgres = await startPostgres();
  await postgres.sql("CREATE ROLE clerk LOGIN PASSWORD 'secret'");
});

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

  test.each(between("2025-06-18", "2026-07-28"))(
    "the user is asked, and shown what is run, on %s",
    async (revision) => {
      const place = await make();
      const answers = scriptedAnswers({ action: "decline" }, { action: "cancel" }, yes);
      const client = await openServer(place.url, { write: true }, { revision, answers });
      expect(await failureOf(client, "execute", add)).toContain("The user said no");
      expect(await failureOf(client, "execute", add)).toContain("The user said no");
      expect(await place.count()).toBe(2);
      expect((await call(client, "execute", add)).changes).toBe(1);
      expect(await place.count()).toBe(3);
      expect(JSON.stringify(answers.asked)).toContain("VALUES (3, 'Alan')");
      answers.done();
    },
  );

  test.each(revisions)(
    "a client that cannot ask is refused, unless the server was told not to ask, on %s",
    async (revision) => {
      const place = await make();
      const careful = await openServer(place.url, { write: true }, { revision });
      expect(await failureOf(careful, "execute", add)).toContain("--yes");
      expect(await place.count()).toBe(2);
      const bold = await openServer(place.url, { write: true, asks: false }, { revision });
      expect((await bold.callTool("execute", add)).content).toMatchObject([{ text: "Done; 1 rows changed" }]);
      expect(await place.count()).toBe(3);
    },
  );

  test("changes are counted, rows are returned, and all of it is done although not all is shown", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, asks: false, limits: { maxRows: 1 } });
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

  test("a statement is done as a whole or not at all", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, asks: false });
    const sql = "INSERT INTO customers (id, name) VALUES (4, 'Edsger'), (1, 'Ada again')";
    expect(await failureOf(client, "execute", { sql })).toContain("nothing was changed; correct the values");
    expect(await place.count()).toBe(2);
    expect(await failureOf(client, "execute", { sql: "DELETE FROM customers" })).toContain("nothing was changed");
  });

  test("values are bound here too", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, asks: false });
    const sql = "INSERT INTO customers (id, name) VALUES (:id, :name)";
    const evil = "'); DELETE FROM customers; --";
    await call(client, "execute", { sql, parameters: { id: 9, name: evil } });
    const found = await call(client, "query", { sql: "SELECT name FROM customers WHERE id = 9" });
    expect(found.rows).toEqual([[evil]]);
  });

  test("clients hear that there is another table, and not of other rows", async () => {
    const place = await make();
    const client = await openServer(place.url, { write: true, asks: false });
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

test("what hides or turns around text is written out before the user says yes", async () => {
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

test("a statement that is too long to be read is not put before the user", async () => {
  const answers = scriptedAnswers();
  const client = await openServer(freshFile(), { write: true }, { answers });
  const sql = `DELETE FROM orders WHERE id = 1 ${" ".repeat(9_000)} OR 1 = 1`;
  expect(await failureOf(client, "execute", { sql })).toContain("too long for the user to read");
  answers.done();
});

test("what fails at the very end of a change has changed nothing", async () => {
  const place = await places["PostgreSQL"]!();
  const client = await openServer(place.url, { write: true, asks: false });
  await call(client, "execute", {
    sql: "ALTER TABLE customers ADD COLUMN boss integer REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED",
  });
  const sql = "INSERT INTO customers (id, name, boss) VALUES (7, 'Nobody', 99)";
  expect(await failureOf(client, "execute", { sql })).toContain("nothing was changed");
  expect(await place.count()).toBe(2);
});

test("a change that would return a flood is not made", async () => {
  const place = await places["PostgreSQL"]!();
  const client = await openServer(place.url, { write: true, asks: false });
  const sql = "UPDATE customers SET city = 'gone' RETURNING repeat('x', 100000000), repeat('y', 100000000)";
  expect(await failureOf(client, "execute", { sql })).toMatch(/nothing was changed|far too large/);
  const { rows } = await call(client, "query", { sql: "SELECT count(*) FROM customers WHERE city = 'gone'" });
  expect(rows).toEqual([[0]]);
});
