import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { revisions } from "../kit/revisions.ts";
import { portolan, runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";

/** A server that asks, reports progress and can be cancelled during a call. */
const talker = `import { createServer } from "portolan/server";
export const server = createServer({ name: "talker", version: "1" })
  .tool("ask", {
    async run(_, ctx) {
      await ctx.progress(1, 3, "asking");
      const { content } = await ctx.sample("poem", { messages: [{ role: "user", content: { type: "text", text: "a poem" } }], maxTokens: 9 });
      await ctx.progress(2, 3, "asked");
      return "it says " + [content].flat()[0].text;
    },
  })
  .tool("slow", {
    async run(_, ctx) {
      await ctx.progress(1, 2, "begun");
      await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
    },
  });
`;
const files = {
  "talker.mjs": talker,
  "stdio.mjs":
    'import { serveStdio } from "portolan/server/stdio";\nimport { server } from "./talker.mjs";\nserveStdio(server);\n',
};

const optionsFor = (era: string): ConnectOptions => ({
  era,
  answers: {
    sample: () => ({ role: "assistant", content: { type: "text", text: "roses" }, model: "m", stopReason: "endTurn" }),
  },
});

/** Uses everything that it offers. Returns what the client received. */
async function talk(client: Client) {
  const steps: unknown[] = [];
  const answer = await client.callTool("ask", {}, { onProgress: ({ message }) => steps.push(message) });
  const stop = new AbortController();
  const begun = vi.fn(() => stop.abort());
  await expect(client.callTool("slow", {}, { signal: stop.signal, onProgress: begun })).rejects.toThrow(/abort/);
  // The server still answers after a cancelled call.
  const again = await client.callTool("ask");
  return { answer, again, steps: new Set(steps), begun: begun.mock.calls.length };
}

/** Records a conversation with a target, and repeats it with the recording and with the target. */
async function proveRecording(folder: string, revision: string, target: readonly string[]) {
  const file = join(folder, "talk.jsonl");
  const env = { HOME: folder, PORTOLAN_HOME: join(folder, ".portolan") };
  const own = (...args: string[]) => ({ command: process.execPath, args: [portolan, ...args], cwd: folder, env });
  const client = await connect(own("record", "--out", file, ...target), optionsFor(revision));
  const first = await talk(client);
  await client.close();
  expect(first).toMatchObject({ answer: { content: [{ text: "it says roses" }] }, begun: 1 });
  const mock = await connect(own("serve-recording", file), optionsFor(revision));
  expect(await talk(mock)).toEqual(first);
  await mock.close();
  const checked = await runPortolan(["replay", file, "--check", ...target], { cwd: folder });
  expect(checked).toMatchObject({ code: 0, stderr: "" });
}

describe.each(revisions)("questions, progress and a cancelled call on %s", (revision) => {
  test("are replayed over stdio", async () => {
    await proveRecording(makeProject(files), revision, ["--", process.execPath, "stdio.mjs"]);
  });

  test("are replayed with a server at an address", async () => {
    const folder = makeProject(files);
    const { server } = (await import(join(folder, "talker.mjs"))) as { server: ReturnType<typeof createServer> };
    const serving = serveHttp(server, { httpSse: true });
    onTestFinished(() => serving.close(0));
    const { url } = await serving.listen(0);
    await proveRecording(folder, revision, [revision === "2024-11-05" ? url.replace("/mcp", "/sse") : url]);
  });
});

test("a recorder of an address ends with its client after a cancelled call", async () => {
  const folder = makeProject();
  const server = createServer({ name: "x", version: "1" }).tool("slow", { run: () => new Promise(() => {}) });
  const serving = serveHttp(server);
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen(0);
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const lines = [
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "slow", _meta } },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
  ];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const ran = await runPortolan(["record", url, "--out", "x.jsonl"], { cwd: folder, input });
  expect(ran).toMatchObject({ code: 0, stdout: "" });
});

test("ends a server that cannot be proxied", async () => {
  const folder = makeProject();
  const said = [
    { recording: 1, by: "x", server: "x", startedAt: "2026-01-01T00:00:00Z", redacted: true },
    { at: 1, from: "client", message: { jsonrpc: "2.0", id: 1, method: "initialize", params: {} } },
    {
      at: 2,
      from: "server",
      message: {
        jsonrpc: "2.0",
        id: 1,
        result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
      },
    },
    { at: 3, from: "client", message: { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} } },
    { at: 4, from: "server", message: { jsonrpc: "2.0", id: 2, error: { code: -32000, message: "no tools today" } } },
  ];
  writeFileSync(join(folder, "x.jsonl"), said.map((line) => JSON.stringify(line)).join("\n"));
  const ran = await runPortolan(["serve", "x.jsonl", "--http", "0"], { cwd: folder });
  expect(ran.code).toBe(8);
  expect(ran.stderr).toContain("no tools today");
});
