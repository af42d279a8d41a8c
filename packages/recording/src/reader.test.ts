import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PortolanError } from "portolan";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { catalogIn, diffCatalogs } from "./catalogs.ts";
import { loadRecording, openRecording, type RecordingReader, type RecordingRow } from "./reader.ts";
import { openRecordedServer } from "./recorded-channel.ts";
import { openRecorder, type Recorder, readRecording } from "./recording.ts";
import { endCutRecording } from "./recording-file.ts";

const noProcess = { pid: 1, onExit: () => () => {} };

function start(isRaw = false): { file: string; recorder: Recorder } {
  const folder = mkdtempSync(join(tmpdir(), "portolan-recording-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "talk.jsonl");
  return { file, recorder: openRecorder(file, { server: "s", by: "test", isRaw }, noProcess) };
}

async function openFile(file: string): Promise<RecordingReader> {
  const reader = await openRecording(file);
  onTestFinished(() => reader.close());
  return reader;
}

const call = (id: number, text = "") =>
  `{"jsonrpc":"2.0","id":${id},"method":"x","params":{"big":12345678901234567890,"t":"${text}"}}`;
const numbers = (rows: readonly RecordingRow[]) => rows.map(({ n }) => n);

test("reads pages from both ends, byte for byte", async () => {
  const { file, recorder } = start();
  for (let id = 1; id <= 1_200; id += 1) recorder.add("client", call(id, "ü\\n"));
  recorder.close();
  const reader = await openFile(file);
  expect([reader.rowCount, reader.isCut, reader.header.server]).toEqual([1_200, false, "s"]);
  expect(numbers(await reader.page({ limit: 3 }))).toEqual([1_198, 1_199, 1_200]);
  expect(numbers(await reader.page({ after: 2, limit: 2 }))).toEqual([3, 4]);
  expect(numbers(await reader.page({ before: 3 }))).toEqual([1, 2]);
  expect(await reader.page({ after: 1_200 })).toEqual([]);
  expect(await reader.page({ after: 9_999 })).toEqual([]);
  expect(await reader.page({ before: 1 })).toEqual([]);
  expect(await reader.page({ after: 0, limit: 100_000 })).toHaveLength(500);
  const [row] = await reader.page({ after: 6, limit: 1 });
  expect(row).toMatchObject({ n: 7, kind: "message", from: "client", text: call(7, "ü\\n") });
  const all: number[] = [];
  for await (const { n } of reader.rows()) all.push(n);
  expect(all).toEqual(Array.from({ length: 1_200 }, (_, at) => at + 1));
});

test("a page of long rows has fewer of them, and at least one", async () => {
  const { file, recorder } = start(true);
  for (let id = 1; id <= 5; id += 1) recorder.add("client", call(id, "x".repeat(9 * 1024 * 1024)));
  recorder.close();
  const reader = await openFile(file);
  expect(numbers(await reader.page({ after: 0 }))).toEqual([1]);
  expect(numbers(await reader.page())).toEqual([5]);
});

test("keeps lines of HTTP, standard error and notes, which the reader of messages skips", async () => {
  const { file, recorder } = start();
  recorder.hear({ at: 1, kind: "message", from: "client", text: call(1) });
  recorder.hear({ at: 2, kind: "http", exchange: 1, stage: "status", status: 200, headers: { "x-message": "1" } });
  recorder.hear({ at: 3, kind: "stderr", line: 'ready {"message":{"id":1}}' });
  recorder.hear({ at: 4, kind: "link", state: "lost", reason: "gone" });
  recorder.close();
  const reader = await openFile(file);
  const rows = await reader.page();
  expect(rows.map(({ kind, text }) => [kind, text])).toEqual([
    ["message", call(1)],
    ["http", '{"exchange":1,"stage":"status","status":200,"headers":{"x-message":"1"}}'],
    ["stderr", 'ready {"message":{"id":1}}'],
    ["note", '{"link":{"state":"lost","reason":"gone"}}'],
  ]);
  expect(readRecording(file).messages.map(({ text }) => text)).toEqual([call(1)]);
  expect((await loadRecording(reader)).messages).toEqual(readRecording(file).messages);
});

test.each(["close", "end"] as const)(
  "%s removes a late secret from all lines, also from those of other kinds",
  async (how) => {
    const { file, recorder } = start();
    recorder.hear({ at: 1, kind: "stderr", line: "starting with hunter2-secret-value" });
    recorder.add("client", '{"jsonrpc":"2.0","method":"say","params":{"text":"hunter2-secret-value"}}');
    recorder.add("client", '{"jsonrpc":"2.0","method":"login","params":{"password":"hunter2-secret-value"}}');
    await recorder[how]();
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain("hunter2");
    expect(text.split("\n")).toHaveLength(5);
    expect((await openFile(file)).rowCount).toBe(3);
  },
);

test("finds text in any case", async () => {
  const { file, recorder } = start();
  for (let id = 1; id <= 600; id += 1) recorder.add("client", call(id, id % 100 === 0 ? "Needle" : "hay"));
  recorder.close();
  const reader = await openFile(file);
  expect(numbers(await reader.find("nEEdle"))).toEqual([100, 200, 300, 400, 500, 600]);
  expect(numbers(await reader.find("needle", { limit: 2 }))).toEqual([100, 200]);
  await expect(reader.find("x", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("lets other work pass while it searches a large recording", async () => {
  const { file, recorder } = start(true);
  for (let id = 1; id <= 40_000; id += 1) recorder.add("client", call(id, "x".repeat(200)));
  recorder.close();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const reader = await openFile(file);
  await reader.find("nowhere");
  isOver = true;
  expect(turns).toBeGreaterThan(20);
});

test("opens a recording that was cut, and says so", async () => {
  const { file, recorder } = start();
  recorder.add("client", call(1));
  recorder.add("client", call(2));
  recorder.close();
  truncateSync(file, readFileSync(file).length - 5);
  const cut = await openFile(file);
  expect([cut.rowCount, cut.isCut]).toEqual([1, true]);
  appendFileSync(file, "\nnot json\n");
  expect((await (await openFile(file)).page()).map(({ kind }) => kind)).toEqual(["message", "invalid", "invalid"]);
});

test.each([10, 200_000])("ends a recording that was cut after %i characters of a line", async (chars) => {
  const { file, recorder } = start();
  recorder.add("client", '{"jsonrpc":"2.0","method":"say","params":{"big":12345678901234567890}}');
  recorder.add("client", call(2));
  appendFileSync(file, `{"at":3,"from":"client","message":{"text":"${"x".repeat(chars)}`);
  await endCutRecording(file);
  const text = readFileSync(file, "utf8");
  expect(text).toContain("12345678901234567890");
  expect(text).not.toContain("xxx");
  const rows = await (await openFile(file)).page();
  expect(rows.map(({ kind }) => kind)).toEqual(["message", "message", "note"]);
  expect(rows.at(-1)?.text).toBe('{"cut":true}');
  expect(readRecording(file).messages).toHaveLength(2);
});

test.each([
  ["nothing", ""],
  ["another file", '{"a":1}\n'],
])("refuses %s", async (_, text) => {
  const { file } = start();
  writeFileSync(file, text);
  await expect(openRecording(file)).rejects.toThrow("is not a recording");
  await expect(openRecording(`${file}.none`)).rejects.toThrow(PortolanError);
  await expect(openRecording(join(file, ".."))).rejects.toThrow("expected a file");
});

test("a recording serves clients in this process, and tells the catalog of its server", async () => {
  const { file, recorder } = start();
  const say = (from: "client" | "server", message: object) =>
    recorder.add(from, JSON.stringify({ jsonrpc: "2.0", ...message }));
  say("client", { id: 1, method: "initialize", params: {} });
  say("server", {
    id: 1,
    result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
  });
  say("client", { id: 2, method: "tools/list" });
  say("server", { id: 2, result: { tools: [{ name: "a", inputSchema: { type: "object" } }], nextCursor: "2" } });
  say("client", { id: 3, method: "tools/list", params: { cursor: "2" } });
  say("server", { id: 3, result: { tools: [{ name: "b", inputSchema: { type: "object" } }] } });
  say("client", { id: 4, method: "tools/call", params: { name: "a", arguments: {} } });
  say("server", { id: 4, result: { content: [{ type: "text", text: "recorded" }] } });
  recorder.close();
  const reader = await openFile(file);
  const lists = await catalogIn(reader);
  expect(lists.tools.map(({ name }) => name)).toEqual(["a", "b"]);
  const client = await connect(openRecordedServer(await loadRecording(reader)), { era: "2025-06-18" });
  onTestFinished(() => client.close());
  expect(await client.callTool("a", {})).toMatchObject({ content: [{ text: "recorded" }] });
});

test("compares two catalogs, with the paths that differ", () => {
  const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" as const }, ...more });
  const empty = { tools: [], resources: [], templates: [], prompts: [] };
  const before = { ...empty, tools: [tool("same"), tool("old"), tool("edited", { description: "a" })] };
  const after = {
    ...empty,
    tools: [tool("new"), tool("edited", { description: "b" }), tool("same")],
    prompts: [{ name: "p" }],
  };
  expect(diffCatalogs(before, after)).toEqual([
    { kind: "tool", name: "old", how: "removed", changes: [] },
    { kind: "tool", name: "new", how: "added", changes: [] },
    { kind: "tool", name: "edited", how: "changed", changes: [{ path: "description", before: "a", after: "b" }] },
    { kind: "prompt", name: "p", how: "added", changes: [] },
  ]);
  expect(diffCatalogs(after, after)).toEqual([]);
});
