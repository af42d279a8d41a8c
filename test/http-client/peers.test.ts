import { type Answers, connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { closing, startPeer, textOf, until } from "./kit.ts";

const peers = [
  { file: "sdk-v2.mjs", habit: "auto", era: "stateless" },
  { file: "sdk-v2.mjs", habit: "sse", era: "stateless" },
  { file: "sdk-v2.mjs", habit: "json", era: "stateless" },
  { file: "sdk-v2.mjs", habit: "sessions", era: "stateful" },
  { file: "sdk-v1.mjs", habit: "events", era: "stateful" },
  { file: "sdk-v1.mjs", habit: "json", era: "stateful" },
  { file: "sdk-v1.mjs", habit: "polling", era: "stateful" },
  { file: "sdk-v1.mjs", habit: "sessionless", era: "stateful" },
  { file: "sdk-v1.mjs", habit: "http-sse", era: "stateful" },
] as const;

const answers: Answers = { elicit: () => ({ action: "accept", content: { name: "Ada" } }) };

describe.each(peers)("$file with the habit $habit", ({ file, habit, era }) => {
  const isJson = habit === "json";
  const isOneShot = habit === "sessionless";

  test("is connected to in its era, and its tools are listed and called", async () => {
    const client = closing(await connect(await startPeer(file, habit)));
    expect(client.server.era).toBe(era);
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("echo");
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index} ünï`);
    const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
    expect(results.map(textOf)).toEqual(texts);
  });

  // A reply in JSON has no room for what comes before it.
  if (!isJson)
    test("tells progress in order and before the result", async () => {
      const client = closing(await connect(await startPeer(file, habit)));
      const told: number[] = [];
      const result = await client.callTool("count", { to: 50 }, { onProgress: ({ progress }) => told.push(progress) });
      expect(textOf(result)).toBe("counted");
      expect(told).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    });

  // A reply in JSON has no room for a question, and who keeps no session has nobody to ask.
  if (!((isJson && era === "stateful") || isOneShot))
    test("has its questions answered", async () => {
      const client = closing(await connect(await startPeer(file, habit), { answers }));
      expect(textOf(await client.callTool("ask"))).toBe("Hello Ada");
    });

  // It is aborted when its first progress is heard, and who keeps no session cannot be told so.
  if (!isJson && !isOneShot)
    test("hears that a call is aborted", async () => {
      const client = closing(await connect(await startPeer(file, habit)));
      const abort = new AbortController();
      const call = client.callTool("slow", {}, { signal: abort.signal, onProgress: () => abort.abort() });
      await expect(call).rejects.toMatchObject({ code: "cancelled", requestMayHaveRun: true });
      await until(async () => textOf(await client.callTool("journal")) === "started aborted");
    });

  test("is spoken to through fetch as well", async () => {
    const url = await startPeer(file, habit);
    const client = closing(await connect(http(url, { fetch: globalThis.fetch })));
    expect(client.server.era).toBe(era);
    expect(textOf(await client.callTool("echo", { text: "hello" }))).toBe("hello");
  });
});

test("a stream that its server detaches from is gone on with", async () => {
  const client = closing(await connect(await startPeer("sdk-v1.mjs", "polling")));
  expect(textOf(await client.callTool("detached"))).toBe("you came back");
});

test("changes that no call brings come on the stream of the session", async () => {
  const client = closing(await connect(await startPeer("sdk-v1.mjs", "events")));
  const watch = await client.watch({ tools: true });
  await client.callTool("grow");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "tools" });
    break;
  }
});

test("changes are watched over a stateless server", async () => {
  const client = closing(await connect(await startPeer("sdk-v2.mjs", "auto")));
  const watch = await client.watch({ tools: true });
  await client.callTool("change");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "tools" });
    break;
  }
});

test("a session ends at the server when its client is closed", async () => {
  const url = await startPeer("sdk-v1.mjs", "json");
  const link = http(url);
  const client = await connect(link);
  const { sessionId } = link;
  expect(sessionId).toMatch(/^[!-~]+$/);
  await client.close();
  expect(link.sessionId).toBeUndefined();
  const { status } = await fetch(url, { headers: { "mcp-session-id": sessionId!, accept: "text/event-stream" } });
  expect(status).toBe(404);
});
