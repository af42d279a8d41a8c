import { createServer } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import {
  createHost,
  type FormQuestion,
  memorySink,
  openActivity,
  type RunApproval,
  type SamplingRequestQuestion,
} from "portolan-host";
import { type Model, type ModelEvent, scriptedModel } from "portolan-host/models";
import { expect, test } from "vitest";
import {
  activityEntries,
  allow,
  createModel,
  greeter,
  initializeResult,
  inMemory,
  makeHost,
  nextEvent,
  rawServer,
} from "./kit.ts";

/** Creates a server that asks its client for a form and for a model. */
function asker() {
  return createServer({ name: "asker", version: "1.0.0" })
    .tool("form", {
      description: "Asks for a number",
      async run(_, ctx) {
        const answer = await ctx.elicit("n", {
          message: "How many?",
          form: { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] },
        });
        return JSON.stringify(answer);
      },
    })
    .tool("sample", {
      description: "Asks a model",
      async run(_, ctx) {
        const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Say something" } }];
        const { content } = await ctx.sample("s", { messages, maxTokens: 900 });
        return JSON.stringify(content);
      },
    });
}

test("an answer that does not fit its form is rejected, and the question stays open", async () => {
  const host = await makeHost({
    servers: { a: inMemory(asker()) },
    policy: allow,
    answers: { elicit: "later" },
  });
  const events = host.events({ kinds: ["question"] });
  const calling = host.callTool("a", "form");
  const { question } = await nextEvent(events, "question");
  expect((question as FormQuestion).params.message).toBe("How many?");
  await expect(host.answer(question.id, { action: "accept", content: { n: "many" } })).rejects.toMatchObject({
    code: "answer-invalid",
    message: expect.stringContaining("n: "),
  });
  expect(host.questions.map(({ id }) => id)).toEqual([question.id]);
  await host.answer(question.id, { action: "accept", content: { n: 3 } });
  expect(JSON.stringify(await calling)).toContain("3");
});

test("the first of two answers to a question wins, and the second is rejected", async () => {
  const host = await makeHost({ servers: { a: inMemory(asker()) }, policy: allow, answers: { elicit: "later" } });
  const events = host.events({ kinds: ["question"] });
  const calling = host.callTool("a", "form");
  const { question } = await nextEvent(events, "question");
  const answers = [1, 2].map((n) => host.answer(question.id, { action: "accept", content: { n } }));
  const outcomes = await Promise.allSettled(answers);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(JSON.stringify(await calling)).toContain("1");
});

test("a host that is closing rejects an answer", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["question"] });
  const calling = host.callTool("g", "greet").catch((error: Error) => error.message);
  const { question } = await nextEvent(events, "question");
  const closing = host.close();
  await expect(host.answer(question.id, true)).rejects.toThrow("no question");
  await closing;
  expect(await calling).toContain("closed");
});

test.each([
  ["an unknown word", { approve: "wait" }, 'answers.approve: expected a function or "later", got "wait"'],
  ["a boolean", { elicit: true }, 'answers.elicit: expected a function or "later", got boolean true'],
  [
    "an unknown kind of question",
    { aprove: () => true },
    "answers.aprove: unknown kind of question; expected one of trust, approve",
  ],
])("%s is rejected as an answerer", async (_, answers, message) => {
  await expect(createHost({ answers: answers as never })).rejects.toThrow(message);
  const host = await makeHost({ model: createModel() });
  expect(() => host.run("x", { answers: answers as never })).toThrow(message);
  await host.add("g", inMemory(greeter()));
  const own = { approve: () => true, ...answers } as never;
  await expect(host.callTool("g", "greet", {}, { answers: own })).rejects.toThrow(message);
});

const small: Model = scriptedModel([{ say: "small" }], { id: "small", capabilities: { tools: false, images: false } });

test("the model that the user chooses for sampling must be one that can answer", async () => {
  const asked: SamplingRequestQuestion[] = [];
  const answers = ["other", "small"];
  const host = await makeHost({
    servers: { a: inMemory(asker()) },
    policy: allow,
    model: [createModel({ say: "large" }, { say: "large" }), small],
    answers: {
      sample(question) {
        if (question.stage === "response") return true;
        asked.push(question);
        return { allow: true, model: answers.shift() ?? "" };
      },
    },
  });
  await expect(host.callTool("a", "sample")).rejects.toThrow(
    'answers.sample: expected a model that can answer (scripted, small), got "other"',
  );
  expect(asked[0]?.alternatives.map(({ id }) => id)).toEqual(["small"]);
  expect(JSON.stringify(await host.callTool("a", "sample"))).toContain("small");
});

test("an edited sampling request keeps its token budget", async () => {
  const model = createModel({ say: "first" });
  const host = await makeHost({
    servers: { a: inMemory(asker()) },
    policy: allow,
    model,
    sampling: { tokens: 1_000, review: "request" },
    answers: {
      sample: (question) => ({ allow: true, params: { ...question.params, systemPrompt: "Be short." } }),
    },
  });
  await host.callTool("a", "sample");
  expect(model.asked[0]).toMatchObject({ system: "Be short.", maxTokens: 900 });
});

test("an invalid edited sampling request is rejected with the reason", async () => {
  const host = await makeHost({
    servers: { a: inMemory(asker()) },
    policy: allow,
    model: createModel({ say: "first" }),
    answers: { sample: () => ({ allow: true, params: { messages: "Hello" } as never }) },
  });
  await expect(host.callTool("a", "sample")).rejects.toThrow(
    'answers.sample: params.messages: expected an array, got "Hello"',
  );
});

test("only one reader can iterate over a run", async () => {
  const host = await makeHost({ model: createModel({ say: "hello" }) });
  const run = host.run("x");
  const events = run[Symbol.asyncIterator]();
  expect(() => run[Symbol.asyncIterator]()).toThrow("expected one reader");
  const types: string[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) types.push(next.value.type);
  expect(types).toEqual(["context", "text", "usage", "done"]);
});

test("a decision about a call that is not waiting is rejected", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) } });
  const model = () => createModel({ call: [["g__greet", {}]] }, { say: "done" });
  let question: RunApproval | undefined;
  const run = host.run("x", { model: model(), approvals: "pause" });
  for await (const event of run) if (event.type === "approval") question = event.question;
  if (!question) throw new Error("the run asked no approval question");
  const { state } = await run.result;
  expect(() => host.run(state, { model: createModel(), decisions: { [question.id]: true } })).toThrow(
    `decisions: no call "${question.id}" is waiting; the waiting calls are t1.0`,
  );
  expect(() => host.run("x", { model: model(), decisions: { "t1.0": true } })).toThrow("decisions: no call");
  const done = await host.run(state, { model: createModel(), decisions: { [question.callId]: true } }).result;
  expect(done).toMatchObject({ reason: "done", state: { calls: 1, pending: [] } });
});

test("continuing a run rejects options that it cannot use, and incomplete states", async () => {
  const host = await makeHost({ model: createModel() });
  const { state } = await host.run("x").result;
  expect(() => host.run(state, { attach: [{ server: "s", uri: "a:b" }] })).toThrow("attach: ");
  expect(() => host.run(state, { history: state })).toThrow("history: ");
  const signal = new AbortController().signal;
  expect(() => host.run("x", { history: JSON.stringify(state) as never, signal })).toThrow(
    "history: expected messages or the state of a run, got a string",
  );
  // Consent depends on `contentFrom`, so a state without it is incomplete.
  const { contentFrom: _, ...less } = state;
  expect(() => host.run(less as never)).toThrow("expected the complete state of a run");
  expect(() => host.run("x", { history: less as never })).toThrow("expected the complete state of a run");
});

test("a run for an unknown server reports it with a notice", async () => {
  const host = await makeHost({ model: createModel({ say: "alone" }), servers: { g: inMemory(greeter()) } });
  const notices: string[] = [];
  for await (const event of host.run("x", { servers: ["gg"] })) if (event.type === "notice") notices.push(event.text);
  expect(notices).toEqual(["gg is not used: there is no such server"]);
});

test("the log level and subscriptions of a server are restored after its restart", async () => {
  const levels: unknown[] = [];
  const subscribed: unknown[] = [];
  let drop: () => void = () => {};
  const way = rawServer((method, params, send) => {
    if (method === "initialize")
      return { ...initializeResult, capabilities: { logging: {}, resources: { subscribe: true } } };
    if (method === "logging/setLevel") levels.push(params["level"]);
    if (method === "resources/subscribe") {
      subscribed.push(params["uri"]);
      send({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "a:b" } });
    }
    return method.startsWith("notifications/") ? undefined : { resources: [], resourceTemplates: [] };
  });
  const host = await makeHost({
    servers: {
      r: {
        ...way,
        async open() {
          const channel = await way.open();
          drop = () => void channel.close();
          return channel;
        },
      },
    },
  });
  await host.setLogLevel("r", "error");
  const events = host.events({ kinds: ["resource", "server"] });
  const stop = await host.follow("r", "a:b");
  await nextEvent(events, "resource");
  levels.length = 0;
  drop();
  await nextEvent(events, "server", ({ status }) => status.state === "down");
  await host.start("r");
  await nextEvent(events, "resource");
  expect(subscribed).toEqual(["a:b", "a:b"]);
  expect(levels).toEqual(["error"]);
  await stop();
  drop();
  await nextEvent(events, "server", ({ status }) => status.state === "down");
  await host.start("r");
  await host.ping("r");
  expect(subscribed).toEqual(["a:b", "a:b"]);
});

test("a subscription that cannot be restored after a restart causes a warning", async () => {
  let starts = 0;
  const way = rawServer((method) => {
    if (method === "initialize") starts += 1;
    const resources = starts === 1 ? { subscribe: true } : {};
    if (method === "initialize") return { ...initializeResult, capabilities: { resources } };
    return method.startsWith("notifications/") ? undefined : { resources: [], resourceTemplates: [] };
  });
  const host = await makeHost({ servers: { r: way } });
  await host.follow("r", "a:b");
  const events = host.events({ kinds: ["warning"] });
  await host.stop("r");
  await host.start("r");
  expect((await nextEvent(events, "warning")).message).toContain("Changes of a:b are not received");
});

test("failed calls and reads are logged", async () => {
  const host = await makeHost({
    servers: {
      g: inMemory(greeter()),
      down: {
        open() {
          throw new Error("no such thing");
        },
      },
    },
    policy: allow,
  });
  await host.callTool("g", "gret", { a: 1 }).catch(() => {});
  await host.callTool("down", "greet").catch(() => {});
  await host.readResource("down", "a:b").catch(() => {});
  const entries = await activityEntries(host, "call", "resource");
  expect(entries).toMatchObject([
    {
      kind: "call",
      server: "g",
      name: "gret",
      how: "failed",
      args: { a: 1 },
      message: expect.stringContaining("no tool"),
    },
    { kind: "call", server: "down", name: "greet", how: "failed", message: expect.stringContaining("no such thing") },
    { kind: "resource", server: "down", name: "a:b", how: "failed" },
  ]);
});

/** Creates an application's model that violates the model interface. */
function brokenModel(...turns: (() => Generator<unknown>)[]): Model {
  let turn = 0;
  return {
    id: "wild",
    capabilities: { tools: true, images: false },
    async *stream() {
      const next = turns[turn];
      turn += 1;
      if (next) yield* next() as Generator<ModelEvent>;
      else yield { type: "end", stopReason: "endTurn", model: "wild" };
    },
  };
}

test.each([["text"], [null], [[1]], [3]])(
  "tool arguments %j are reported to the model as not an object",
  async (input) => {
    const host = await makeHost({ servers: { g: inMemory(greeter()) }, policy: allow });
    const model = brokenModel(function* () {
      yield { type: "tool", id: "1", name: "g__greet", input };
      yield { type: "end", stopReason: "toolUse", model: "wild" };
    });
    const { reason, state } = await host.run("x", { model }).result;
    expect(reason).toBe("done");
    expect(JSON.stringify(state.messages)).toContain("were not a JSON object");
    expect(await activityEntries(host, "call")).toEqual([]);
  },
);

test("a turn with endless tool calls ends at maxCalls", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, policy: allow });
  let given = 0;
  const model = brokenModel(function* () {
    for (; given < 100_000; given += 1) yield { type: "tool", id: `${given}`, name: "g__greet", input: {} };
  });
  const { reason } = await host.run("x", { model, maxCalls: 10 }).result;
  expect(reason).toBe("max-calls");
  expect(given).toBeLessThan(1_000);
  expect(await activityEntries(host, "call")).toEqual([]);
});

test("tool calls without an id get unique ids", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, policy: allow });
  const model = brokenModel(function* () {
    for (const id of ["", undefined, ""]) yield { type: "tool", id, name: "g__greet", input: {} };
    yield { type: "end", stopReason: "toolUse", model: "wild" };
  });
  const { reason, state } = await host.run("x", { model }).result;
  expect(reason).toBe("done");
  const blocks = state.messages.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
  const ids = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  expect(new Set(ids).size).toBe(3);
  expect(ids.every((id) => typeof id === "string" && id !== "")).toBe(true);
});

test.each([
  ["a promise", () => Promise.resolve([])],
  ["nothing", () => undefined],
  ["an array", () => []],
])("a run fails with an explanation when the model's stream returns %s", async (returned, stream) => {
  const host = await makeHost();
  const model = { id: "wild", capabilities: { tools: true, images: false }, stream: stream as never };
  const { reason, error } = await host.run("x", { model }).result;
  expect(reason).toBe("failed");
  expect(error?.message).toBe(
    `wild: expected stream() to return an async iterable, as async *stream() does, got ${returned}`,
  );
});

test("a turn without an end event is a failure of the model", async () => {
  const host = await makeHost();
  const model = brokenModel(function* () {
    yield { type: "text", delta: "half a" };
  });
  const { reason, error } = await host.run("x", { model }).result;
  expect(reason).toBe("failed");
  expect(error?.message).toBe('wild: expected its turn to end with an "end" event, got none');
});

test("accounts that share a storage do not share grants", async () => {
  const storage = createMemoryStorage();
  const asked: string[] = [];
  const hostOf = (account: string) =>
    makeHost({
      account,
      storage,
      servers: { g: inMemory(greeter()) },
      answers: {
        approve() {
          asked.push(account);
          return { allow: true, for: "always" };
        },
      },
    });
  for (const account of ["ada", "bob", "ada", "bob"]) await (await hostOf(account)).callTool("g", "greet");
  expect(asked).toEqual(["ada", "bob"]);
});

test("calls of hosts that share a log have different ids", async () => {
  const activity = openActivity(memorySink());
  const ids = new Set<unknown>();
  for (const _ of [1, 2]) {
    const host = await makeHost({ activity, servers: { g: inMemory(greeter()) }, policy: allow });
    await host.callTool("g", "greet");
    for (const { id } of await activityEntries(host, "call")) ids.add(id);
  }
  expect(ids.size).toBe(2);
});
