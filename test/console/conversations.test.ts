import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "portolan";
import { startConsole } from "portolan-console";
import type { Block, ConsoleEvent } from "portolan-console/api";
import { scriptedModel } from "portolan-host/models";
import { describe, expect, onTestFinished, test } from "vitest";
import { consoleOptions, makeFolder, newServer, oldServer, openConsole, refusalOf, Tab } from "./kit.ts";

/** Resolves with the head of the conversation once it is in this state. */
async function untilState(events: Awaited<ReturnType<Tab["events"]>>, id: string, state: string) {
  const event = await events.next("conversation", ({ conversation }) => {
    return conversation.id === id && conversation.state === state;
  });
  return event.conversation;
}

const addition = () =>
  scriptedModel([
    { think: "I add.", say: "Let me add. ", call: { name: "it__add", input: { a: 1, b: 2 } } },
    { say: "It is 3." },
  ]);

test.each([
  ["2024-11-05 over stdio", async () => oldServer],
  ["2026-07-28 over HTTP", newServer],
] as const)("a message becomes text, a call that asks, and an answer, on %s", async (_, serverOf) => {
  const folder = await makeFolder();
  const running = await openConsole({
    servers: { it: { ...(await serverOf()), trustHints: false } },
    model: addition(),
    folder,
  });
  const [one, two] = [await Tab.open(running), await Tab.open(running)];
  const [events, others] = [await one.events(), await two.events()];
  const { id } = await one.do("conversation.create", {});
  await one.do("conversation.send", { id, text: "What is 1 + 2?\nPlease." });
  const { question } = await others.next("question");
  expect(question).toMatchObject({ kind: "approve", conversation: id });
  await untilState(events, id, "waiting");
  const { call } = await events.ever("call", (event) => event.call.waitsFor === question.id);
  expect(call).toMatchObject({ by: "model", tool: "add", conversation: id, argumentsText: '{"a":1,"b":2}' });
  await two.do("answer", { id: question.id, digest: question.digest, answer: { allow: true, for: "session" } });
  const head = await untilState(events, id, "idle");
  expect(head).toMatchObject({ title: "What is 1 + 2?", model: "scripted" });
  const { blocks } = await one.do("conversation.blocks", { id });
  expect(blocks.map(({ kind }) => kind)).toEqual([
    ...["user", "notice", "thinking", "text", "call", "answered", "text"],
  ]);
  expect(blocks[4]).toMatchObject({ record: { end: { how: "done" } } });
  expect(blocks[5]).toMatchObject({ question: question.id });
  expect(blocks[6]).toMatchObject({ text: "It is 3." });
  expect(
    textFrom(
      others.all.map(({ event }) => event),
      "It is 3.",
    ),
  ).toBe(true);
  const text = await readFile(join(folder, "console", "conversations", `${id}.jsonl`), "utf8");
  expect(
    text
      .trimEnd()
      .split("\n")
      .every((line) => JSON.parse(line)),
  ).toBe(true);
});

/** True if the events alone, blocks and deltas, make a block with this text. */
function textFrom(events: readonly ConsoleEvent[], wanted: string): boolean {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.kind === "block" && (event.block.kind === "text" || event.block.kind === "thinking"))
      texts.set(event.block.id, event.block.text);
    if (event.kind !== "delta") continue;
    const before = texts.get(event.block) ?? "";
    expect(before).toHaveLength(event.from);
    texts.set(event.block, before + event.delta);
  }
  return [...texts.values()].includes(wanted);
}

test("servers of different eras take part in one conversation", async () => {
  const running = await openConsole({
    servers: { old: oldServer, new: await newServer() },
    model: scriptedModel([
      { call: { name: "old__add", input: { a: 1, b: 2 } } },
      { call: { name: "new__ask_name", input: {} } },
      { say: "Both have answered." },
    ]),
    policy: [{ then: "allow" }],
  });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Ask both" });
  // The text of one server may have caused the call of the other.
  const { question: consent } = await events.next("question");
  expect(consent).toMatchObject({ kind: "approve", server: "new", cautions: [{ from: ["old"] }] });
  await tab.do("answer", { id: consent.id, digest: consent.digest, answer: { allow: true } });
  const { question } = await events.next("question");
  expect(question).toMatchObject({ kind: "elicit", server: "new", conversation: id });
  const answer = { action: "accept", content: { name: "Ada" } };
  await tab.do("answer", { id: question.id, digest: question.digest, answer });
  await untilState(events, id, "idle");
  const { blocks } = await tab.do("conversation.blocks", { id });
  const ends = blocks.flatMap((block) => (block.kind === "call" ? [[block.record.server, block.record.end?.how]] : []));
  expect(ends).toEqual([
    ["old", "done"],
    ["new", "done"],
  ]);
  expect(blocks.at(-1)).toMatchObject({ text: "Both have answered." });
});

/** Kills the process of a server of the console. */
async function killServer(events: Awaited<ReturnType<Tab["events"]>>): Promise<void> {
  const { server } = await events.ever("server", (event) => event.server.pid !== undefined);
  process.kill(server.pid ?? 0, "SIGKILL");
}

describe.each([
  // The first revision has no forms: its server asks the model.
  ["2024-11-05", "ask_model"],
  ["2026-07-28", "ask_name"],
])("a server on %s that is killed", (era, asks) => {
  async function begin(tool: string, input: JsonObject) {
    const model = scriptedModel([{ call: { name: `it__${tool}`, input } }, { say: "That is all." }]);
    const running = await openConsole({
      servers: { it: { ...oldServer, era } },
      model,
      policy: [{ match: "it.add", then: "ask" }, { then: "allow" }],
    });
    const tab = await Tab.open(running);
    const events = await tab.events();
    const { id } = await tab.do("conversation.create", {});
    await tab.do("conversation.send", { id, text: "Do it" });
    const end = async () => {
      await untilState(events, id, "idle");
      const { blocks } = await tab.do("conversation.blocks", { id });
      expect(blocks.at(-1)).toMatchObject({ kind: "text", text: "That is all." });
      const call = blocks.find((block) => block.kind === "call");
      return call?.kind === "call" ? call.record : undefined;
    };
    return { tab, events, end, told: () => JSON.stringify(model.requests.at(-1)?.messages) };
  }

  test("while its call runs: the call may have run, the model is told so, and the conversation goes on", async () => {
    const { tab, events, end, told } = await begin("wait", { ms: 600_000 });
    await events.next("call", ({ call }) => call.tool === "wait");
    await events.ever("messages", ({ rows }) =>
      rows.some(({ title, kind }) => kind === "request" && title === "tools/call"),
    );
    await killServer(events);
    expect(await end()).toMatchObject({ end: { how: "unknown" } });
    expect(told()).toContain("It may have taken effect: check before you repeat it.");
    // The log has how the call ended: in the entry of the call, or in one of its own if the call took longer.
    const { rows } = await tab.do("activity", { limit: 500 });
    const ofCall = rows.filter(({ kind }) => kind === "call" || kind === "result");
    expect(ofCall.map(({ how }) => how)).toContain("failed");
  });

  test("while it is recorded: the recording says that the connection was lost, and goes on with the next one", async () => {
    const { tab, events, end } = await begin("wait", { ms: 600_000 });
    await events.next("call", ({ call }) => call.tool === "wait");
    await events.ever("messages", ({ rows }) => rows.some(({ title }) => title === "tools/call"));
    const { id } = await tab.do("recording.start", { server: "it" });
    await killServer(events);
    await end();
    await tab.do("server.start", { server: "it" });
    const { id: call } = await tab.do("call", { server: "it", tool: "echo", argumentsText: '{"message":"after"}' });
    await events.ever("call", (event) => event.call.id === call && event.call.end !== undefined);
    await tab.do("recording.stop", { id });
    const { text } = await tab.do("recording.export", { id });
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const lost = lines.findIndex(({ note }) => note?.link?.state === "lost");
    expect(lost).toBeGreaterThan(0);
    expect(JSON.stringify(lines.slice(lost))).toContain("after");
  });

  test("while its question is open: the question is withdrawn, and an answer to it counts for nothing", async () => {
    const { tab, events, end } = await begin(asks, {});
    const { question } = await events.next("question");
    await killServer(events);
    expect(await events.next("answered", ({ id }) => id === question.id)).toMatchObject({ how: "withdrawn" });
    const answer = question.kind === "elicit" ? { action: "accept", content: { name: "Ada" } } : { allow: true };
    const late = tab.do("answer", { id: question.id, digest: question.digest, answer });
    expect((await refusalOf(late)).error).toMatchObject({ code: "answered", how: "withdrawn" });
    expect((await end())?.end?.how).not.toBe("done");
  });

  test("while consent is open: nothing is sent before an answer, and the call is made once", async () => {
    const { tab, events, end } = await begin("add", { a: 1, b: 2 });
    const { question } = await events.next("question");
    await killServer(events);
    await events.next("server", ({ server }) => server.state !== "ready");
    const { questions } = await (await tab.events()).state();
    if (questions.some(({ id }) => id === question.id)) {
      await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: true } });
    }
    const record = await end();
    expect(record?.end).toBeDefined();
    const sent = events.all.flatMap(({ event }) =>
      event.kind === "messages"
        ? event.rows.filter(({ title, kind }) => kind === "request" && title === "tools/call")
        : [],
    );
    expect(sent.length).toBeLessThanOrEqual(1);
  });
});

test("a conversation that was closed is there again, and its next message follows the last", async () => {
  const folder = await makeFolder();
  const options = await consoleOptions({ servers: { it: oldServer }, model: scriptedModel([{ say: "One." }]), folder });
  const first = await startConsole(options);
  let tab = await Tab.open(first);
  let events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "First" });
  await untilState(events, id, "running");
  await untilState(events, id, "idle");
  const { blocks } = await tab.do("conversation.blocks", { id });
  await first.close();
  const model = scriptedModel([{ say: "Two." }]);
  const second = await startConsole({ ...options, models: [model] });
  onTestFinished(() => second.close());
  tab = await Tab.open(second);
  events = await tab.events();
  const state = await events.state();
  expect(state.conversations).toMatchObject([{ id, title: "First", state: "idle" }]);
  expect((await tab.do("conversation.blocks", { id })).blocks).toEqual(blocks);
  await tab.do("conversation.send", { id, text: "Second" });
  await untilState(events, id, "running");
  await untilState(events, id, "idle");
  expect(JSON.stringify(model.requests[0]?.messages)).toContain("One.");
  const after = (await tab.do("conversation.blocks", { id })).blocks;
  expect(after.slice(0, blocks.length)).toEqual(blocks);
  expect(new Set(after.map((block: Block) => block.id)).size).toBe(after.length);
});

test("a model that fails while it writes: the words so far are kept, the reason is said, and the next message follows", async () => {
  const model = scriptedModel([{ say: "Half an answer", fail: new Error("The quota is used up") }, { say: "Whole." }]);
  const tab = await Tab.open(await openConsole({ model }));
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Write" });
  await untilState(events, id, "failed");
  const { blocks } = await tab.do("conversation.blocks", { id });
  expect(blocks.slice(-2)).toMatchObject([
    { kind: "text", text: "Half an answer", isCut: true },
    { kind: "end", reason: "failed", message: expect.stringContaining("The quota is used up") },
  ]);
  await tab.do("conversation.send", { id, text: "Again" });
  await untilState(events, id, "idle");
  expect((await tab.do("conversation.blocks", { id })).blocks.at(-1)).toMatchObject({ kind: "text", text: "Whole." });
});

test("a message while the model works is refused, and cancelling ends its work", async () => {
  const model = scriptedModel([{ call: { name: "it__wait", input: { ms: 60_000 } } }]);
  const running = await openConsole({ servers: { it: oldServer }, model, policy: [{ match: "it.*", then: "allow" }] });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Wait" });
  await events.next("call", ({ call }) => call.tool === "wait");
  expect((await refusalOf(tab.do("conversation.send", { id, text: "More" }))).error.code).toBe("busy");
  await tab.do("conversation.cancel", { id });
  await untilState(events, id, "idle");
  const { blocks } = await tab.do("conversation.blocks", { id });
  expect(blocks.at(-1)).toMatchObject({ kind: "end", reason: "cancelled" });
  expect(blocks.find(({ kind }) => kind === "call")).toMatchObject({ record: { end: {} } });
});

test("a torn last line is dropped, and a file of a later version is left alone", async () => {
  const folder = await makeFolder();
  const errors: unknown[] = [];
  const options = await consoleOptions({ model: scriptedModel([]), folder, onError: (error) => errors.push(error) });
  const first = await startConsole(options);
  const { id } = await (await Tab.open(first)).do("conversation.create", {});
  await first.close();
  const files = join(folder, "console", "conversations");
  const file = join(files, `${id}.jsonl`);
  await writeFile(file, `${await readFile(file, "utf8")}{"set":{"title":"to`);
  const later = '{"conversation":2,"id":"later","at":1}\n';
  await writeFile(join(files, "later.jsonl"), later);
  const second = await startConsole(options);
  onTestFinished(() => second.close());
  const tab = await Tab.open(second);
  const state = await (await tab.events()).state();
  expect(state.conversations).toMatchObject([{ id, title: "" }]);
  expect(String(errors[0])).toContain("later.jsonl is not shown");
  await tab.do("conversation.change", { id, title: "Named" });
  expect((await readFile(file, "utf8")).split("\n").at(-2)).toContain("Named");
  expect(await readFile(join(files, "later.jsonl"), "utf8")).toBe(later);
  await tab.do("conversation.remove", { id });
  expect(await readdir(files)).toEqual(["later.jsonl"]);
});

test("a conversation that is removed while the model works leaves nothing behind", async () => {
  const folder = await makeFolder();
  const model = scriptedModel([{ say: "Wait. ", call: { name: "it__wait", input: { ms: 60_000 } } }]);
  const policy = [{ match: "it.*", then: "allow" as const }];
  const tab = await Tab.open(await openConsole({ servers: { it: oldServer }, model, policy, folder }));
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Wait" });
  const { call } = await events.next("call", (event) => event.call.tool === "wait");
  await tab.do("conversation.remove", { id });
  await events.ever("conversation-gone", (event) => event.id === id);
  await events.ever("call", (event) => event.call.id === call.id && event.call.end !== undefined);
  expect((await refusalOf(tab.do("conversation.blocks", { id }))).error.code).toBe("not-found");
  expect(await readdir(join(folder, "console", "conversations"))).toEqual([]);
  const state = await (await tab.events()).state();
  expect(state.conversations).toEqual([]);
  const gone = events.all.findIndex(({ event }) => event.kind === "conversation-gone");
  const after = events.all.slice(gone + 1).map(({ event }) => event.kind);
  expect(after.filter((kind) => kind === "conversation" || kind === "block" || kind === "delta")).toEqual([]);
});

test("one call is cancelled as soon as it is shown, and the model hears of it", async () => {
  const model = scriptedModel([{ call: { name: "it__wait", input: { ms: 60_000 } } }, { say: "It was cancelled." }]);
  const policy = [{ match: "it.*", then: "allow" as const }];
  const tab = await Tab.open(await openConsole({ servers: { it: oldServer }, model, policy }));
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Wait" });
  const { call } = await events.next("call", (event) => event.call.tool === "wait");
  await tab.do("cancel", { call: call.id });
  const { call: ended } = await events.next(
    "call",
    (event) => event.call.id === call.id && event.call.end !== undefined,
  );
  expect(ended.end?.how).toBe("cancelled");
  await untilState(events, id, "idle");
  const { blocks } = await tab.do("conversation.blocks", { id });
  expect(blocks.at(-1)).toMatchObject({ kind: "text", text: "It was cancelled." });
});

test("a call that waits for consent is cancelled with its question", async () => {
  const model = scriptedModel([{ call: { name: "it__echo", input: { message: "x" } } }, { say: "No." }]);
  const servers = { it: { ...oldServer, trustHints: false } };
  const tab = await Tab.open(await openConsole({ servers, model }));
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Echo" });
  const { call } = await events.next("call", (event) => event.call.waitsFor !== undefined);
  await tab.do("cancel", { call: call.id });
  const { question } = await events.ever("question");
  expect(await events.ever("answered")).toMatchObject({ id: question.id, how: "withdrawn" });
  const { call: ended } = await events.ever(
    "call",
    (event) => event.call.id === call.id && event.call.end !== undefined,
  );
  expect(ended.end?.how).toBe("cancelled");
  await untilState(events, id, "idle");
});
