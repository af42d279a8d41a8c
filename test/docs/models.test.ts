import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryPair } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { createHost } from "portolan-host";
import { complete, demoModel, echoModel, ModelFailure, type ModelRequest, scriptedModel } from "portolan-host/models";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";

const fake = await import(pathTo("examples/models/fake.mjs"));
const offline = await import(pathTo("examples/models/offline.mjs"));
const { own } = await import(pathTo("examples/models/own.mjs"));
const providers = await import(pathTo("examples/models/providers.mjs"));
const sampling = await import(pathTo("examples/models/sampling.mjs"));
const stream = await import(pathTo("examples/models/stream.mjs"));

const userSays = (text: string): ModelRequest => ({
  messages: [{ role: "user", content: { type: "text", text } }],
  maxTokens: 100,
});

test("creates providers without sending a request", () => {
  expect(providers.local()).toMatchObject({ id: "llama3.2", capabilities: { tools: true, images: true } });
  const [first, second] = providers.hosted({ ANTHROPIC_API_KEY: "a-key", OPENAI_API_KEY: "b-key" });
  expect(first.id).toMatch(/^claude/);
  expect(second.id).toMatch(/^gpt/);
});

test("shows the text, tool call and end of a turn, and the reason of a failure", async () => {
  const shown: string[] = [];
  const show = (text: string) => shown.push(text);
  await stream.tell(scriptedModel([{ say: "Let us see", call: { name: "roll", input: { dice: 2 } } }]), "roll", show);
  expect(shown.join("")).toBe('Let us see[roll {"dice":2}] (toolUse)');
  for (const isTemporary of [true, false]) {
    await stream.tell(scriptedModel([{ fail: new ModelFailure("No credit. Pay.", { isTemporary }) }]), "roll", show);
  }
  expect(shown.slice(-2)).toEqual(["The provider is busy.", "No credit. Pay."]);
});

test("runs a custom model in a host", async () => {
  const prompts: string[] = [];
  const model = own(async function* (prompt: string, signal?: AbortSignal) {
    prompts.push(prompt);
    yield* ["Hello ", signal?.aborted === false ? "you" : "nobody"];
  });
  await using host = await createHost({ model });
  expect(await host.run("Who is there?").result).toMatchObject({ reason: "done", text: "Hello you" });
  expect(prompts).toEqual([expect.stringMatching(/^You can call tools[\s\S]*\n\nuser: Who is there\?$/)]);
});

test("answers a server's sampling request with the model it prefers", async () => {
  const server = createServer({ name: "poet", version: "1.0.0" }).tool("rhyme", {
    run: async (_, context) => {
      const asked = {
        messages: userSays("moon").messages as never,
        maxTokens: 50,
        modelPreferences: { hints: [{ name: "echo" }] },
      };
      const { content, model } = await context.sample("rhyme", asked);
      return JSON.stringify([content, model]);
    },
  });
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far);
  const client = await sampling.connectWithModels(near, [demoModel(), echoModel()]);
  onTestFinished(() => client.close());
  const { content } = await client.callTool("rhyme");
  expect(content).toEqual([{ type: "text", text: JSON.stringify([{ type: "text", text: "moon" }, "echo"]) }]);
});

test("records the turns of a scripted model and replays them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portolan-models-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "turns.jsonl");
  const model = offline.recorded(offline.weatherScript(), file);
  const first = await complete(model, userSays("What is the weather?"));
  const result = {
    type: "tool_result" as const,
    toolUseId: "call_1",
    content: [{ type: "text" as const, text: "rain" }],
  };
  const messages = [
    ...userSays("What is the weather?").messages,
    { role: "assistant" as const, content: first.content },
    { role: "user" as const, content: result },
  ];
  const second = await complete(model, { messages, maxTokens: 100 });
  expect(second.content).toEqual([{ type: "text", text: "Take an umbrella." }]);
  const again = await offline.replayed(file);
  expect(await complete(again, userSays("What is the weather?"))).toEqual(first);
  expect(await complete(again, { messages, maxTokens: 100 })).toEqual(second);
});

test("retries a busy provider until it answers", async () => {
  expect(await fake.askBusyProvider()).toEqual({ content: [{ type: "text", text: "Hello yourself" }], requests: 3 });
});
