import { createServer, form } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { tasks } from "portolan/server/tasks";
import { expect, onTestFinished, test } from "vitest";
import { HttpChannel } from "../http/channel.ts";
import { type Answer, connectMemory, RawPeer } from "../kit/raw-peer.ts";

const capabilities = { elicitation: { form: {} } };
const name = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
const ada = { action: "accept", content: { name: "Ada" } };

function createAsking() {
  return createServer({ name: "asking", version: "1.0.0" }, { onError() {} })
    .extend(tasks({ pollMs: 10 }))
    .tool("ask", {
      task: "optional",
      async run(_, ctx) {
        const answer = await ctx.elicit("name", { message: "Which name?", form: name });
        return answer.action === "accept" ? `Hello ${answer.content["name"]}` : answer.action;
      },
    });
}

async function start(peer: RawPeer): Promise<string> {
  return (await peer.request("tools/call", { name: "ask", task: {} })).result.task.taskId;
}

/** Polls a task until something has happened. */
async function poll(peer: RawPeer, taskId: string, until: () => boolean): Promise<void> {
  while (!until()) await peer.request("tasks/get", { taskId });
}

async function overHttp(answer: Answer, hasStream = true): Promise<RawPeer> {
  const served = serveHttp(createAsking());
  const { url } = await served.listen(0);
  const peer = new RawPeer(new HttpChannel(url), {
    revision: "2025-11-25",
    capabilities,
    answer,
    handshake: hasStream,
  });
  onTestFinished(async () => {
    await peer.close();
    await served.close(0);
  });
  await peer.start();
  // Without `notifications/initialized` this client opens no stream of its own.
  if (!hasStream) {
    const clientInfo = { name: "polling", version: "1.0.0" };
    await peer.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
  }
  return peer;
}

test("tasks/result over HTTP withdraws the question on the stream of the session, and asks itself", async () => {
  let asked = 0;
  const peer = await overHttp(() => {
    asked += 1;
    return asked === 1 ? new Promise(() => {}) : ada;
  });
  const taskId = await start(peer);
  await poll(peer, taskId, () => asked === 1);
  const { result } = await peer.request("tasks/result", { taskId });
  expect(result.content[0].text).toBe("Hello Ada");
  const [first, second] = peer.questions;
  expect(peer.questions).toHaveLength(2);
  expect(first?.id).not.toBe(second?.id);
  const { params } = await peer.notification("notifications/cancelled");
  expect(params).toMatchObject({ requestId: first?.id });
});

test("a client over HTTP without a stream of its own is asked by tasks/result alone", async () => {
  const peer = await overHttp(() => ada, false);
  const taskId = await start(peer);
  for (let polls = 0; polls < 50; polls += 1) await peer.request("tasks/get", { taskId });
  expect(peer.questions).toEqual([]);
  expect((await peer.request("tasks/result", { taskId })).result.content[0].text).toBe("Hello Ada");
  expect(peer.questions).toHaveLength(1);
});

test("a client that polls while tasks/result asks it is asked once", async () => {
  let settle = (_: typeof ada) => {};
  const answer = () => new Promise<typeof ada>((resolve) => (settle = resolve));
  const peer = await connectMemory(createAsking(), { revision: "2025-11-25", capabilities, answer });
  onTestFinished(() => peer.close());
  const taskId = await start(peer);
  const result = peer.request("tasks/result", { taskId });
  await peer.until(({ questions }) => questions.length === 1);
  for (let polls = 0; polls < 50; polls += 1) await peer.request("tasks/get", { taskId });
  settle(ada);
  expect((await result).result.content[0].text).toBe("Hello Ada");
  expect(peer.questions).toHaveLength(1);
});

test("a client that is gone is not asked, and the next one of the same user is", async () => {
  const server = createAsking();
  const open = (answer: Answer) => connectMemory(server, { revision: "2025-11-25", capabilities, answer });
  let hasAsked = false;
  const first = await open(() => {
    hasAsked = true;
    return new Promise(() => {});
  });
  const taskId = await start(first);
  await poll(first, taskId, () => hasAsked);
  await first.close();
  const second = await open(() => ada);
  onTestFinished(() => second.close());
  await poll(second, taskId, () => second.questions.length === 1);
  expect((await second.request("tasks/result", { taskId })).result.content[0].text).toBe("Hello Ada");
});
