import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openRecorder, readRecording, replaceMember } from "./recording.ts";
import { endCutRecording } from "./recording-file.ts";
import { redactMessage } from "./redact.ts";

const system = { pid: 1, onExit: () => () => {} };

function makeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-recording-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "x.jsonl");
}

describe("replaceMember", () => {
  test("changes the member and no other byte", () => {
    const text = '{ "a":{"id":1}, "b":"\\"id\\":2", "id" : "x\\"y" ,"c":[{"id":3}],"n":1.0 }';
    expect(replaceMember(text, "id", "7")).toBe('{ "a":{"id":1}, "b":"\\"id\\":2", "id" :7 ,"c":[{"id":3}],"n":1.0 }');
  });

  test("leaves text without the member unchanged", () => {
    expect(replaceMember('{"a":[{"id":1}]}', "id", "7")).toBe('{"a":[{"id":1}]}');
  });

  test("has the same effect as changing the parsed value", () => {
    const ids = fc.oneof(fc.string(), fc.integer(), fc.constant(null));
    const property = fc.property(fc.jsonValue(), ids, ids, fc.boolean(), (rest, before, after, isFirst) => {
      const value = isFirst ? { id: before, rest } : { rest, id: before };
      const changed = replaceMember(JSON.stringify(value), "id", JSON.stringify(after));
      expect(changed).toBe(JSON.stringify({ ...value, id: after }));
    });
    fc.assert(property, { numRuns: 300 });
  });
});

test("reads a recording as it was written, without a line that was cut off", () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: true }, system);
  const text = '{"jsonrpc":"2.0", "id":1.0, "method":"a","params":{"message":"}"} }';
  recorder.add("client", text);
  recorder.add("server", "not json");
  recorder.add("server", { jsonrpc: "2.0", id: 1, result: {} });
  recorder.add("client", '[{"jsonrpc":"2.0","method":"b"},{"jsonrpc":"2.0","method":"c"}]');
  recorder.close();
  writeFileSync(file, '{"at":9,"from":"server","mess', { flag: "a" });
  const { header, messages } = readRecording(file);
  expect(header).toMatchObject({ recording: 1, server: "x", by: "test", redacted: false });
  expect(messages.map((each) => [each.from, each.text])).toEqual([
    ["client", text],
    ["server", '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ["client", '{"jsonrpc":"2.0","method":"b"}'],
    ["client", '{"jsonrpc":"2.0","method":"c"}'],
  ]);
});

test("leaves out a message that is nested deeper than the stack, and goes on", () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: false }, system);
  const deep = `${"[".repeat(20_000)}"password"${"]".repeat(20_000)}`;
  recorder.add("server", `{"jsonrpc":"2.0","id":1,"result":{"token":"sesame-open-1234567","x":${deep}}}`);
  recorder.add("server", '{"jsonrpc":"2.0","id":2,"result":{}}');
  recorder.close();
  expect(readFileSync(file, "utf8")).toContain('"message":"left out: nested too deeply to be recorded"');
  expect(readRecording(file).messages.map(({ text }) => text)).toEqual(['{"jsonrpc":"2.0","id":2,"result":{}}']);
});

test("redacts secrets in messages and keeps schemas", () => {
  const schema = { type: "object", properties: { password: { type: "string", default: "Bearer abc.def-123" } } };
  const kept = { type: "object", properties: { password: { type: "string", default: "[redacted]" } } };
  expect(redactMessage({ result: { tools: [{ name: "a", inputSchema: schema }], password: "hunter2" } })).toEqual({
    result: { tools: [{ name: "a", inputSchema: kept }], password: "[redacted]" },
  });
});

test("records a message without secrets byte for byte", () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: false }, system);
  const text = '{"jsonrpc":"2.0","id":1 ,"result":{"inputSchema":{"properties":{"token":{"type":"string"}}}, "n":1.0}}';
  recorder.add("server", text);
  recorder.close();
  expect(readFileSync(file, "utf8")).toContain(text);
});

test("redacts a secret found late in earlier lines", () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: false }, system);
  const untouched = '{"jsonrpc":"2.0", "method":"a","params":{"n":1.0}}';
  recorder.add("server", untouched);
  recorder.add("server", '{"jsonrpc":"2.0","method":"b","params":{"text":"try s3same-open"}}');
  expect(readFileSync(file, "utf8")).toContain("s3same-open");
  recorder.add("client", '{"jsonrpc":"2.0","id":1,"method":"c","params":{"password":"s3same-open"}}');
  recorder.close();
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain("s3same-open");
  expect(text).toContain(untouched);
  expect(readRecording(file).messages).toHaveLength(3);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

const notes = (...texts: string[]) =>
  texts.map((text) => JSON.stringify({ jsonrpc: "2.0", method: "note", params: { text } }));
const password = '{"jsonrpc":"2.0","id":1,"method":"c","params":{"password":"s3same-open"}}';

test("redacts a secret found late at once, while further messages are recorded", async () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: false }, system);
  // A line separator within a message does not end its line in the file.
  const early = notes("one\u2028two", "try s3same-open", "x".repeat(3_000_000));
  for (const text of early) recorder.add("server", text);
  recorder.add("client", password);
  for (const text of notes("three", "four")) recorder.add("server", text);
  await expect.poll(() => readFileSync(file, "utf8")).not.toContain("s3same-open");
  for (const text of notes("five")) recorder.add("server", text);
  expect(existsSync(`${file}.1.tmp`)).toBe(false);
  recorder.add("client", '{"jsonrpc":"2.0","method":"d","params":{"token":"another-0pen"}}');
  recorder.add("server", notes("another-0pen, five")[0] ?? "");
  await recorder.end();
  const { messages } = readRecording(file);
  const texts = messages.map(({ text }) => JSON.parse(text).params.text?.slice(0, 40));
  expect(texts).toEqual([
    ...["one\u2028two", "try [redacted]", "x".repeat(40), undefined, "three", "four", "five", undefined],
    "[redacted], five",
  ]);
  expect(readdirSync(dirname(file))).toEqual(["x.jsonl"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a recording whose program is killed says whether a secret found late is still in it", async () => {
  const file = makeFile();
  const recorder = openRecorder(file, { server: "x", by: "test", isRaw: false }, system);
  recorder.add("server", notes("try s3same-open")[0] ?? "");
  recorder.add("client", password);
  // The files as a program leaves them that is killed now, and a moment later.
  const killed = makeFile();
  for (const ending of ["", ".1.tmp"]) copyFileSync(`${file}${ending}`, `${killed}${ending}`);
  const later = makeFile();
  await expect.poll(() => readFileSync(file, "utf8")).not.toContain("s3same-open");
  copyFileSync(file, later);
  recorder.close();
  const lastLineOf = async (path: string) => {
    writeFileSync(path, '{"at":9,"from":"ser', { flag: "a" });
    await endCutRecording(path);
    expect(readdirSync(dirname(path))).toEqual(["x.jsonl"]);
    return readFileSync(path, "utf8").split("\n").at(-2);
  };
  expect(await lastLineOf(killed)).toBe('{"at":0,"note":{"cut":true,"mayHaveSecrets":true}}');
  expect(await lastLineOf(later)).toBe('{"at":0,"note":{"cut":true}}');
});
