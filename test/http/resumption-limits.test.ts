// A small request with Last-Event-ID makes the server read and send large stored answers: they count for their caller.
import { createServer } from "portolan/server";
import { type HttpLimits, serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test, vi } from "vitest";

const answerCharacters = 100_000;

/** Starts a server whose callers are told apart by a header, and a session of one of them with a stored answer. */
async function start(limits: HttpLimits, caller: string | undefined) {
  const server = createServer({ name: "test", version: "1.0.0" }).tool("large", {
    async run(_, ctx) {
      ctx.progress(1, 2);
      // The answer becomes a stream.
      await new Promise((resolve) => setImmediate(resolve));
      return "x".repeat(answerCharacters);
    },
  });
  const endpoint = serveHttp(server, { limits, caller: (request) => request.header("x-caller") });
  onTestFinished(() => endpoint.close(0));
  const { url } = await endpoint.listen();
  const headers = (more: Record<string, string> = {}) => ({
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...(caller !== undefined && { "x-caller": caller }),
    ...more,
  });
  const post = (body: object, more?: Record<string, string>) =>
    fetch(url, { method: "POST", headers: headers(more), body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const begun = await post({ id: 0, method: "initialize", params });
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  const call = { name: "large", arguments: {}, _meta: { progressToken: 1 } };
  const answer = await (await post({ id: 1, method: "tools/call", params: call }, session)).text();
  const first = /^id: (.+)$/m.exec(answer)?.[1] ?? "";
  const resume = async () => {
    const reply = await fetch(url, { headers: headers({ ...session, "last-event-id": first }) });
    const text = await reply.text();
    return { status: reply.status, retryAfter: reply.headers.get("retry-after"), characters: text.length };
  };
  // The answer is stored after it was sent.
  await vi.waitUntil(async () => (await resume()).characters > answerCharacters);
  return { resume, endpoint };
}

test("resumptions beyond limits.bodyBytesPerMinute are refused with 429 and Retry-After", async () => {
  const { resume } = await start({ bodyBytesPerMinute: 5 * answerCharacters }, "a");
  const replies = [];
  for (let count = 0; count < 10; count += 1) replies.push(await resume());
  expect(replies[0]).toMatchObject({ status: 200 });
  expect(replies.at(-1)).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
});

test("resumptions count as calls of their minute", async () => {
  const { resume } = await start({ callsPerMinute: 20 }, "a");
  const replies = [];
  for (let count = 0; count < 20; count += 1) replies.push(await resume());
  expect(replies[0]).toMatchObject({ status: 200 });
  expect(replies.at(-1)).toMatchObject({ status: 429, retryAfter: expect.stringMatching(/^\d+$/) });
});

test("callers of the same machine resume without a limit by the minute", async () => {
  const { resume } = await start({ callsPerMinute: 3, bodyBytesPerMinute: answerCharacters }, undefined);
  for (let count = 0; count < 10; count += 1) expect(await resume()).toMatchObject({ status: 200 });
});

test("replayed answers count as kept bytes only while they are sent", async () => {
  const { resume, endpoint } = await start({}, "a");
  const { total } = await endpoint.usage();
  for (let count = 0; count < 5; count += 1) await resume();
  await vi.waitUntil(async () => (await endpoint.usage()).total.keptBytes === total.keptBytes);
});
