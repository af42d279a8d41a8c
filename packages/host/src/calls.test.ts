import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "./activity/index.ts";
import { Diary, LoggedCall } from "./calls.ts";
import type { HostedServer } from "./hosted-server.ts";

const server = { name: "s" } as HostedServer;

function createDiary() {
  const clock = createClock();
  const activity = openActivity(memorySink());
  const entries = async () => {
    const all: object[] = [];
    for await (const { seq: _, at: __, ...entry } of activity.query()) all.push(entry);
    return all;
  };
  return { clock, entries, diary: new Diary(activity, clock) };
}

function deed(id: string): LoggedCall {
  return new LoggedCall("call", id, server, "act", { a: 1 }, { run: "r" });
}

test("what is quick is one entry, what takes longer is two", async () => {
  const { clock, entries, diary } = createDiary();
  const [quick, slow] = [deed("c1"), deed("c2")];
  diary.begin(quick);
  diary.begin(slow);
  const result = { content: [] };
  diary.end(quick, 5, result);
  await clock.advance(100);
  const begun = { kind: "call", server: "s", name: "act", by: "model", run: "r", args: { a: 1 } };
  expect(await entries()).toMatchObject([
    { ...begun, id: "c1", ms: 5, result: { content: [] } },
    { ...begun, id: "c2" },
  ]);
  diary.end(slow, 200, undefined, { how: "failed", message: "no" });
  expect((await entries()).at(-1)).toMatchObject({ kind: "result", of: "call", id: "c2", ms: 200, how: "failed" });
  expect(await entries()).toHaveLength(3);
  expect(clock.pending).toBe(0);
});

test("arguments are written down as they were sent, whatever became of them since", async () => {
  const { clock, entries, diary } = createDiary();
  const made = ["quick", "slow", "failed"].map((id) => {
    const args: { a: number } = { a: 1 };
    const each = new LoggedCall("call", id, server, "act", args, {});
    each.argsText = JSON.stringify(args);
    diary.begin(each);
    args.a = 2;
    return each;
  });
  diary.end(made[0]!, 5, { content: [] });
  diary.end(made[2]!, 5, undefined, { how: "failed", message: "no" });
  await clock.advance(100);
  expect(await entries()).toMatchObject(["quick", "failed", "slow"].map((id) => ({ id, args: { a: 1 } })));
});

test("what the protocol adds to a result is not written down", async () => {
  const { entries, diary } = createDiary();
  const quick = deed("c1");
  diary.begin(quick);
  const result = { _meta: { a: 1 }, resultType: "complete", ttlMs: 1, cacheScope: "private", content: [] };
  diary.end(quick, 5, result);
  expect(await entries()).toMatchObject([{ result: { content: [] } }]);
  expect(JSON.stringify(await entries())).not.toMatch(/_meta|resultType|ttlMs|cacheScope/);
});

test("what takes longer is written down in the order in which it began, whichever ends first", async () => {
  const { clock, entries, diary } = createDiary();
  const deeds = ["c1", "c2", "c3", "c4", "c5"].map(deed);
  for (const each of deeds) diary.begin(each);
  for (const at of [0, 2, 4]) diary.end(deeds[at]!, 5, { content: [] });
  await clock.advance(100);
  expect(await entries()).toMatchObject(["c1", "c3", "c5", "c2", "c4"].map((id) => ({ kind: "call", id })));
  const later = deed("c6");
  diary.begin(later);
  await clock.advance(100);
  expect((await entries()).at(-1)).toMatchObject({ kind: "call", id: "c6" });
});
