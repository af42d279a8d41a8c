import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { problemsOf } from "./conversation.ts";
import { schemasMissing } from "./official-schema.ts";
import { createTap, passedDuring, type Tap } from "./tap.ts";

const script = fileURLToPath(new URL("./tapped.mjs", import.meta.url));
const question = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

/** Sends one request to a tapped server and reads its answer. */
async function askOnce(tap: Tap, transport: string, ...faults: string[]): Promise<void> {
  const args = ["--import", tap.module(transport === "stdio" ? "stdio" : "http"), script, transport, ...faults];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await gone;
  });
  const lines = createInterface(child.stdout);
  if (transport === "stdio") child.stdin.write(`${question}\n`);
  const [line] = await once(lines, "line");
  if (transport === "stdio") return;
  if (transport !== "http-sse") {
    await (await fetch(line, { method: "POST", body: question })).text();
    return;
  }
  const { body } = await fetch(line);
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  const until = async (word: string) => {
    for (let received = ""; !received.includes(word); ) received += (await reader.read()).value;
  };
  await until("sessionId");
  await fetch(new URL("/messages?sessionId=1", line), { method: "POST", body: question });
  await until("result");
  await reader.cancel();
}

const transports = [
  ["stdio", "1.jsonl stdio"],
  ["json", "1.jsonl request 1"],
  ["events", "1.jsonl s"],
  ["http-sse", "1.jsonl /messages?sessionId=1"],
] as const;

test.each(transports)("a tap records both sides over %s", async (transport, connection) => {
  const tap = createTap("2025-11-25");
  await askOnce(tap, transport);
  const about = { connection, revision: "2025-11-25" };
  const result = { tools: [{ name: "grüße", inputSchema: { type: "object" } }] };
  expect(tap.passed()).toEqual([
    { ...about, from: "client", message: JSON.parse(question) },
    { ...about, from: "server", message: { jsonrpc: "2.0", id: 1, result } },
  ]);
  tap.expectValid("server", 1);
});

test.skipIf(schemasMissing).each(transports)("an altered message over %s fails the check", async (transport) => {
  const tap = createTap("2025-11-25");
  await askOnce(tap, transport, "tampered");
  expect(() => tap.expectValid("server", 1)).toThrow(/must have required property 'name'/);
});

test("a tap with fewer messages than expected fails the check", async () => {
  const tap = createTap("2025-11-25");
  await askOnce(tap, "json");
  expect(() => tap.expectValid("client", 2)).toThrow("expected 1 to be greater than or equal to 2");
});

test("passedDuring records the messages of this process's servers until the action ends", async () => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end(wrong));
  });
  const wrong = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tool: [] } });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const ask = async () => void (await (await fetch(url, { method: "POST", body: question })).text());
  const passed = await passedDuring("2025-11-25", ask);
  await ask();
  expect(passed.map(({ from, message }) => [from, message])).toEqual([
    ["client", JSON.parse(question)],
    ["server", JSON.parse(wrong)],
  ]);
  if (!schemasMissing) expect(problemsOf(passed, "server")[0]).toContain("must have required property 'tools'");
});
