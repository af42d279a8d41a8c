import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { closing, reasonOf, textOf } from "../http-client/kit.ts";
import { startBuffering } from "./relay.ts";

const elicit = () => ({ action: "accept", content: { name: "Ada" } }) as const;

/** A server behind a proxy that keeps every answer back until it is whole. */
async function behind() {
  const fixture = createFixture();
  const { url } = await start(fixture.server, { quietMs: 1 });
  return { fixture, url: await startBuffering(url) };
}

describe.each(["2025-06-18", "2025-11-25", "2026-07-28"])("behind a proxy that buffers whole answers (%s)", (era) => {
  test("calls are answered, and their progress comes late but in order and before the result", async () => {
    const { url } = await behind();
    const client = closing(await connect(url, { era }));
    const told: number[] = [];
    const result = await client.callTool("progress", {}, { onProgress: ({ progress }) => told.push(progress) });
    expect([textOf(result), told]).toEqual(["done", [1, 2, 3]]);
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
    expect(results.map(textOf)).toEqual(texts);
  });

  test("a call that takes longer than its client waits is given up and cancelled", async () => {
    const { fixture, url } = await behind();
    const client = closing(await connect(url, { era }));
    await client.ping();
    const failed = reasonOf(client.callTool("hold", { key: "a" }, { idleMs: 300 }));
    await fixture.noted("holding a");
    expect(await failed).toMatchObject({ code: "timeout", requestMayHaveRun: true });
    await fixture.noted("aborted a");
    expect(textOf(await client.callTool("echo", { text: "next" }))).toBe("next");
  });
});

test("behind a proxy that buffers, a question without a session is asked and answered", async () => {
  const { url } = await behind();
  const client = closing(await connect(url, { era: "stateless", answers: { elicit } }));
  expect(textOf(await client.callTool("ask"))).toBe("Hello Ada");
});

test("behind a proxy that buffers, a question in a session cannot come through, and its call fails in time", async () => {
  const { url } = await behind();
  const client = closing(await connect(url, { era: "stateful", answers: { elicit } }));
  await client.ping();
  const reason = await reasonOf(client.callTool("ask", {}, { idleMs: 300 }));
  expect(reason).toMatchObject({ code: "timeout", requestMayHaveRun: true });
});

test("behind a proxy that buffers, a watch without a session fails in time and says what did not come", async () => {
  const { url } = await behind();
  const client = closing(await connect(url, { era: "stateless", idleMs: 300 }));
  const reason = await reasonOf(client.watch({ tools: true }));
  expect(reason).toMatchObject({ code: "timeout" });
  expect(reason.message).toContain("did not acknowledge");
});

test("behind a proxy that buffers, the stream of a session holds nothing else up", async () => {
  const { fixture, url } = await behind();
  const client = closing(await connect(url, { era: "stateful" }));
  const watch = await client.watch({ tools: true });
  fixture.server.publish("tools/list_changed", {});
  expect(textOf(await client.callTool("echo", { text: "alive" }))).toBe("alive");
  await watch.close();
});
