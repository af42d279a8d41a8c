import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "./activity/index.ts";
import { CallLog, LoggedCall } from "./calls.ts";
import type { HostedServer } from "./hosted-server.ts";

const server = { name: "s" } as HostedServer;

function createCallLog() {
  const clock = createClock();
  const activity = openActivity(memorySink());
  const entries = async () => {
    const all: object[] = [];
    for await (const { seq: _, at: __, ...entry } of activity.query()) all.push(entry);
    return all;
  };
  return { clock, entries, callLog: new CallLog(activity, clock) };
}

function logged(id: string): LoggedCall {
  return new LoggedCall("call", id, server, "act", { a: 1 }, { run: "r" });
}

test("a quick call is one entry, a longer call is two", async () => {
  const { clock, entries, callLog } = createCallLog();
  const [quick, slow] = [logged("c1"), logged("c2")];
  callLog.begin(quick);
  callLog.begin(slow);
  const result = { content: [] };
  callLog.end(quick, 5, result);
  await clock.advance(100);
  const startedAt = { kind: "call", server: "s", name: "act", by: "model", run: "r", args: { a: 1 } };
  expect(await entries()).toMatchObject([
    { ...startedAt, id: "c1", ms: 5, result: { content: [] } },
    { ...startedAt, id: "c2" },
  ]);
  callLog.end(slow, 200, undefined, { how: "failed", message: "no" });
  expect((await entries()).at(-1)).toMatchObject({ kind: "result", of: "call", id: "c2", ms: 200, how: "failed" });
  expect(await entries()).toHaveLength(3);
  expect(clock.pending).toBe(0);
});

test("arguments are logged as they were sent, even if the object changes later", async () => {
  const { clock, entries, callLog } = createCallLog();
  const made = ["quick", "slow", "failed"].map((id) => {
    const args: { a: number } = { a: 1 };
    const each = new LoggedCall("call", id, server, "act", args, {});
    each.argsText = JSON.stringify(args);
    callLog.begin(each);
    args.a = 2;
    return each;
  });
  callLog.end(made[0]!, 5, { content: [] });
  callLog.end(made[2]!, 5, undefined, { how: "failed", message: "no" });
  await clock.advance(100);
  expect(await entries()).toMatchObject(["quick", "failed", "slow"].map((id) => ({ id, args: { a: 1 } })));
});

test("members that the protocol adds to a result are not logged", async () => {
  const { entries, callLog } = createCallLog();
  const quick = logged("c1");
  callLog.begin(quick);
  const result = { _meta: { a: 1 }, resultType: "complete", ttlMs: 1, cacheScope: "private", content: [] };
  callLog.end(quick, 5, result);
  expect(await entries()).toMatchObject([{ result: { content: [] } }]);
  expect(JSON.stringify(await entries())).not.toMatch(/_meta|resultType|ttlMs|cacheScope/);
});

test("longer calls are logged in the order of their beginning", async () => {
  const { clock, entries, callLog } = createCallLog();
  const deeds = ["c1", "c2", "c3", "c4", "c5"].map(logged);
  for (const each of deeds) callLog.begin(each);
  for (const at of [0, 2, 4]) callLog.end(deeds[at]!, 5, { content: [] });
  await clock.advance(100);
  expect(await entries()).toMatchObject(["c1", "c3", "c5", "c2", "c4"].map((id) => ({ kind: "call", id })));
  const later = logged("c6");
  callLog.begin(later);
  await clock.advance(100);
  expect((await entries()).at(-1)).toMatchObject({ kind: "call", id: "c6" });
});
