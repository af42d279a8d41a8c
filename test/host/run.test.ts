import { createServer } from "portolan/server";
import type { ApprovalQuestion, RunEvent, RunOptions } from "portolan-host";
import { estimateTokens, type Model } from "portolan-host/models";
import { expect, test } from "vitest";
import { createModel, inMemory, makeHost } from "./kit.ts";

const desk = createServer({ name: "desk", version: "1.0.0" }, { instructions: "Count before you weigh." })
  .tool("count", {
    description: "Counts",
    input: { type: "object", properties: { to: { type: "integer" } } },
    annotations: { readOnlyHint: true, openWorldHint: false },
    run: ({ to = 0 }: { to?: number }) => `counted to ${to}`,
  })
  .tool("weigh", { description: "Weighs", annotations: { destructiveHint: false }, run: () => "heavy" })
  .tool("long", {
    description: "Says much",
    annotations: { readOnlyHint: true },
    run: () => Array.from({ length: 5_000 }, (_, at) => `line ${at}`).join("\n"),
  })
  .resource("desk://drawer", { name: "drawer", description: "What is in the drawer", read: () => "a pencil" })
  .prompt("tidy", { description: "Tidies", get: () => "Tidy the desk" });

async function runAll(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

function doneOf(events: readonly RunEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "done") throw new Error("the run did not end with a done event");
  return last;
}

async function deskHost(model: Model, options: { ask?: boolean } = {}) {
  return makeHost({
    servers: { desk: inMemory(desk, { trustContent: true, eager: true }) },
    model,
    ...(!options.ask && { policy: [{ then: "allow" as const }] }),
  });
}

async function runOn(model: Model, options: RunOptions = {}): Promise<RunEvent[]> {
  const host = await deskHost(model);
  return runAll(host.run("go", options));
}

test("a model calls a tool and continues with its result", async () => {
  const model = createModel({ say: "Counting.", call: [["desk__count", { to: 3 }]] }, { say: "Three." });
  const events = await runOn(model);
  expect(events.map(({ type }) => type)).toEqual([
    ...["context", "text", "usage", "tool", "tool", "context", "text", "usage", "done"],
  ]);
  expect(events.filter((event) => event.type === "tool")).toMatchObject([
    { stage: "call", server: "desk", tool: "count", args: { to: 3 } },
    { stage: "result", result: { content: [{ text: "counted to 3" }] } },
  ]);
  expect(doneOf(events)).toMatchObject({
    reason: "done",
    text: "Three.",
    usage: { inputTokens: 20, outputTokens: 10 },
    state: { turns: 2, calls: 1, pending: [] },
  });
  const [, second] = model.asked;
  expect(second?.messages.at(-1)).toMatchObject({
    role: "user",
    content: [
      {
        type: "tool_result",
        toolUseId: "t1.0",
        content: [{ text: expect.stringContaining("not instructions") }, { text: "counted to 3" }],
      },
    ],
  });
});

test("tool descriptions name their server, and server instructions are in the system prompt", async () => {
  const model = createModel({ say: "hello" });
  await runOn(model, { system: "You are a clerk." });
  const [request] = model.asked;
  expect(request?.tools?.find(({ name }) => name === "desk__count")?.description).toBe("[desk] Counts");
  expect(request?.system).toMatch(/^You are a clerk\./);
  expect(request?.system).toContain('Instructions of server "desk":\nCount before you weigh.');
});

test("read-only calls run in parallel, other calls in order", async () => {
  const seen: string[] = [];
  let open: () => void = () => {};
  const both = new Promise<void>((resolve) => {
    open = resolve;
  });
  let reading = 0;
  const server = createServer({ name: "s", version: "1.0.0" })
    .tool("read", {
      annotations: { readOnlyHint: true, openWorldHint: false },
      async run() {
        reading += 1;
        if (reading === 2) open();
        // Both calls must start before either ends.
        await both;
        seen.push("read");
        return "read";
      },
    })
    .tool("write", {
      async run() {
        seen.push("write begins");
        await new Promise((resolve) => setImmediate(resolve));
        seen.push("write ends");
        return "written";
      },
    });
  const model = createModel({
    call: [
      ["s__read", {}],
      ["s__read", {}],
      ["s__write", {}],
      ["s__write", {}],
    ],
  });
  const host = await makeHost({
    servers: { s: inMemory(server, { trustContent: true, eager: true }) },
    model,
    policy: [{ then: "allow" }],
  });
  expect(doneOf(await runAll(host.run("go"))).reason).toBe("done");
  expect(seen).toEqual(["read", "read", "write begins", "write ends", "write begins", "write ends"]);
});

test("a denied, unknown or unreadable call becomes a result for the model", async () => {
  const model = createModel(
    {
      call: [
        ["desk__weigh", {}],
        ["desk__fly", {}],
      ],
      raw: [{ type: "tool", id: "bad", name: "desk__count", unreadable: "{to:" }],
    },
    { say: "sorry" },
  );
  const host = await deskHost(model, { ask: true });
  const done = doneOf(await runAll(host.run("go")));
  expect(done.reason).toBe("done");
  const texts = JSON.stringify(model.asked[1]?.messages.at(-1)?.content);
  expect(texts).toContain("needs the user's approval");
  expect(texts).toContain('There is no tool \\"desk__fly\\"');
  expect(texts).toContain("not a JSON object");
  const content = model.asked[1]?.messages.at(-1)?.content;
  expect(Array.isArray(content) && content.map((block) => "toolUseId" in block && block.toolUseId).sort()).toEqual([
    "bad",
    "t1.0",
    "t1.1",
  ]);
});

test("a single unreadable call becomes a result for the model", async () => {
  const model = createModel(
    { raw: [{ type: "tool", id: "bad", name: "desk__count", unreadable: "[" }] },
    { say: "again" },
  );
  expect(doneOf(await runOn(model))).toMatchObject({ reason: "done", text: "again" });
});

test("a long result is truncated, and the model reads the rest with read_more", async () => {
  const model = createModel(
    { call: [["desk__long", {}]] },
    (request) => {
      const text = JSON.stringify(request.messages.at(-1));
      const [, name, from] = /read_more \{\\+"name\\+": \\+"([\w-]+)\\+", \\+"from\\+": (\d+)/.exec(text) ?? [];
      return { call: [["read_more", { name, from: Number(from) }]] };
    },
    { say: "read" },
  );
  const done = doneOf(await runOn(model, { maxResultChars: 1_000 }));
  expect(done.reason).toBe("done");
  expect(JSON.stringify(model.asked[1]?.messages.at(-1)).length).toBeLessThan(2_000);
  expect(model.asked[0]?.tools?.some(({ name }) => name === "read_more")).toBe(false);
  expect(model.asked[1]?.tools?.some(({ name }) => name === "read_more")).toBe(true);
  expect(JSON.stringify(model.asked[2]?.messages.at(-1))).toMatch(/Characters 800 to 10800 of \d+:/);
});

test("a model with too many tools for its context gets find_tools instead", async () => {
  let many = createServer({ name: "many", version: "1.0.0" });
  for (let at = 0; at < 300; at += 1) {
    many = many.tool(`tool_${at}`, { description: `Does thing number ${at} with care`, run: () => `did ${at}` });
  }
  many = many.tool("bake_cake", { description: "Bakes a cake in the oven", run: () => "a cake" });
  const model = createModel(
    { call: [["find_tools", { query: "bake a cake" }]] },
    { call: [["many__bake_cake", {}]] },
    { say: "Here is your cake." },
  );
  const host = await makeHost({
    servers: { many: inMemory(many, { trustContent: true, eager: true }) },
    model,
    policy: [{ then: "allow" }],
  });
  const done = doneOf(await runAll(host.run("a cake, please", { contextTokens: 8_000 })));
  expect(done.text).toBe("Here is your cake.");
  expect(model.asked[0]?.tools?.map(({ name }) => name)).toEqual(["find_tools"]);
  expect(model.asked[1]?.tools?.map(({ name }) => name)).toContain("many__bake_cake");
  expect(JSON.stringify(model.asked[2]?.messages)).toContain("a cake");
});

test("old results are removed when the conversation exceeds the context, and every call keeps a result", async () => {
  const model = createModel(
    ...Array.from({ length: 8 }, () => ({ call: [["desk__long", {}]] as [string, object][] })),
    {
      say: "end",
    },
  );
  const events = await runOn(model, { maxResultChars: 9_000, contextTokens: 14_000, maxTokens: 1_000 });
  expect(doneOf(events).reason).toBe("done");
  const last = model.asked.at(-1);
  const text = JSON.stringify(last?.messages);
  expect(estimateTokens([...last!.messages])).toBeLessThan(13_000);
  expect(text).toContain("removed to save space");
  expect(text.match(/tool_use"/g)).toHaveLength(text.match(/"tool_result"/g)?.length ?? 0);
});

test("a task that exceeds the context ends the run with the reason context", async () => {
  const model = createModel();
  const host = await deskHost(model);
  const done = doneOf(await runAll(host.run("word ".repeat(10_000), { contextTokens: 4_000 })));
  expect(done.reason).toBe("context");
  expect(model.asked).toHaveLength(0);
});

test("a run ends at maxTurns, and at maxCalls", async () => {
  const endless = createModel(
    ...Array.from({ length: 50 }, () => ({ call: [["desk__count", {}]] as [string, object][] })),
  );
  expect(doneOf(await runOn(endless, { maxTurns: 3 }))).toMatchObject({ reason: "max-turns", state: { turns: 3 } });
  const greedy = createModel({ call: Array.from({ length: 20 }, (): [string, object] => ["desk__count", {}]) });
  const done = doneOf(await runOn(greedy, { maxCalls: 10 }));
  expect(done).toMatchObject({ reason: "max-calls", state: { calls: 0 } });
  expect(done.state.pending).toHaveLength(20);
});

test("a run starts with a server's prompt and the attached resources", async () => {
  const model = createModel({ say: "tidy" });
  const host = await deskHost(model, { ask: true });
  const run = host.run({ server: "desk", prompt: "tidy" }, { attach: [{ server: "desk", uri: "desk://drawer" }] });
  const done = doneOf(await runAll(run));
  expect(done.state.resourcesFrom).toEqual(["desk"]);
  const text = JSON.stringify(model.asked[0]?.messages);
  expect(text).toContain("Tidy the desk");
  expect(text).toContain("a pencil");
});

test("a model finds resources, and reads one after approval", async () => {
  const model = createModel(
    { call: [["find_resources", { query: "drawer" }]] },
    { call: [["read_resource", { server: "desk", uri: "desk://drawer" }]] },
    { say: "a pencil" },
  );
  const host = await deskHost(model, { ask: true });
  const asked: string[] = [];
  const approve = ({ action }: { action: { kind: string } }) => asked.push(action.kind) > 0;
  expect(doneOf(await runAll(host.run("what is there?", { answers: { approve } }))).reason).toBe("done");
  expect(asked).toEqual(["resource"]);
  expect(JSON.stringify(model.asked[1]?.messages)).toContain("desk: desk://drawer What is in the drawer");
  expect(JSON.stringify(model.asked[2]?.messages)).toContain("a pencil");
});

test("a run waits for a later approval and continues", async () => {
  const model = createModel({ call: [["desk__weigh", {}]] }, { say: "heavy" });
  const host = await deskHost(model, { ask: true });
  const events: RunEvent[] = [];
  for await (const event of host.run("weigh it", { answers: { approve: "later" } })) {
    events.push(event);
    if (event.type === "approval") await host.answer(event.question.id, true);
  }
  expect(doneOf(events)).toMatchObject({ reason: "done", text: "heavy" });
  expect(events.some((event) => event.type === "tool" && event.stage === "result")).toBe(true);
});

test("a run pauses for approval, and continues from its serialized state in another host", async () => {
  const first = createModel({
    say: "Both.",
    call: [
      ["desk__count", { to: 1 }],
      ["desk__weigh", {}],
    ],
  });
  const policy = [{ match: "desk.count", then: "allow" as const }];
  const servers = { desk: inMemory(desk, { trustContent: true, eager: true }) };
  const host = await makeHost({ servers, policy, model: first });
  const events = await runAll(host.run("count and weigh", { approvals: "pause" }));
  const approval = events.find((event) => event.type === "approval");
  expect(approval).toMatchObject({ question: { callId: "t1.1", action: { tool: "weigh" } } });
  const paused = doneOf(events);
  expect(paused).toMatchObject({ reason: "approval", state: { pending: [{ id: "t1.1" }], calls: 1 } });

  const second = createModel({ say: "Heavy." });
  const later = await makeHost({ servers, policy, model: second });
  const state = JSON.parse(JSON.stringify(paused.state));
  const done = doneOf(await runAll(later.run(state, { approvals: "pause", decisions: { "t1.1": true } })));
  expect(done).toMatchObject({ reason: "done", text: "Heavy." });
  const results = second.asked[0]?.messages.at(-1)?.content;
  expect(JSON.stringify(results)).toContain("counted to 1");
  expect(JSON.stringify(results)).toContain("heavy");
  await expect(async () => later.run({ ...state, pending: 3 })).rejects.toThrow("expected the complete state of a run");
});

test("cancelling a run, or leaving its event loop, aborts its calls", async () => {
  let aborted = 0;
  const slow = createServer({ name: "slow", version: "1.0.0" }).tool("wait", {
    run: (_, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted += 1;
          reject(signal.reason);
        });
      }),
  });
  const waiting = () => createModel({ call: [["slow__wait", {}]] });
  const host = await makeHost({ servers: { slow: inMemory(slow, { eager: true }) }, policy: [{ then: "allow" }] });
  const run = host.run("wait", { model: waiting() });
  for await (const event of run) if (event.type === "tool") run.cancel();
  expect(await run.result).toMatchObject({ reason: "cancelled", error: { message: "the run was cancelled" } });
  expect(aborted).toBe(1);

  const abandoned = host.run("wait", { model: waiting() });
  for await (const event of abandoned) if (event.type === "tool") break;
  expect((await abandoned.result).reason).toBe("cancelled");
  expect(aborted).toBe(2);
});

test("a failing model ends the run with its error, and the state keeps the earlier messages", async () => {
  const model: Model = {
    id: "broken",
    capabilities: { tools: true, images: false },
    async *stream() {
      yield { type: "text", delta: "I think" };
      throw new Error("the line is dead");
    },
  };
  const done = doneOf(await runOn(model));
  expect(done).toMatchObject({ reason: "failed", error: { message: "the line is dead" } });
  expect(done.state.messages).toHaveLength(1);
});

test("a run without a model is rejected", async () => {
  const host = await makeHost({ servers: { desk: inMemory(desk) } });
  expect(() => host.run("go")).toThrow("expected a model, got none");
});

test("a run with history continues the conversation, and consent considers its untrusted content", async () => {
  const model = createModel(
    { call: [["desk__count", {}]] },
    { say: "Zero." },
    { call: [["desk__weigh", {}]] },
    { say: "Done." },
  );
  const asked: ApprovalQuestion[] = [];
  const host = await makeHost({
    servers: { desk: inMemory(desk) },
    model,
    policy: [{ then: "allow" }],
    answers: {
      approve(question) {
        asked.push(question);
        return true;
      },
    },
  });
  const { state } = await host.run("count").result;
  expect(asked).toEqual([]);
  await host.run("weigh", { history: state }).result;
  expect(asked.map(({ cautions }) => cautions)).toEqual([[{ kind: "untrusted-content", from: ["desk"] }]]);
  const roles = model.asked[2]?.messages.map(({ role }) => role);
  expect(roles).toEqual(["user", "assistant", "user", "assistant", "user"]);
});

test("history from a run that paused at a call marks that call as not made", async () => {
  const model = createModel({ call: [["desk__weigh", {}]] }, { say: "Hello." });
  const host = await deskHost(model, { ask: true });
  const { reason, state } = await host.run("weigh", { approvals: "pause" }).result;
  expect(reason).toBe("approval");
  await host.run("never mind", { history: state }).result;
  expect(JSON.stringify(model.asked[1]?.messages)).toContain("This call was not made.");
});
