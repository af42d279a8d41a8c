import { type Answers, connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { closing, startPeer, textOf, until } from "./kit.ts";

const peers = [
  { file: "sdk-v2.mjs", mode: "auto", era: "stateless" },
  { file: "sdk-v2.mjs", mode: "sse", era: "stateless" },
  { file: "sdk-v2.mjs", mode: "json", era: "stateless" },
  { file: "sdk-v2.mjs", mode: "sessions", era: "stateful" },
  { file: "sdk-v1.mjs", mode: "events", era: "stateful" },
  { file: "sdk-v1.mjs", mode: "json", era: "stateful" },
  { file: "sdk-v1.mjs", mode: "polling", era: "stateful" },
  { file: "sdk-v1.mjs", mode: "sessionless", era: "stateful" },
  { file: "sdk-v1.mjs", mode: "http-sse", era: "stateful" },
] as const;

const answers: Answers = { elicit: () => ({ action: "accept", content: { name: "Ada" } }) };

describe.each(peers)("$file in mode $mode", ({ file, mode, era }) => {
  const isJson = mode === "json";
  const isOneShot = mode === "sessionless";

  test("negotiates its era, lists its tools and answers calls", async () => {
    const client = closing(await connect(await startPeer(file, mode)));
    expect(client.server.era).toBe(era);
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("echo");
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index} ünï`);
    const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
    expect(results.map(textOf)).toEqual(texts);
  });

  // A JSON reply cannot carry notifications.
  if (!isJson)
    test("reports progress in order and before the result", async () => {
      const client = closing(await connect(await startPeer(file, mode)));
      const received: number[] = [];
      const result = await client.callTool(
        "count",
        { to: 50 },
        { onProgress: ({ progress }) => received.push(progress) },
      );
      expect(textOf(result)).toBe("counted");
      expect(received).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    });

  // A JSON reply cannot carry a request to the client, and a server without sessions cannot send one.
  if (!((isJson && era === "stateful") || isOneShot))
    test("receives answers to its requests", async () => {
      const client = closing(await connect(await startPeer(file, mode), { answers }));
      expect(textOf(await client.callTool("ask"))).toBe("Hello Ada");
    });

  // The call is aborted at its first progress, and a server without sessions cannot receive the cancellation.
  if (!isJson && !isOneShot)
    test("is notified of an aborted call", async () => {
      const client = closing(await connect(await startPeer(file, mode)));
      const abort = new AbortController();
      const call = client.callTool("slow", {}, { signal: abort.signal, onProgress: () => abort.abort() });
      await expect(call).rejects.toMatchObject({ code: "cancelled", requestMayHaveRun: true });
      await until(async () => textOf(await client.callTool("journal")) === "started aborted");
    });

  test("also works through fetch", async () => {
    const url = await startPeer(file, mode);
    const client = closing(await connect(http(url, { fetch: globalThis.fetch })));
    expect(client.server.era).toBe(era);
    expect(textOf(await client.callTool("echo", { text: "hello" }))).toBe("hello");
  });
});

test("resumes a stream that the server closed early", async () => {
  const client = closing(await connect(await startPeer("sdk-v1.mjs", "polling")));
  expect(textOf(await client.callTool("detached"))).toBe("you came back");
});

test("changes outside calls arrive on the stream of the session", async () => {
  const client = closing(await connect(await startPeer("sdk-v1.mjs", "events")));
  const watch = await client.watch({ tools: true });
  await client.callTool("grow");
  for await (const change of watch) {
    expect(change).toEqual({ kind: "tools" });
    break;
  }
});

test("watches changes of a stateless server", async () => {
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
