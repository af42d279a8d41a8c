import { createServer } from "portolan/server";
import { createHost } from "portolan-host";
import { openaiCompatible } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, onTestFinished, test } from "vitest";
import { allow, createModel, entryFromFile, greeter, inMemory, makeHost } from "./kit.ts";

test.each([
  [{ startsAtOnce: 0 }, "startsAtOnce: expected a number of at least 1, got number 0"],
  [{ startsAtOnce: "8" }, 'startsAtOnce: expected a number of at least 1, got "8"'],
  [{ sampling: { tokens: Number.NaN } }, "sampling.tokens: expected a number of at least 0, got number NaN"],
  [{ sampling: { servers: { s: { requests: -1 } } } }, "sampling.servers.s.requests: expected a number"],
  [{ limits: { maxItems: "all" } }, 'limits.maxItems: expected a number of at least 0, got "all"'],
  [{ server: {} }, "createHost: unknown option `server`; did you mean `servers`?"],
  [null, "createHost: expected an object of options, got null"],
  [{ servers: [{ command: "node" }] }, "servers: expected servers by name, entries from readConfigs"],
  [
    { model: "gpt" },
    "model: expected { id, capabilities, stream } such as those of portolan-host/models, or a list of them",
  ],
  [{ storage: {} }, "storage: expected { kv } of a storage, got an object"],
  [{ activity: "log.ndjson" }, "activity: expected a log of openActivity or openActivityFile"],
  [{ sampling: { review: "never" } }, 'sampling.review: expected "both", "request" or "none", got "never"'],
  [{ sampling: { servers: { s: { review: 1 } } } }, "sampling.servers.s.review: expected"],
  [{ logLevel: "verbose" }, 'logLevel: expected a level from debug to emergency, got "verbose"'],
  [{ roots: [{ uri: "/home/ada" }] }, 'roots: expected an address that begins with file://, got "/home/ada"'],
])("createHost rejects %j", async (options, message) => {
  await expect(createHost(options as never)).rejects.toThrow(message);
});

test.each([
  [{ maxTurns: Number.NaN }, "maxTurns: expected a number of at least 0, got number NaN"],
  [{ maxCalls: "5" }, 'maxCalls: expected a number of at least 0, got "5"'],
  [{ approvals: "later" }, 'approvals: expected "wait" or "pause", got "later"'],
  [{ decisions: { a: "yes" } }, "decisions: expected true or false by the callId of each question, got an object"],
  [{ only: "a.b" }, 'only: expected a list of names, got "a.b"'],
  [
    { attach: ["a:b"] },
    "attach: expected a list of { server, uri }, or of what takeContext() of an app returns, got an array",
  ],
  [{ maxTurn: 3 }, "run: unknown option `maxTurn`; did you mean `maxTurns`?"],
  [{ contextTokens: -1 }, "contextTokens: expected a number of at least 0, got number -1"],
])("run rejects %j", async (options, message) => {
  const host = await makeHost({ model: createModel() });
  expect(() => host.run("x", options as never)).toThrow(message);
});

test("a sampling limit that is undefined has its default", async () => {
  const server = createServer({ name: "asker", version: "1.0.0" }).tool("sample", {
    description: "Asks a model",
    async run(_, ctx) {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Say something" } }];
      return JSON.stringify(await ctx.sample("s", { messages, maxTokens: 1_000_000 }));
    },
  });
  const model = createModel({ say: "x" });
  const host = await makeHost({
    servers: { a: inMemory(server) },
    policy: allow,
    model,
    sampling: { review: "none", maxTokens: undefined as never, tokens: undefined as never },
  });
  await host.callTool("a", "sample");
  expect(model.asked[0]?.maxTokens).toBe(4_096);
});

test("a provider limit that is undefined has its default", async () => {
  const provider = await startFakeProvider({
    dialect: "openai",
    turns: [{ call: Array.from({ length: 200 }, () => ({ name: "x", input: {} })) }],
  });
  onTestFinished(() => provider.close());
  const model = openaiCompatible({
    baseUrl: provider.url,
    model: "any",
    limits: { toolCalls: undefined as never },
  });
  const host = await makeHost({ model });
  const { reason, error } = await host.run("x").result;
  expect(reason).toBe("failed");
  expect(error?.message).toContain("128 tool calls");
});

test("the error for an untrusted server names answers.trust and host.trust", async () => {
  const host = await makeHost({ servers: [entryFromFile(inMemory(greeter()))], model: createModel({ say: "alone" }) });
  const advice = "give the host `answers.trust`, or call `host.trust`";
  await expect(host.callTool("s", "greet")).rejects.toThrow(advice);
  const notices: string[] = [];
  for await (const event of host.run("x")) if (event.type === "notice") notices.push(event.text);
  expect(notices).toEqual([`s is not used: it is untrusted, the user has not agreed to start it: ${advice}`]);
  await host.trust("s", false);
  await expect(host.callTool("s", "greet")).rejects.toThrow("the user said no");
});
