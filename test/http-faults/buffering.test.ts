import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { closing, reasonOf, textOf } from "../http-client/kit.ts";
import { startBuffering } from "./relay.ts";

const elicit = () => ({ action: "accept", content: { name: "Ada" } }) as const;

/** Starts a server behind a proxy that buffers every answer until it is complete. */
async function startBehindProxy() {
  const fixture = createFixture();
  const { url } = await start(fixture.server, { quietMs: 1 });
  return { fixture, url: await startBuffering(url) };
}

describe.each(["2025-06-18", "2025-11-25", "2026-07-28"])("behind a proxy that buffers whole answers (%s)", (era) => {
  test("calls are answered, and their progress arrives in order and before the result", async () => {
    const { url } = await startBehindProxy();
    const client = closing(await connect(url, { era }));
    const received: number[] = [];
    const result = await client.callTool("progress", {}, { onProgress: ({ progress }) => received.push(progress) });
    expect([textOf(result), received]).toEqual(["done", [1, 2, 3]]);
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
    expect(results.map(textOf)).toEqual(texts);
  });

  test("a call that exceeds its idle timeout rejects and is cancelled", async () => {
    const { fixture, url } = await startBehindProxy();
    const client = closing(await connect(url, { era }));
    await client.ping();
    const failed = reasonOf(client.callTool("hold", { key: "a" }, { idleMs: 300 }));
    await fixture.noted("holding a");
    expect(await failed).toMatchObject({ code: "timeout", requestMayHaveRun: true });
    await fixture.noted("aborted a");
    expect(textOf(await client.callTool("echo", { text: "next" }))).toBe("next");
  });
});

test("behind a buffering proxy, a stateless request to the client is answered", async () => {
  const { url } = await startBehindProxy();
  const client = closing(await connect(url, { era: "stateless", answers: { elicit } }));
  expect(textOf(await client.callTool("ask"))).toBe("Hello Ada");
});

test("behind a buffering proxy, a call that asks in a session rejects with a timeout", async () => {
  const { url } = await startBehindProxy();
  const client = closing(await connect(url, { era: "stateful", answers: { elicit } }));
  await client.ping();
  const reason = await reasonOf(client.callTool("ask", {}, { idleMs: 300 }));
  expect(reason).toMatchObject({ code: "timeout", requestMayHaveRun: true });
});

test("behind a buffering proxy, a stateless watch rejects with a timeout that names the acknowledgement", async () => {
  const { url } = await startBehindProxy();
  const client = closing(await connect(url, { era: "stateless", idleMs: 300 }));
  const reason = await reasonOf(client.watch({ tools: true }));
  expect(reason).toMatchObject({ code: "timeout" });
  expect(reason.message).toContain("did not acknowledge");
});

test("behind a buffering proxy, the stream of a session does not block calls", async () => {
  const { fixture, url } = await startBehindProxy();
  const client = closing(await connect(url, { era: "stateful" }));
  const watch = await client.watch({ tools: true });
  fixture.server.publish("tools/list_changed", {});
  expect(textOf(await client.callTool("echo", { text: "alive" }))).toBe("alive");
  await watch.close();
});
