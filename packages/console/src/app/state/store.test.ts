import { effect } from "@preact/signals";
import { expect, test } from "vitest";
import type { CallRecord, ConsoleState } from "../../api.ts";
import { withDelta } from "./blocks.ts";
import { SignalRecords } from "./records.ts";
import { hrefOf, parseRoute } from "./route.ts";
import { ConsoleStore } from "./store.ts";

const call = (id: string, end?: CallRecord["end"]): CallRecord => ({
  id,
  server: "it",
  tool: "echo",
  by: "model",
  argumentsText: "{}",
  startedAt: 0,
  ...(end && { end }),
});

test("a delta continues a text once, and says when something is missing", () => {
  expect(withDelta("Hello", { from: 5, delta: " you" })).toBe("Hello you");
  expect(withDelta("Hello you", { from: 5, delta: " you" })).toBe("Hello you");
  expect(withDelta("Hello y", { from: 5, delta: " you" })).toBe("Hello you");
  expect(withDelta("Hel", { from: 5, delta: " you" })).toBeUndefined();
});

test("only the signal of a changed record changes", () => {
  const records = new SignalRecords<{ readonly id: string; readonly value: number }>(({ id }) => id);
  records.reset([
    { id: "a", value: 1 },
    { id: "b", value: 1 },
  ]);
  const seen: (number | undefined)[] = [];
  const end = effect(() => {
    seen.push(records.get("a").value?.value);
  });
  records.put({ id: "b", value: 2 });
  records.put({ id: "a", value: 3 });
  records.remove("a");
  end();
  expect(seen).toEqual([1, 3, undefined]);
  expect(records.all.value).toEqual([{ id: "b", value: 2 }]);
});

test("a record that was removed and comes again is seen by those who watch it", () => {
  const records = new SignalRecords<{ readonly id: string }>(({ id }) => id);
  const seen: unknown[] = [];
  const end = effect(() => {
    seen.push(records.get("a").value?.id);
  });
  records.put({ id: "a" });
  records.remove("a");
  records.put({ id: "a" });
  end();
  expect(seen).toEqual([undefined, "a", undefined, "a"]);
});

test("ended calls are bounded, and running ones stay", () => {
  const store = new ConsoleStore();
  store.apply([{ kind: "call", call: call("running") }]);
  for (let n = 0; n < 300; n += 1) store.apply([{ kind: "call", call: call(`c${n}`, { how: "done", ms: 1 }) }]);
  expect(store.calls.ids.value.length).toBeLessThanOrEqual(200);
  expect(store.calls.get("running").value).toBeDefined();
});

test("a reset replaces everything, and unknown kinds change nothing", () => {
  const store = new ConsoleStore();
  store.apply([{ kind: "activity", head: 3 }, { kind: "from-a-later-version" } as never]);
  expect(store.activity.value).toBe(3);
  const state = {
    ...{ version: "1", isSandbox: false, folder: "/", servers: [], questions: [], conversations: [], connections: [] },
    ...{ recordings: [], reports: [], logins: [], tasks: [], grants: [], models: [], roots: [], apps: [], calls: [] },
    ...{ settings: { theme: "dark" }, activity: 9 },
  } as ConsoleState;
  store.apply([
    { kind: "call", call: call("old") },
    { kind: "reset", state },
  ]);
  expect([store.calls.ids.value, store.activity.value, store.settings.value.theme]).toEqual([[], 9, "dark"]);
});

test("addresses lead to their places, and unknown ones to the chat", () => {
  expect(parseRoute(hrefOf("inspect", "a/b", "tools"))).toEqual({ side: "inspect", path: ["a/b", "tools"], query: {} });
  expect(parseRoute("#/chat/1?find=x")).toEqual({ side: "chat", path: ["1"], query: { find: "x" } });
  expect(parseRoute("#/other/%zz")).toEqual({ side: "chat", path: [], query: {} });
});
