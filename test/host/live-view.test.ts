import { pathToFileURL } from "node:url";
import { createServer } from "portolan/server";
import { type ActivityLog, memorySink, openActivity } from "portolan-host";
import { expect, test } from "vitest";
import {
  activityEntries,
  allow,
  countStarts,
  entryFromFile,
  greeter,
  inMemory,
  makeFolder,
  makeHost,
  nextEvent,
  textOf,
} from "./kit.ts";

/** A server whose tool sends the user to a page, and goes on when `finish` is called. */
function createVisited() {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const server = createServer({ name: "v", version: "1.0.0" }).tool("sign", {
    async run(_, ctx) {
      const page = { message: "Sign here", url: "https://example.com/sign", ready: () => finished };
      return (await ctx.openUrl("page", page)).action;
    },
  });
  return { server, finish };
}

test.each([
  ["2025-11-25", "the server says so"],
  ["2026-07-28", "its call has ended"],
] as const)("on %s a visit is over when %s", async (era, _) => {
  const { server, finish } = createVisited();
  const host = await makeHost({
    servers: { v: inMemory(server, { era }) },
    policy: allow,
    answers: { openUrl: "later" },
  });
  const events = host.events({ kinds: ["question", "answered", "visited", "ended"] });
  const calling = host.callTool("v", "sign");
  const { question } = await nextEvent(events, "question");
  await host.answer(question.id, { action: "accept" });
  finish();
  expect(textOf(await calling)).toBe("accept");
  expect(await nextEvent(events, "answered")).toMatchObject({ summary: "Address opened" });
  expect(await nextEvent(events, "visited")).toEqual({ kind: "visited", server: "v", question: question.id });
});

test("an address that was declined is not visited", async () => {
  const { server } = createVisited();
  const answers = { openUrl: () => ({ action: "decline" as const }) };
  const host = await makeHost({ servers: { v: inMemory(server) }, policy: allow, answers });
  const events = host.events({ kinds: ["visited", "ended"] });
  expect(textOf(await host.callTool("v", "sign"))).toBe("decline");
  expect((await events.next()).value.kind).toBe("ended");
});

test("the roots can be read, and an event tells of their changes", async () => {
  const uri = pathToFileURL(await makeFolder()).href;
  const host = await makeHost({ roots: [{ uri, for: ["s"] }] });
  expect(host.roots).toEqual([{ uri, for: ["s"] }]);
  const events = host.events({ kinds: ["roots"] });
  await host.setRoots([]);
  expect(host.roots).toEqual([]);
  expect(await nextEvent(events, "roots")).toEqual({ kind: "roots", server: "" });
  expect((await makeHost()).roots).toEqual([]);
});

test("an event tells that the log has grown, and a page reads what is new", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, policy: allow });
  await host.callTool("g", "greet");
  await host.activity.flush();
  const events = host.events({ kinds: ["activity"] });
  await host.callTool("g", "greet");
  await host.activity.flush();
  const { seq } = await nextEvent(events, "activity");
  const found: object[] = [];
  for await (const entry of host.activity.query({ after: seq - 1 })) found.push(entry);
  expect(found).toMatchObject([{ seq, kind: "call", name: "greet" }]);
});

test("a replaced server keeps its name, its place and its switches, and its calls fail", async () => {
  const slow = greeter().tool("wait", { run: () => new Promise(() => {}) });
  const first = countStarts(slow);
  const second = countStarts(greeter().tool("shout", { run: () => "HELLO" }));
  const other = inMemory(greeter());
  const host = await makeHost({ servers: { a: other, s: first, z: other }, policy: allow });
  await host.start("s");
  await host.show("s", "greet", false);
  const running = host.callTool("s", "wait");
  const failed = expect(running).rejects.toMatchObject({ code: expect.stringMatching(/cancelled|connection-closed/) });
  const events = host.events({ kinds: ["server"], server: "s" });
  await host.replace("s", second);
  await failed;
  expect(host.servers.map(({ name }) => name)).toEqual(["a", "s", "z"]);
  expect(textOf(await host.callTool("s", "greet", {}, { by: "user" }))).toBe("hello");
  expect([first.starts, second.starts]).toEqual([1, 1]);
  expect(host.catalog.tool("s", "greet")?.isVisible).toBe(false);
  expect(textOf(await host.callTool("s", "shout"))).toBe("HELLO");
  const states: string[] = [];
  for (let state = ""; state !== "ready"; states.push(state)) state = (await nextEvent(events, "server")).status.state;
  expect(states).not.toContain("closed");
  await host.enable("s", false);
  await host.replace("s", second);
  expect(host.servers[1]?.state).toBe("disabled");
  await expect(host.replace("unknown", second)).rejects.toThrow("There is no server");
  await expect(host.replace("s", { comand: "x" } as never)).rejects.toMatchObject({ code: "invalid-argument" });
  expect(host.servers[1]?.state).toBe("disabled");
});

test("a replaced entry of a file is trusted anew only if it is another one, and its open question is withdrawn", async () => {
  const host = await makeHost({
    servers: [entryFromFile(inMemory(greeter()))],
    answers: { trust: "later" },
    policy: allow,
  });
  const events = host.events({ kinds: ["question"] });
  await host.trust("s", { allow: true, for: "always" });
  await host.replace("s", entryFromFile(inMemory(greeter())));
  expect(textOf(await host.callTool("s", "greet"))).toBe("hello");
  await host.replace("s", entryFromFile(inMemory(greeter()), ["another.js"]));
  expect(host.isTrusted("s")).toBe(false);
  const calling = host.callTool("s", "greet");
  const { question } = await nextEvent(events, "question");
  expect(JSON.stringify(question)).toContain("another.js");
  await host.replace("s", entryFromFile(inMemory(greeter()), ["third.js"]));
  await expect(calling).rejects.toThrow("s was replaced");
  await expect(host.answer(question.id, true)).rejects.toThrow("it was withdrawn");
  // Back to the configuration that was trusted: its grant still holds.
  await host.replace("s", entryFromFile(inMemory(greeter())));
  expect(host.isTrusted("s")).toBe(true);
  expect(await activityEntries(host, "trust")).toHaveLength(1);
});

test("nothing listens to the log while nobody reads events", async () => {
  const activity = openActivity(memorySink());
  let listeners = 0;
  const counted: ActivityLog = {
    record: (...entry) => activity.record(...entry),
    addSecret: (secret) => activity.addSecret(secret),
    ready: () => activity.ready(),
    lost: 0,
    flush: () => activity.flush(),
    query: (query) => activity.query(query),
    listen(listener) {
      listeners += 1;
      const stop = activity.listen?.(listener);
      return () => {
        listeners -= 1;
        stop?.();
      };
    },
    verify: (options) => activity.verify(options),
    close: () => activity.close(),
    [Symbol.asyncDispose]: () => activity.close(),
  };
  const host = await makeHost({ activity: counted });
  expect(listeners).toBe(0);
  const events = [host.events(), host.events()];
  expect(listeners).toBe(1);
  await events[0]?.return?.();
  expect(listeners).toBe(1);
  await events[1]?.return?.();
  expect(listeners).toBe(0);
  host.events();
  await host.close();
  expect(listeners).toBe(0);
});
