import { createDatabase, openDatabase } from "portolan-database";
import { expect, onTestFinished, test } from "vitest";
import { connectCallers } from "../kit/callers.ts";
import { call } from "../kit/tools.ts";
import { freshFile } from "./kit.ts";

const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";

test("a caller that uses all its connections and fills the queue does not keep others from theirs", async () => {
  const url = freshFile();
  const limits = { timeoutMs: 300_000, connections: 2, maxWaiting: 8 };
  const database = await openDatabase({ url, limits });
  onTestFinished(() => database.close());
  const { hostile, innocent } = await connectCallers(await createDatabase({ url, database, limits }));
  const leave = new AbortController();
  let refused = 0;
  const attack = Array.from({ length: 20 }, async () => {
    const { isError } = await hostile.callTool("query", { sql: endless }, { signal: leave.signal });
    if (isError) refused += 1;
  });
  const over = Promise.allSettled(attack);
  await expect.poll(() => refused, { timeout: 20_000 }).toBe(11);
  for (const sql of ["SELECT 1", "SELECT 2", "SELECT 3"]) {
    expect((await call(innocent, "query", { sql })).rows).toEqual([[Number(sql.at(-1))]]);
  }
  leave.abort();
  await over;
}, 60_000);

test("a caller that waits most often is refused in favour of one that waits less", async () => {
  const url = freshFile();
  const limits = { timeoutMs: 300_000, connections: 1, maxWaiting: 3 };
  const database = await openDatabase({ url, limits });
  onTestFinished(() => database.close());
  const { hostile, innocent } = await connectCallers(await createDatabase({ url, database, limits }));
  const leave = new AbortController();
  const said: string[] = [];
  const attack = Array.from({ length: 4 }, async () => {
    const { content } = await hostile.callTool("query", { sql: endless }, { signal: leave.signal });
    said.push(JSON.stringify(content));
  });
  const over = Promise.allSettled(attack);
  // One more is refused, so the queue is full.
  const more = await hostile.callTool("query", { sql: "SELECT 0" });
  expect(more.isError).toBe(true);
  const answered = call(innocent, "query", { sql: "SELECT 1" });
  await expect.poll(() => said, { timeout: 20_000 }).toEqual([expect.stringContaining("connections are busy")]);
  leave.abort();
  expect((await answered).rows).toEqual([[1]]);
  await over;
}, 60_000);
