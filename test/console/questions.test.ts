import type { QuestionRecord } from "portolan-console/api";
import { type Model, scriptedModel } from "portolan-host/models";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, onTestFinished, test } from "vitest";
import { consoleOptions, newServer, oldServer, openConsole, refusalOf, Tab } from "./kit.ts";

test.each([
  ["2024-11-05 over stdio", async () => oldServer, "ask_model"],
  ["2026-07-28 over HTTP", newServer, "ask_name"],
] as const)("a question of a server on %s is answered in one of two tabs", async (_, serverOf, tool) => {
  const model = scriptedModel([{ say: "blue" }]);
  const running = await openConsole({ servers: { it: await serverOf() }, model });
  const [one, two] = [await Tab.open(running), await Tab.open(running)];
  const [first, second] = [await one.events(), await two.events()];
  const { id } = await one.do("call", { server: "it", tool, argumentsText: "{}" });
  const shown = [(await first.next("question")).question, (await second.next("question")).question];
  expect(shown[0]).toEqual(shown[1]);
  expect(shown[0]).not.toHaveProperty("signal");
  const question = shown[0]!;
  const answer = question.kind === "elicit" ? { action: "accept", content: { name: "Ada" } } : { allow: true };
  const { digest } = question;
  const outcomes = await Promise.allSettled([
    one.do("answer", { id: question.id, digest, answer }),
    two.do("answer", { id: question.id, digest, answer }),
  ]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const lost = outcomes.find((outcome) => outcome.status === "rejected");
  expect(lost?.reason.error).toMatchObject({ code: "answered", how: "answered" });
  for (const events of [first, second]) {
    expect(await events.next("answered", (event) => event.id === question.id)).toMatchObject({ how: "answered" });
  }
  if (question.kind === "sample") {
    const next = (await first.next("question")).question;
    await one.do("answer", { id: next.id, digest: next.digest, answer: { allow: true } });
  }
  const { call } = await second.next("call", (event) => event.call.id === id && event.call.end !== undefined);
  expect(call.end).toMatchObject({ how: "done" });
});

test("a model that dies between the reviews of sampling: nothing is sent, it is said, and another model can be asked", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const dying: Model = {
    id: "dying",
    capabilities: { tools: false, images: false },
    async *stream() {
      yield { type: "text", delta: "Half an answer" };
      await held;
    },
  };
  const provider = await startFakeProvider({ dialect: "openai", model: dying });
  onTestFinished(async () => {
    release();
    await provider.close();
  });
  const tab = await Tab.open(
    await openConsole({ servers: { it: oldServer }, model: scriptedModel([{ say: "blue" }]) }),
  );
  const events = await tab.events();
  await tab.do("model.add", { provider: "openai", model: "dying", key: "sk-key-of-a-test", address: provider.url });
  const call = { server: "it", tool: "ask_model", argumentsText: "{}" };
  const ended = async (id: string) =>
    (await events.next("call", (event) => event.call.id === id && event.call.end !== undefined)).call.end;
  const asked = async () => {
    const { question } = await events.next("question");
    if (question.kind !== "sample") throw new Error(`unexpected question: ${question.kind}`);
    return question;
  };
  const first = await tab.do("call", call);
  const request = await asked();
  const dead = { allow: true, model: "openai:dying" };
  await tab.do("answer", { id: request.id, digest: request.digest, answer: dead });
  await expect.poll(() => provider.requests.length, { interval: 5 }).toBe(1);
  await provider.close();
  const end = await ended(first.id);
  expect(end).toMatchObject({ how: "failed", message: "The client did not answer sampling/createMessage" });
  expect(JSON.stringify(end)).not.toContain("Half an answer");
  const again = await refusalOf(tab.do("answer", { id: request.id, digest: request.digest, answer: dead }));
  expect(again.error).toMatchObject({ code: "answered", how: "answered" });
  const { rows } = await tab.do("activity", { kind: "sampling" });
  expect(rows.map(({ detail }) => detail["step"])).toEqual(["allowed", "asked", "failed"]);
  expect(rows.at(-1)?.detail).toMatchObject({ model: "openai:dying" });
  const lines = await tab.do("lines", { server: "it" });
  const { host } = new URL(provider.url);
  expect(lines.rows.find(({ kind }) => kind === "warning")?.text).toContain(host);
  const { call: said } = await events.ever("call", (event) => event.call.modelFailure !== undefined);
  expect(said).toMatchObject({ id: first.id, modelFailure: { model: "openai:dying" } });
  expect(said.modelFailure?.message).toContain(host);

  const second = await tab.do("call", call);
  const next = await asked();
  expect(next).toMatchObject({ stage: "request", left: { requests: 998 } });
  // Of the request that failed only what was sent counts, not the answer that it reserved.
  if (request.stage === "request" && next.stage === "request") {
    expect(next.left.tokens).toBe(request.left.tokens - next.inputTokens);
  }
  await tab.do("answer", { id: next.id, digest: next.digest, answer: { allow: true } });
  const response = await asked();
  expect(response.stage).toBe("response");
  await tab.do("answer", { id: response.id, digest: response.digest, answer: { allow: true } });
  expect((await ended(second.id))?.result?.result.content).toMatchObject([{ text: expect.stringContaining("blue") }]);
});

async function askedName(): Promise<{ tab: Tab; question: QuestionRecord; running: { close(): Promise<void> } }> {
  const running = await openConsole({ servers: { it: await newServer() } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  await tab.do("call", { server: "it", tool: "ask_name", argumentsText: "{}" });
  const { question } = await events.next("question");
  return { tab, question, running };
}

test("an answer to something else than what was shown is refused, and the question keeps waiting", async () => {
  const { tab, question } = await askedName();
  const answer = { action: "accept", content: { name: "Ada" } };
  const refused = await refusalOf(tab.do("answer", { id: question.id, digest: "other", answer }));
  expect([refused.status, refused.error.code, refused.error.question?.id]).toEqual([409, "changed", question.id]);
  const unfit = await refusalOf(
    tab.do("answer", { id: question.id, digest: question.digest, answer: { action: "accept", content: { name: 3 } } }),
  );
  expect([unfit.status, unfit.error.code]).toEqual([422, "answer-invalid"]);
  expect(await tab.do("answer", { id: question.id, digest: question.digest, answer })).toEqual({});
});

test("an answer to a question of an earlier start has expired, and to an unknown one there is none", async () => {
  const { tab, question } = await askedName();
  const { digest } = question;
  const old = await refusalOf(tab.do("answer", { id: `other.${question.id.split(".")[1]}`, digest, answer: true }));
  expect([old.status, old.error.code]).toEqual([410, "expired"]);
  const unknown = await refusalOf(tab.do("answer", { id: `${tab.boot}.none`, digest, answer: true }));
  expect([unknown.status, unknown.error.code]).toEqual([404, "not-found"]);
});

test("a question that is withdrawn says so, and takes no answer", async () => {
  const running = await openConsole({ servers: { it: await newServer() } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("call", { server: "it", tool: "ask_name", argumentsText: "{}" });
  const { question } = await events.next("question");
  await tab.do("cancel", { call: id });
  expect(await events.next("answered")).toMatchObject({ id: question.id, how: "withdrawn" });
  const answer = { action: "accept", content: { name: "Ada" } };
  const refused = await refusalOf(tab.do("answer", { id: question.id, digest: question.digest, answer }));
  expect(refused.error).toMatchObject({ code: "answered", how: "withdrawn" });
});

test("a server that was never trusted is asked about, and starts after the answer", async () => {
  const { createHost } = await import("portolan-host");
  const { startConsole } = await import("portolan-console");
  const options = await consoleOptions({});
  const entry = {
    name: "it",
    target: { command: oldServer.command, args: oldServer.args },
    configured: { command: oldServer.command, args: oldServer.args },
    settings: {},
    source: {
      kind: "file",
      file: "/project/.mcp.json",
      path: "mcpServers.it",
      product: "claude-code",
      scope: "project",
    },
  } as const;
  const running = await startConsole({
    ...options,
    createHost: (parts) => createHost({ servers: [entry], ...parts }),
  });
  try {
    const tab = await Tab.open(running);
    const events = await tab.events();
    expect((await events.state()).servers[0]).toMatchObject({ state: "untrusted", isTrusted: false });
    await tab.do("server.start", { server: "it" });
    const { question } = await events.next("question");
    expect(question.kind).toBe("trust");
    await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: true, for: "session" } });
    const { server } = await events.next("server", (event) => event.server.state === "ready");
    expect(server.isTrusted).toBe(true);
  } finally {
    await running.close();
  }
});
