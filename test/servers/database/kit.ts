import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { connectInMemory } from "portolan/testing";
import { createDatabase, type DatabaseOptions, openDatabase } from "portolan-database";
import { onTestFinished } from "vitest";

/** Schema and data of a shop, in SQL for both databases. */
export const shop = `
  CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, city text, created_at timestamp);
  CREATE TABLE orders (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers (id),
    total numeric(10, 2) CHECK (total >= 0)
  );
  CREATE INDEX orders_by_customer ON orders (customer_id);
  CREATE VIEW spending AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
  INSERT INTO customers VALUES (1, 'Ada', 'London', '2026-01-02 03:04:05'), (2, 'Grace', 'New York', NULL);
  INSERT INTO orders VALUES (1, 1, 12.5), (2, 1, 7.25), (3, 2, 100);
`;

/** Creates a folder that is removed after the test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-database-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a database file with SQLite itself. */
export function freshFile(statements = shop, name = "shop.db"): string {
  const file = join(freshFolder(), name);
  const database = new DatabaseSync(file);
  database.exec(statements);
  database.close();
  return file;
}

/** Reads a file with SQLite itself. */
export function look(file: string, sql: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

type Options = Omit<DatabaseOptions, "url">;
type Connecting = NonNullable<Parameters<typeof connectInMemory>[1]>;

/** Connects a client to a server in the same process, until the test ends. */
export async function openServer(url: string, options: Options = {}, connecting: Connecting = {}) {
  const database = await openDatabase({ url, ...options });
  onTestFinished(() => database.close());
  const server = await createDatabase({ url, database, ...options });
  const client = await connectInMemory(server, connecting);
  onTestFinished(() => client.close());
  return Object.assign(client, { database });
}
