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

function begin(callLog: CallLog, call: LoggedCall): void {
  callLog.add(call);
  callLog.markSent(call);
}

function logged(id: string): LoggedCall {
  const call = new LoggedCall("call", server, "act", { a: 1 }, { run: "r" });
  call.id = id;
  return call;
}

test("a quick call is one entry, a longer call is two", async () => {
  const { clock, entries, callLog } = createCallLog();
  const [quick, slow] = [logged("c1"), logged("c2")];
  begin(callLog, quick);
  begin(callLog, slow);
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
    const each = new LoggedCall("call", server, "act", args, {});
    each.id = id;
    each.argsText = JSON.stringify(args);
    begin(callLog, each);
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
  begin(callLog, quick);
  const result = { _meta: { a: 1 }, resultType: "complete", ttlMs: 1, cacheScope: "private", content: [] };
  callLog.end(quick, 5, result);
  expect(await entries()).toMatchObject([{ result: { content: [] } }]);
  expect(JSON.stringify(await entries())).not.toMatch(/_meta|resultType|ttlMs|cacheScope/);
});

test("longer calls are logged in the order of their beginning", async () => {
  const { clock, entries, callLog } = createCallLog();
  const calls = ["c1", "c2", "c3", "c4", "c5"].map(logged);
  for (const each of calls) begin(callLog, each);
  for (const at of [0, 2, 4]) callLog.end(calls[at]!, 5, { content: [] });
  await clock.advance(100);
  expect(await entries()).toMatchObject(["c1", "c3", "c5", "c2", "c4"].map((id) => ({ kind: "call", id })));
  const later = logged("c6");
  begin(callLog, later);
  await clock.advance(100);
  expect((await entries()).at(-1)).toMatchObject({ kind: "call", id: "c6" });
});

test("a call that waits for consent is running, and is logged only after it is sent", async () => {
  const { clock, entries, callLog } = createCallLog();
  const [waiting, refused, sent] = [logged("c1"), logged("c2"), logged("c3")];
  callLog.add(waiting);
  callLog.add(refused);
  begin(callLog, sent);
  await clock.advance(100);
  expect(callLog.running).toEqual([waiting, refused, sent]);
  expect(await entries()).toMatchObject([{ id: "c3" }]);
  callLog.remove(refused);
  callLog.markSent(waiting);
  await clock.advance(100);
  expect(await entries()).toMatchObject([{ id: "c3" }, { id: "c1" }]);
  callLog.end(waiting, 150, { content: [] });
  callLog.end(sent, 300, { content: [] });
  expect(callLog.running).toEqual([]);
  expect((await entries()).slice(2)).toMatchObject([
    { kind: "result", id: "c1" },
    { kind: "result", id: "c3" },
  ]);
});
