import type { ConsoleEvent } from "portolan-console/api";
import { expect, test } from "vitest";
import { newServer, oldServer, openConsole, refusalOf, Tab } from "./kit.ts";

test("a tab begins with the whole state, and hears what changes", async () => {
  const running = await openConsole({ servers: { old: oldServer, new: await newServer() } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const state = await events.state();
  expect(state.version).toBe("0.0.0-test");
  expect(state.servers.map(({ name, state: is }) => [name, is])).toEqual([
    ["old", "idle"],
    ["new", "idle"],
  ]);
  for (const server of ["old", "new"]) await tab.do("server.start", { server });
  for (const [name, revision] of [
    ["old", "2024-11-05"],
    ["new", "2026-07-28"],
  ]) {
    const { server } = await events.ever("server", ({ server: one }) => one.name === name && one.state === "ready");
    expect(server.revision).toBe(revision);
    const { server: measured } = await events.ever(
      "server",
      ({ server: one }) => one.name === name && one.toolTokens > 0,
    );
    expect(measured.counts.tools).toBeGreaterThan(20);
    const { tools, digest } = await tab.do("catalog", { server: name! });
    expect(tools).toHaveLength(measured.counts.tools);
    expect(digest).toBe(measured.catalog);
  }
});

test("a tab that was away continues where it was, without a gap and without a repetition", async () => {
  const running = await openConsole({ servers: { old: oldServer } });
  const tab = await Tab.open(running);
  const first = await tab.events();
  const witness = await tab.events();
  await first.state();
  await tab.do("server.start", { server: "old" });
  await first.next("server", (event) => event.server.state === "starting");
  first.close();
  const missed = first.lastId;
  await witness.next("server", (event) => event.server.state === "ready");
  const again = await tab.events(missed);
  await again.next("server", (event) => event.server.state === "ready");
  expect(again.all.some(({ event }) => event.kind === "reset")).toBe(false);
  const numbers = [...first.all, ...again.all].map(({ id }) => Number(id.split(".").at(-1)));
  expect(numbers.slice(1).every((n, index) => n === numbers[index]! + 1)).toBe(true);
});

test("a tab of another start, or one that was away for too long, gets the state again", async () => {
  const running = await openConsole({ servers: { old: oldServer } });
  const tab = await Tab.open(running);
  for (const lastId of ["other.1", `${tab.boot}.999999`, `${tab.boot}.-1`, "x", `${tab.boot}.1e3`]) {
    const events = await tab.events(lastId);
    expect((await events.state()).servers).toHaveLength(1);
    events.close();
  }
});

test("a call by hand runs once, however often its request is sent, and its result can be read in pieces", async () => {
  const running = await openConsole({ servers: { old: oldServer } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const request = crypto.randomUUID();
  const takes = { server: "old", tool: "add", argumentsText: '{"a": 1, "b": 2}', request };
  const replies = await Promise.all([tab.do("call", takes), tab.do("call", takes)]);
  expect(replies[1]).toEqual(replies[0]);
  const { call } = await events.next("call", (event) => event.call.end !== undefined);
  expect(call).toMatchObject({ id: replies[0]!.id, by: "user", tool: "add", end: { how: "done" } });
  expect(call.end?.result?.result.structuredContent ?? call.end?.result?.result.content).toBeDefined();
  expect((await tab.do("call", takes)).id).toBe(call.id);
  const begun = events.all.filter(({ event }) => event.kind === "call" && !event.call.end && !event.call.progress);
  expect(new Set(begun.map(({ event }) => (event as Extract<ConsoleEvent, { kind: "call" }>).call.id)).size).toBe(1);
  const { total } = await tab.do("result", { call: call.id, from: 0, chars: 1 });
  let text = "";
  for (let from = 0; from < total; from += 10)
    text += (await tab.do("result", { call: call.id, from, chars: 10 })).text;
  expect(JSON.stringify(JSON.parse(text).content)).toContain("3");
  const other = await refusalOf(tab.do("call", { ...takes, argumentsText: "{}" }));
  expect(other.error.paths?.[0]?.path).toBe("request");
});

test("a call can be cancelled, and arguments that are no object are refused", async () => {
  const running = await openConsole({ servers: { old: oldServer } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("call", { server: "old", tool: "wait", argumentsText: '{"ms": 60000}' });
  await tab.do("cancel", { call: id });
  const { call } = await events.next("call", (event) => event.call.end !== undefined);
  expect(call.end).toMatchObject({ how: "cancelled" });
  for (const argumentsText of ["[]", "1", "{", "null"]) {
    const refused = await refusalOf(tab.do("call", { server: "old", tool: "add", argumentsText }));
    expect([refused.status, refused.error.paths?.[0]?.path]).toEqual([422, "argumentsText"]);
  }
});

test("a ninth stream is refused", async () => {
  const tab = await Tab.open(await openConsole());
  for (let count = 0; count < 8; count += 1) expect((await tab.events()).status).toBe(200);
  expect((await tab.events()).status).toBe(429);
});

test("closing says bye to every tab", async () => {
  const running = await openConsole();
  const tab = await Tab.open(running);
  const events = await tab.events();
  await events.state();
  await running.close();
  expect((await events.next("bye")).reason).toContain("closed");
});
