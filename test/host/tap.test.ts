import { fileURLToPath } from "node:url";
import type { TapEvent } from "portolan/client";
import { createServer } from "portolan/server";
import type { ActivityEntry, ActivityKind, Host, HostOptions, ServerEntry } from "portolan-host";
import { expect, test } from "vitest";
import { isAlive } from "../client/processes.ts";
import { revisions } from "../kit/revisions.ts";
import { inMemory, makeHost, nextEvent, textOf } from "./kit.ts";

const digits = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../client/fixtures/digits-server.mjs", import.meta.url))],
};

test("a call by the user sends its arguments as they were typed, and gets a result that breaks its schema", async () => {
  const host = await makeHost({ servers: { digits } });
  const problems: string[] = [];
  const result = await host.callTool("digits", "echo", undefined, {
    by: "user",
    argumentsText: '{"n": 12345678901234567890}',
    output: "report",
    onOutputProblems: (found) => problems.push(...found),
  });
  expect(result.structuredContent).toEqual({ n: 12345678901234567000 });
  expect(problems).toEqual([expect.stringContaining("structuredContent.n: ")]);
  await host.activity.flush();
  const args: unknown[] = [];
  for await (const entry of host.activity.query({ kinds: ["call"] })) args.push(entry["args"]);
  expect(args).toEqual([{ n: 12345678901234567000 }]);
});

test("arguments as text are refused for a model, whose call is asked about with the values that JavaScript reads", async () => {
  const host = await makeHost({ servers: { digits } });
  const call = host.callTool("digits", "echo", {}, { argumentsText: "{}" });
  await expect(call).rejects.toThrow('argumentsText: only for calls with `by: "user"`');
  const beside = host.callTool("digits", "echo", { a: 1 }, { by: "user", argumentsText: "{}" });
  await expect(beside).rejects.toThrow("argumentsText: expected no arguments beside it");
  const prompt = host.getPrompt("digits", "p", {}, { by: "user", argumentsText: "{}" });
  await expect(prompt).rejects.toMatchObject({ code: "invalid-argument" });
});

/** Keeps what a tap of a host hears. */
function listen() {
  const heard: { readonly server: string; readonly connection: string; readonly event: TapEvent }[] = [];
  const tap: HostOptions["tap"] = (server, connection, event) => heard.push({ server, connection, event });
  const messages = (connection: string) =>
    heard.flatMap((one) => (one.connection === connection && one.event.kind === "message" ? one.event : []));
  return { heard, tap, messages };
}

async function entriesOf(host: Host, kind: ActivityKind): Promise<ActivityEntry[]> {
  await host.activity.flush();
  const entries: ActivityEntry[] = [];
  for await (const entry of host.activity.query({ kinds: [kind] })) entries.push(entry);
  return entries;
}

test("the tap of a host hears the messages of a call under the id that its events have", async () => {
  const { tap, messages } = listen();
  const host = await makeHost({ servers: { digits }, tap });
  const events = host.events({ kinds: ["call"] });
  const argumentsText = '{"n": 12345678901234567890}';
  await host.callTool("digits", "echo", undefined, { by: "user", argumentsText, output: "report" });
  const { id } = await nextEvent(events, "call");
  const texts = messages("main").flatMap(({ call, text }) => (call === id ? text : []));
  expect(texts).toEqual([
    expect.stringContaining('"arguments":{"n": 12345678901234567890}'),
    expect.stringContaining('"structuredContent":{"n": 12345678901234567890}'),
  ]);
});

test("a user opens connections of their own, on other revisions and with other answers", async () => {
  const server = createServer({ name: "s", version: "1" }).tool("who", {
    run: (_, ctx) => JSON.stringify([ctx.protocolVersion, ctx.capabilities]),
  });
  const { tap, messages } = listen();
  const own: string[] = [];
  const host = await makeHost({ servers: { s: inMemory(server) }, tap });
  await host.start("s");
  const opened = await Promise.all(
    revisions.map((era) => host.open("s", { era, answers: {}, tap: ({ kind }) => own.push(kind) })),
  );
  for (const [index, { id, server, client }] of opened.entries()) {
    expect(server).toBe("s");
    expect(JSON.parse(textOf(await client.callTool("who", {}, { label: `call ${index}` })))).toEqual([
      ...[revisions[index], {}],
    ]);
    expect(messages(id).filter(({ call }) => call === `call ${index}`)).toHaveLength(2);
  }
  expect(new Set(opened.map(({ id }) => id)).size).toBe(5);
  expect(own).toContain("message");
  const before = messages("main").length;
  await opened[0]?.close();
  expect(messages("main")).toHaveLength(before);
  expect(host.servers[0]?.state).toBe("ready");
  expect((await entriesOf(host, "server")).filter(({ connection }) => connection === opened[0]?.id)).toMatchObject([
    { server: "s", state: "opened", version: "2024-11-05" },
    { server: "s", state: "closed" },
  ]);
  expect((await entriesOf(host, "call")).map(({ name, by, connection }) => ({ name, by, connection }))).toEqual(
    opened.map(({ id }) => ({ name: "who", by: "user", connection: id })),
  );
});

test("an opened connection to a command is a process of its own, which ends with the host", async () => {
  const host = await makeHost({ servers: { digits } });
  const { pid } = await host.start("digits");
  const opened = await host.open("digits", { era: "2025-06-18" });
  expect(opened.pid).not.toBe(pid);
  expect(isAlive(opened.pid ?? 0)).toBe(true);
  await host.close();
  await expect(opened.client.callTool("echo")).rejects.toMatchObject({ code: "connection-closed" });
  expect(isAlive(opened.pid ?? 0)).toBe(false);
  await expect(host.open("digits")).rejects.toThrow();
});

test("a host that closes waits for the processes of connections that are still being opened", async () => {
  const host = await makeHost({ servers: { digits } });
  await host.start("digits");
  const opened = await host.open("digits", { era: "2025-06-18" });
  const pids: (number | undefined)[] = [opened.pid];
  const opening = Array.from({ length: 3 }, () =>
    host.open("digits", { tap: () => {} }).then(
      ({ pid }) => pids.push(pid),
      () => {},
    ),
  );
  const closing = opened.close();
  await host.close();
  expect(pids.filter((pid) => isAlive(pid ?? 0))).toEqual([]);
  await Promise.all([closing, ...opening]);
});

test("an opened connection is answered by the host unless it brings its own answers", async () => {
  const server = createServer({ name: "s", version: "1" }).tool("ask", {
    async run(_, ctx) {
      const { action } = await ctx.elicit("a", { message: "A?", form: { type: "object", properties: {} } });
      return action;
    },
  });
  const asked: unknown[] = [];
  const host = await makeHost({
    servers: { s: inMemory(server) },
    answers: {
      elicit: ({ call }) => {
        asked.push(call);
        return { action: "accept", content: {} };
      },
    },
  });
  const { client } = await host.open("s");
  expect(textOf(await client.callTool("ask", {}, { label: "mine" }))).toBe("accept");
  expect(asked).toEqual(["mine"]);
  const other = await host.open("s", { answers: { elicit: () => ({ action: "decline" }) } });
  expect(textOf(await other.client.callTool("ask"))).toBe("decline");
  expect(asked).toEqual(["mine"]);
});

test("an opened connection needs the same trust, and ends with it", async () => {
  const entry: ServerEntry = {
    name: "digits",
    target: digits,
    configured: digits,
    settings: {},
    source: { kind: "file", file: "/x/.mcp.json", path: "mcpServers.digits", product: "claude-code", scope: "project" },
  };
  const verdicts = [{ allow: false }, { allow: true, for: "session" as const }];
  const host = await makeHost({ servers: [entry], answers: { trust: () => verdicts.shift() ?? false } });
  await expect(host.open("digits")).rejects.toMatchObject({ code: "server-unavailable" });
  await host.trust("digits", { allow: true, for: "session" });
  const { client } = await host.open("digits");
  await host.enable("digits", false);
  expect(await client.closed).toBeUndefined();
  await expect(host.open("digits")).rejects.toThrow("is disabled");
});

test("a server that is removed takes its opened connections along, and no more than 64 are open", async () => {
  const server = createServer({ name: "s", version: "1" }).tool("x", { run: () => "x" });
  const host = await makeHost({ servers: { s: inMemory(server), t: inMemory(server) } });
  const { client } = await host.open("t");
  await host.remove("t");
  await client.closed;
  const opening = await Promise.allSettled(Array.from({ length: 65 }, () => host.open("s")));
  const failed = opening.flatMap((one) => (one.status === "rejected" ? one.reason : []));
  expect(failed).toMatchObject([{ code: "limit-reached", message: expect.stringContaining("64 connections") }]);
});

test("unknown options, and a tap that is no function, are refused", async () => {
  const host = await makeHost({ servers: { digits } });
  await expect(host.open("digits", { revision: "2025-11-25" } as never)).rejects.toThrow("unknown option `revision`");
  await expect(host.open("digits", { tap: {} as never })).rejects.toThrow("open: tap: expected a function");
  await expect(host.open("nobody")).rejects.toThrow("There is no server");
  await expect(makeHost({ tap: {} as never })).rejects.toThrow("tap: expected a function");
});
