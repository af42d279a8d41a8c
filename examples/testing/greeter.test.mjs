// @ts-check
// Tests of a server. Any test runner works; this one comes with Node.
// Run: node examples/testing/greeter.test.mjs
// region first
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectInMemory, createClock } from "portolan/testing";
import greeter from "./greeter.mjs";

test("greets by name", async () => {
  const client = await connectInMemory(greeter);
  const { content } = await client.callTool("greet", { name: "Ada" });
  assert.deepEqual(content, [{ type: "text", text: "Hello Ada" }]);
});
// endregion

// region revisions
for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]) {
  test(`lists its tools on ${revision}`, async () => {
    const client = await connectInMemory(greeter, { revision });
    assert.equal(client.server.version, revision);
    const tools = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), ["forget", "greet", "ponder"]);
    await client.close();
  });
}

// endregion

// region http
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { serveHttp } from "portolan/server/http";

test("greets over HTTP, without a port", async () => {
  const endpoint = serveHttp(greeter);
  const send = async (/** @type {any} */ url, /** @type {any} */ init) => endpoint.fetch(new Request(url, init));
  const client = await connect(http("http://localhost/mcp", { fetch: send }));
  const { content } = await client.callTool("greet", { name: "Ada" });
  assert.deepEqual(content, [{ type: "text", text: "Hello Ada" }]);
  await client.close();
  await endpoint.close();
});

// endregion

// region answers
import { scriptedAnswers } from "portolan/testing";

test("forgets a name only after the user confirms", async () => {
  const answers = scriptedAnswers({ action: "decline" }, { action: "accept", content: {} });
  const client = await connectInMemory(greeter, { answers });
  const declined = await client.callTool("forget", { name: "Ada" });
  assert.equal(declined.isError, true);
  const { content } = await client.callTool("forget", { name: "Ada" });
  assert.deepEqual(content, [{ type: "text", text: "Who is Ada?" }]);
  assert.equal(answers.asked.length, 2);
  answers.done();
  await client.close();
});
// endregion

// region transcript
test("sends one request and one response for a call", async () => {
  const client = await connectInMemory(greeter, { revision: "2025-11-25" });
  await client.callTool("greet", { name: "Ada" });
  assert.deepEqual(client.transcript.brief().split("\n").slice(-2), [
    '→ {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"},"_meta":{"progressToken":2}}}',
    '← {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello Ada"}]}}',
  ]);
  assert.equal(client.transcript.sent("tools/call").length, 1);
  await client.close();
});

// endregion

// region clock
test("rejects a call after 60 seconds without a response", async () => {
  const clock = createClock();
  const client = await connectInMemory(greeter, { clock, idleMs: 60_000 });
  const ended = assert.rejects(client.callTool("ponder"), /no progress for 60000 ms/);
  await clock.advance(60_000);
  await ended;
  await client.close();
});

// endregion

// region faults
import { faultyChannel } from "portolan/testing";

for (let seed = 1; seed <= 20; seed += 1) {
  test(`greets or fails with a reason on a faulty channel, seed ${seed}`, async () => {
    const clock = createClock();
    const faults = { seed, clock, drop: 0.1, duplicate: 0.1, reorder: 0.1, delay: 0.5 };
    const greet = async () => {
      const client = await connectInMemory(greeter, { clock, through: (channel) => faultyChannel(channel, faults) });
      const { content } = await client.callTool("greet", { name: "Ada" });
      return JSON.stringify(content);
    };
    const ended = greet().catch((reason) => reason.message);
    await clock.advance(180_000);
    assert.match(await ended, /Hello Ada|did not answer|no progress/);
  });
}
// endregion
