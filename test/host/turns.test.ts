import { createServer } from "portolan/server";
import type { ApprovalQuestion, RunEvent, RunState } from "portolan-host";
import type { Model, ModelEvent } from "portolan-host/models";
import { expect, test } from "vitest";
import { allow, createModel, greeter, initializeResult, inMemory, makeHost, rawServer } from "./kit.ts";

const asJson = (state: RunState): RunState => JSON.parse(JSON.stringify(state));

/** Creates a model that yields the given events in every turn. */
function modelWith(events: ModelEvent[], more: Partial<Model> = {}): Model {
  return {
    id: "m",
    capabilities: { tools: true, images: false },
    async *stream() {
      yield* events;
      if (events.at(-1)?.type !== "end") yield { type: "end", stopReason: "endTurn", model: "m" };
    },
    ...more,
  };
}

test.each([
  ["endTurn", "done"],
  ["stopSequence", "done"],
  ["maxTokens", "max-tokens"],
  ["refusal", "refusal"],
])("the stop reason %s of a model ends the run with the reason %s", async (stopReason, reason) => {
  const host = await makeHost({ model: modelWith([{ type: "end", stopReason, model: "m" }]) });
  expect((await host.run("go").result).reason).toBe(reason);
});

test("the context limit includes maxTokens for the answer", async () => {
  const model = createModel({ say: "short" }, { say: "never" });
  const host = await makeHost({ model });
  const words = "word ".repeat(2_200);
  expect((await host.run(words, { contextTokens: 4_000, maxTokens: 100 }).result).reason).toBe("done");
  expect((await host.run(words, { contextTokens: 4_000, maxTokens: 1_500 }).result).reason).toBe("context");
  expect(model.asked).toHaveLength(1);
});

test("the notice of a model is the first event of a run", async () => {
  const model = modelWith([{ type: "text", delta: "hello" }], { notice: "it only pretends" });
  const host = await makeHost({ model });
  const events: RunEvent[] = [];
  for await (const event of host.run("go")) events.push(event);
  expect(events[0]).toEqual({ type: "notice", text: "m: it only pretends" });
  expect(events.at(-1)).toMatchObject({ reason: "done", text: "hello" });
});

test("a model without tool support gets no tools", async () => {
  const model = createModel({ say: "hello" });
  const withoutTools = { ...model, capabilities: { ...model.capabilities, tools: false } };
  const host = await makeHost({ model: withoutTools, servers: { s: inMemory(greeter()) } });
  await host.run("go").result;
  expect(model.asked[0]?.tools).toEqual([]);
});

test("a read-only call starts after an earlier writing call has ended", async () => {
  const seen: string[] = [];
  const act = (name: string) => async () => {
    seen.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(`${name} ends`);
    return name;
  };
  const server = createServer({ name: "s", version: "1.0.0" })
    .tool("read", { annotations: { readOnlyHint: true, openWorldHint: false }, run: act("read") })
    .tool("write", { run: act("write") });
  const model = createModel({
    call: [
      ["s__write", {}],
      ["s__read", {}],
    ],
  });
  const host = await makeHost({ servers: { s: inMemory(server, { trustContent: true }) }, model, policy: allow });
  await host.run("go").result;
  expect(seen).toEqual(["write begins", "write ends", "read begins", "read ends"]);
});

test("a continued run keeps long results and the tools that were found", async () => {
  let many = createServer({ name: "many", version: "1.0.0" })
    .tool("long", { description: "Says much", run: () => "word ".repeat(2_000) })
    .tool("bake", { description: "Bakes a cake in the oven", run: () => "a cake" });
  for (let at = 0; at < 300; at += 1)
    many = many.tool(`t${at}`, { description: `Does ${at} with care`, run: () => "" });
  const servers = { many: inMemory(many, { trustContent: true }) };
  const policy = [{ match: "*.long", then: "allow" as const }];
  const options = { approvals: "pause" as const, maxResultChars: 500, contextTokens: 8_000 };
  const host = await makeHost({ servers, policy });
  const first = createModel(
    {
      call: [
        ["find_tools", { query: "bake a cake" }],
        ["many__long", {}],
      ],
    },
    { call: [["many__bake", {}]] },
  );
  const { state, reason } = await host.run("go", { ...options, model: first }).result;
  expect(reason).toBe("approval");

  const later = await makeHost({ servers, policy });
  const second = createModel({ call: [["read_more", { name: "result-1", from: 0 }]] }, { say: "read" });
  const decisions = { [state.pending[0]?.id ?? ""]: true };
  await later.run(asJson(state), { ...options, model: second, decisions }).result;
  expect(second.asked[0]?.tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(["many__bake", "read_more"]));
  expect(JSON.stringify(second.asked[1]?.messages.at(-1))).toContain("Characters 0 to 10000 of 10000");
});

test("read_more returns at most 10000 characters, and reports an unknown name", async () => {
  const server = createServer({ name: "s", version: "1.0.0" }).tool("long", { run: () => "x".repeat(50_000) });
  const read = (input: object): [string, object] => ["read_more", input];
  const model = createModel(
    { call: [["s__long", {}]] },
    {
      call: [
        read({ name: "result-1", from: 45_000 }),
        read({ name: "result-1", from: -5 }),
        read({ name: "result-9", from: 0 }),
      ],
    },
    { say: "read" },
  );
  const host = await makeHost({ servers: { s: inMemory(server, { trustContent: true }) }, model, policy: allow });
  await host.run("go").result;
  const answers = JSON.stringify(model.asked[2]?.messages.at(-1));
  expect(answers).toContain("Characters 45000 to 50000 of 50000");
  expect(answers).toContain("Characters 0 to 10000 of 50000");
  expect(answers).toContain("There is no result");
});

test("resources of an earlier run count as part of the conversation", async () => {
  const data = createServer({ name: "data", version: "1.0.0" }).resource("data://a", { name: "a", read: () => "a" });
  const asked: ApprovalQuestion[] = [];
  const host = await makeHost({
    servers: { data: inMemory(data, { trustContent: true }), s: inMemory(greeter(), { trustContent: true }) },
    policy: allow,
    answers: { approve: (question) => asked.push(question) > 0 },
  });
  const attach = [{ server: "data", uri: "data://a" }];
  const first = await host.run("look", { model: createModel({ say: "I see" }), attach }).result;
  await host.run("go", { model: createModel({ call: [["s__greet", {}]] }), history: first.state }).result;
  expect(asked.map(({ cautions }) => cautions)).toEqual([[{ kind: "data-flow", from: ["data"] }]]);
});

test("hidden characters in labels and instructions are escaped for the model", async () => {
  const tool = "read\u202e";
  const uri = "note://a\u200b";
  const server = rawServer((method) => {
    if (method === "initialize") {
      return { ...initializeResult, capabilities: { tools: {}, resources: {} }, instructions: "Read\u{e0041} first" };
    }
    if (method === "tools/list") return { tools: [{ name: tool, inputSchema: { type: "object" } }] };
    if (method === "resources/list") return { resources: [{ uri, name: "a" }] };
    if (method === "resources/templates/list") return { resourceTemplates: [] };
    if (method === "resources/read") return { contents: [{ uri, text: "a" }] };
    return { content: [{ type: "text", text: "read" }] };
  });
  const host = await makeHost({ servers: { s: server }, policy: allow, answers: { approve: () => true } });
  await host.ready();
  const name = host.catalog.tool("s", tool)?.modelName ?? "";
  const model = createModel(
    {
      call: [
        [name, {}],
        ["read_resource", { server: "s", uri }],
      ],
    },
    { say: "ok" },
  );
  await host.run("go", { model }).result;
  expect(model.asked[0]?.system).toContain(String.raw`Read\u{e0041} first`);
  const answers = JSON.stringify(model.asked[1]?.messages.at(-1));
  expect(answers).toContain(String.raw`Data from tool read\\u{202e} of server`);
  expect(answers).toContain(String.raw`Resource note://a\\u{200b} of server`);
});

test("a schema for the model has escaped hidden characters, limited depth and limited length", async () => {
  let deep: object = { type: "string", description: "the end" };
  for (let at = 0; at < 100; at += 1) deep = { type: "object", properties: { a: deep } };
  const properties = { deep, flat: { type: "string", description: "a\u202eb", title: "x".repeat(5_000) } };
  const tools = [{ name: "t", description: "y".repeat(10_000), inputSchema: { type: "object", properties } }];
  const server = rawServer((method) => (method === "initialize" ? initializeResult : { tools }));
  const model = createModel({ say: "ok" });
  const host = await makeHost({ servers: { s: server }, model });
  await host.run("go").result;
  const [tool] = model.asked[0]?.tools ?? [];
  const shown = JSON.stringify(tool);
  expect(tool?.description?.length).toBeLessThan(4_100);
  expect(shown).toContain(String.raw`a\\u{202e}b`);
  expect(shown).not.toContain("the end");
  expect(shown).not.toContain("x".repeat(1_001));
});

test("toString is an ordinary tool name and call id", async () => {
  const host = await makeHost({ servers: { s: inMemory(greeter()) } });
  const unknown = createModel({ call: [["toString", {}]] }, { say: "no" });
  await host.run("go", { model: unknown }).result;
  expect(JSON.stringify(unknown.asked[1]?.messages.at(-1))).toContain("There is no tool");
  const odd = createModel({ raw: [{ type: "tool", id: "toString", name: "s__greet", input: {} }] });
  expect((await host.run("go", { model: odd, approvals: "pause" }).result).reason).toBe("approval");
});

test("the result of a denied call tells the model not to try again", async () => {
  const model = createModel({ call: [["s__greet", {}]] }, { say: "no" });
  const host = await makeHost({ servers: { s: inMemory(greeter()) }, model, policy: [{ then: "deny" }] });
  await host.run("go").result;
  expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toContain("Do not try it again unless the user asks for it");
});

test("find_tools returns only tools of the run's servers", async () => {
  let many = createServer({ name: "many", version: "1.0.0" });
  for (let at = 0; at < 300; at += 1) many = many.tool(`t${at}`, { description: `Bakes ${at} cakes`, run: () => "" });
  const model = createModel({ call: [["find_tools", { query: "bakes cakes" }]] }, { say: "ok" });
  const host = await makeHost({ servers: { a: inMemory(many), b: inMemory(many) }, model, policy: allow });
  await host.ready();
  await host.run("go", { servers: ["b"], contextTokens: 8_000 }).result;
  const found = JSON.stringify(model.asked[1]?.messages.at(-1));
  expect(found).toContain("b__t");
  expect(found).not.toContain("a__t");
});

test("a signal that is aborted before or during a run cancels it", async () => {
  const host = await makeHost({ servers: { s: inMemory(greeter()) } });
  const early = host.run("go", { model: createModel(), signal: AbortSignal.abort(new Error("too late")) });
  expect(await early.result).toMatchObject({ reason: "cancelled", error: { message: "too late" } });
  const stop = new AbortController();
  const waiting = createModel(() => {
    stop.abort(new Error("enough"));
    return { say: "on and on" };
  });
  const later = host.run("go", { model: waiting, signal: stop.signal });
  expect(await later.result).toMatchObject({ reason: "cancelled", error: { message: "enough" } });
});

test("a run limited to some servers has only their instructions, resources and tools", async () => {
  const server = (word: string) =>
    inMemory(greeter({ instructions: `Use ${word}.` }).resource(`note://${word}`, { name: word, read: () => word }));
  const model = createModel(
    {
      call: [
        ["find_resources", { query: "" }],
        ["b__greet", {}],
      ],
    },
    { say: "ok" },
  );
  const host = await makeHost({ servers: { a: server("first"), b: server("second") }, model, policy: allow });
  await host.ready();
  await host.run("go", { servers: ["a"] }).result;
  expect(model.asked[0]?.system).toContain("Use first.");
  expect(model.asked[0]?.system).not.toContain("Use second.");
  expect(model.asked[0]?.tools?.map(({ name }) => name)).not.toContain("b__greet");
  const answers = JSON.stringify(model.asked[1]?.messages.at(-1));
  expect(answers).toContain("note://first");
  expect(answers).not.toContain("note://second");
  expect(answers).toContain("There is no tool");
});
