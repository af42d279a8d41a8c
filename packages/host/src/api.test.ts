import { expect, test } from "vitest";
import { createEventFilter, createHostFeed, explainAbsence, type HostEvent, type ServerStatus } from "./api.ts";

const warning: HostEvent = { kind: "warning", server: "a", message: "m" };

test("an event filter compares the kind and the server", () => {
  expect(createEventFilter({})(warning)).toBe(true);
  expect(createEventFilter({ kinds: ["warning"], server: "a" })(warning)).toBe(true);
  expect(createEventFilter({ kinds: ["log"] })(warning)).toBe(false);
  expect(createEventFilter({ server: "b" })(warning)).toBe(false);
});

test("newer progress of a call replaces older progress that is unread", async () => {
  const feed = createHostFeed(() => {});
  const reader = feed.read();
  for (const progress of [1, 2]) {
    feed.emit({ kind: "progress", server: "a", id: "1", name: "t", progress: { progress } });
    feed.emit(warning);
  }
  feed.end();
  const events: HostEvent[] = [];
  for await (const event of reader) events.push(event);
  expect(events.map((event) => (event.kind === "progress" ? event.progress.progress : event.kind))).toEqual([
    "warning",
    2,
    "warning",
  ]);
});

test("the absence of a server is explained by its state and reason", () => {
  const status: ServerStatus = { name: "a", state: "untrusted", source: { kind: "code" }, restarts: 0 };
  expect(explainAbsence("a")).toBe("a is not used: there is no such server");
  expect(explainAbsence("a", status)).toContain("it is untrusted, the user has not agreed to start it");
  expect(explainAbsence("a", { ...status, state: "down", reason: "no route" })).toBe(
    "a is not used: it is down, no route",
  );
});
