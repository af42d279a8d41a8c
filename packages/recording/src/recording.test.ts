import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { openRecorder, readRecording, replaceMember } from "./recording.ts";
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
