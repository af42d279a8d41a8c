import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import type { HostAnswers, HostOptions, SamplingQuestion, SamplingVerdict } from "portolan-host";
import { echoModel, type Model, type ModelRequest } from "portolan-host/models";
import { expect, test } from "vitest";
import { allow, initializeResult, inMemory, makeHost, rawServer, textOf } from "./kit.ts";

const thinker = createServer({ name: "thinker", version: "1.0.0" }).tool("think", {
  input: {
    type: "object",
    properties: { tokens: { type: "integer" }, context: { type: "string" }, hint: { type: "string" } },
  },
  async run({ tokens = 100, context, hint }: { tokens?: number; context?: string; hint?: string }, ctx) {
    const { model } = await ctx.sample("thought", {
      messages: [{ role: "user", content: { type: "text", text: "think" } }],
      maxTokens: tokens,
      ...(hint !== undefined && { modelPreferences: { hints: [{ name: hint }] } }),
      ...(context !== undefined && { includeContext: context as "allServers" }),
    });
    return model;
  },
});

/** Creates a model that records its requests, optionally waits before it answers, and reports its token usage. */
function recordingModel(
  id: string,
  outputTokens = 10,
  wait: (asked: number) => Promise<void> = async () => {},
): Model & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id,
    capabilities: { tools: true, images: false },
    asked,
    async *stream(request) {
      asked.push(request);
      await wait(asked.length);
      yield { type: "text", delta: "so" };
      yield { type: "end", stopReason: "endTurn", usage: { inputTokens: 5, outputTokens }, model: id };
    },
  };
}

async function thinkerHost(answers: HostAnswers, options: HostOptions, era = "auto") {
  const host = await makeHost({ servers: { t: inMemory(thinker, { era }) }, policy: allow, answers, ...options });
  return { host, think: (args: JsonObject = {}) => host.callTool("t", "think", args) };
}

test("a sampling request has no includeContext, even if the server sets it", async () => {
  const seen: SamplingQuestion[] = [];
  const sample = (question: SamplingQuestion) => seen.push(question) > 0;
  // Later revisions have a capability for includeContext, which the host does not declare.
  const { think } = await thinkerHost({ sample }, { model: echoModel() }, "2025-06-18");
  await think({ context: "allServers" });
  expect(seen).toHaveLength(2);
  for (const { params } of seen) expect(params).not.toHaveProperty("includeContext");
});

test("an edited request is limited to maxTokens, and goes to the model that the user chose", async () => {
  const [small, large] = [recordingModel("small"), recordingModel("large")];
  const sample = (question: SamplingQuestion): SamplingVerdict =>
    question.stage === "request"
      ? { allow: true, model: "large", params: { ...question.params, maxTokens: 1_000_000 } }
      : { allow: true };
  const { think } = await thinkerHost({ sample }, { model: [small, large], sampling: { maxTokens: 50 } });
  expect(textOf(await think())).toBe("large");
  expect([small.asked.length, large.asked.length]).toEqual([0, 1]);
  expect(large.asked[0]?.maxTokens).toBe(50);
});

test.each([
  ["none", []],
  ["request", ["request"]],
  ["both", ["request", "response"]],
] as const)("the review setting %j shows the user the stages %j", async (review, stages) => {
  const seen: string[] = [];
  const sample = (question: SamplingQuestion) => seen.push(question.stage) > 0;
  const { think } = await thinkerHost({ sample }, { model: echoModel(), sampling: { servers: { t: { review } } } });
  await think();
  expect(seen).toEqual(stages);
});

test("a denial can be permanent", async () => {
  let asked = 0;
  const sample = (): SamplingVerdict => {
    asked += 1;
    return { allow: false, for: "always" };
  };
  const { think } = await thinkerHost({ sample }, { model: echoModel() });
  await expect(think()).rejects.toThrow("the user said no");
  await expect(think()).rejects.toThrow("the user does not want it from this server");
  expect(asked).toBe(1);
});

test("an approval for the session applies only to the model that was shown", async () => {
  const shown: string[] = [];
  const sample = (question: SamplingQuestion): SamplingVerdict => {
    if (question.stage === "request") shown.push(question.model.id);
    return { allow: true, for: "session" };
  };
  const model = [recordingModel("small"), recordingModel("large")];
  const { think } = await thinkerHost({ sample }, { model });
  for (const hint of ["small", "small", "large", "large", "small"]) expect(textOf(await think({ hint }))).toBe(hint);
  expect(shown).toEqual(["small", "large"]);
});

test("an approval for the session applies to the model that the user chose instead", async () => {
  const shown: string[] = [];
  const sample = (question: SamplingQuestion): SamplingVerdict => {
    if (question.stage === "request") shown.push(question.model.id);
    return { allow: true, for: "session", model: "large" };
  };
  const { think } = await thinkerHost({ sample }, { model: [recordingModel("small"), recordingModel("large")] });
  expect(textOf(await think({ hint: "small" }))).toBe("large");
  expect(textOf(await think({ hint: "large" }))).toBe("large");
  expect(shown).toEqual(["small"]);
});

test("used tokens count against the budget, and parallel requests share the rest", async () => {
  let open: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  // No request is answered before all three have arrived.
  const model = recordingModel("dear", 60, async (asked) => {
    if (asked === 3) open();
    await all;
  });
  const { think } = await thinkerHost({}, { model, sampling: { tokens: 200, maxTokens: 90, review: "none" } });
  await Promise.all([think({ tokens: 90 }), think({ tokens: 90 }), think({ tokens: 90 })]);
  const allowed = model.asked.map(({ maxTokens = 0 }) => maxTokens);
  expect(allowed.slice(0, 2)).toEqual([90, 90]);
  expect(allowed[2]).toBeLessThanOrEqual(20);
  // Each has used 65 tokens, so the rest of the budget is too small.
  await expect(think({ tokens: 90 })).rejects.toThrow("no more than 200 tokens");
  expect(model.asked).toHaveLength(3);
});

test("tokens that an answer did not use stay in the budget", async () => {
  const model = recordingModel("brief", 20);
  const { think } = await thinkerHost({}, { model, sampling: { tokens: 300, maxTokens: 200, review: "none" } });
  for (let at = 0; at < 4; at += 1) await think({ tokens: 200 });
  expect(model.asked.map(({ maxTokens }) => maxTokens)).toEqual([200, 200, 200, 200]);
});

test.each([
  ["no model", { sample: () => true }, {}, false],
  ["no reviewer", {}, { model: echoModel() }, false],
  ["no reviewer and no review required", {}, { model: echoModel(), sampling: { review: "none" as const } }, true],
  ["a model and a reviewer", { sample: () => true }, { model: echoModel() }, true],
])(
  "declares the sampling capability only if requests can be answered: with %s",
  async (_, answers, options, isOffered) => {
    let capabilities: unknown;
    const server = rawServer((method, params) => {
      if (method !== "initialize") return { tools: [] };
      capabilities = params["capabilities"];
      return initializeResult;
    });
    const host = await makeHost({ servers: { s: server }, answers, ...options });
    await host.ready();
    expect(Object.hasOwn(capabilities as object, "sampling")).toBe(isOffered);
  },
);

test("sampling uses the models of setModels, and is refused while there is none", async () => {
  const { host, think } = await thinkerHost({ sample: () => true }, { model: recordingModel("old") });
  expect(textOf(await think())).toBe("old");
  host.setModels([recordingModel("new")]);
  expect(textOf(await think())).toBe("new");
  host.setModels([]);
  await expect(think()).rejects.toThrow("the host has no model now");
});

test.each([
  // The server is told that there is no answer, and answers the call with that.
  ["2024-11-05", "The client did not answer sampling/createMessage"],
  // The server is not asked again, so that the call fails here.
  ["2026-07-28", "The quota is used up"],
])("a model that fails is told to the user with its call, on %s", async (era, heard) => {
  const model = recordingModel("tired", 10, async () => {
    throw new Error("The quota is used up");
  });
  const { host, think } = await thinkerHost({ sample: () => true }, { model }, era);
  const events = host.events({ kinds: ["call", "model-failed"] });
  expect(await think().then(textOf, (reason: Error) => reason.message)).toContain(heard);
  const { value: call } = await events.next();
  const { value: failure } = await events.next();
  expect(failure).toEqual({
    ...{ kind: "model-failed", server: "t", call: call?.kind === "call" ? call.id : undefined },
    ...{ model: "tired", message: "The quota is used up" },
  });
});
