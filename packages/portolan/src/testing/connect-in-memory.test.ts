import { describe, expect, test } from "vitest";
import type { Channel } from "../jsonrpc/channel.ts";
import { revisions } from "../protocol/revisions/index.ts";
import { createServer } from "../server/define/server.ts";
import { connectInMemory } from "./connect-in-memory.ts";
import { faultyChannel } from "./faulty-channel.ts";
import { scriptedAnswers } from "./scripted.ts";

const nameForm = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

const greeter = createServer({ name: "greeter", version: "1.0.0" })
  .tool("greet", {
    async run(_, ctx) {
      const answer = await ctx.elicit("name", { message: "Your name?", form: nameForm });
      return answer.action === "accept" ? `Hello ${answer.content["name"]}` : "Hello stranger";
    },
  })
  .tool("whoami", { run: (_, ctx) => ctx.principal.key });

const versions = revisions.map(({ version }) => version);
const asking = versions.filter((version) => version >= "2025-06-18");

test.each(versions)("a client and a server speak %s", async (revision) => {
  const client = await connectInMemory(greeter, { revision });
  expect(client.server.version).toBe(revision);
  expect((await client.callTool("whoami")).content).toEqual([{ type: "text", text: "local" }]);
  await client.close();
});

test("uses the newest revision by default", async () => {
  const client = await connectInMemory(greeter);
  expect([client.server.version]).toEqual(versions.toSorted().slice(-1));
  await client.close();
});

describe.each(asking)("on %s", (revision) => {
  test("answers questions from a script", async () => {
    const answers = scriptedAnswers({ action: "accept", content: { name: "Ada" } }, { action: "decline" });
    const client = await connectInMemory(greeter, { revision, answers });
    expect((await client.callTool("greet")).content).toEqual([{ type: "text", text: "Hello Ada" }]);
    expect((await client.callTool("greet")).content).toEqual([{ type: "text", text: "Hello stranger" }]);
    expect(answers.asked).toMatchObject([
      { method: "elicitation/create", params: { message: "Your name?" } },
      { method: "elicitation/create", params: { message: "Your name?" } },
    ]);
    answers.done();
    await client.close();
  });

  test("accepts a list of answers, and fails a call with one question too many", async () => {
    const client = await connectInMemory(greeter, { revision, answers: [{ action: "decline" }] });
    expect((await client.callTool("greet")).content).toEqual([{ type: "text", text: "Hello stranger" }]);
    await expect(client.callTool("greet")).rejects.toThrow(
      "The script cannot answer question 2, elicitation/create (Your name?): it has only 1 answers",
    );
    await client.close();
  });
});

test("records the transcript", async () => {
  const client = await connectInMemory(greeter, { revision: "2025-11-25" });
  await client.callTool("whoami");
  expect(client.transcript.sent("tools/call")).toHaveLength(1);
  expect(client.transcript.brief()).toBe(
    [
      '→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}',
      '← {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}}}}',
      '→ {"jsonrpc":"2.0","method":"notifications/initialized"}',
      '→ {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{},"_meta":{"progressToken":2}}}',
      '← {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"local"}]}}',
    ].join("\n"),
  );
  await client.close();
});

test("closes both sides", async () => {
  await using client = await connectInMemory(greeter);
  await client.close();
  expect(await client.closed).toBeUndefined();
  await client.serving.closed;
  await expect(client.callTool("whoami")).rejects.toThrow("closed");
});

test("serves the given principal", async () => {
  const client = await connectInMemory(greeter, { serve: { principal: { key: "ada" } } });
  expect((await client.callTool("whoami")).content).toEqual([{ type: "text", text: "ada" }]);
  await client.close();
});

test("accepts a faulty channel", async () => {
  const through = (channel: Channel) => faultyChannel(channel, { seed: 1, cutAfter: 3 });
  const client = await connectInMemory(greeter, { revision: "2026-07-28", through });
  await expect(client.callTool("whoami")).rejects.toThrow("The connection was cut after 3 messages");
  await client.close();
});

test("refuses unknown options", async () => {
  const misspelt = { revision: "2025-11-25", answer: [] };
  await expect(connectInMemory(greeter, misspelt)).rejects.toThrow("unknown option `answer`; did you mean `answers`?");
});

test("rejects with the reason if it cannot connect", async () => {
  await expect(connectInMemory(greeter, { revision: "1999-01-01" })).rejects.toThrow("1999-01-01");
});
