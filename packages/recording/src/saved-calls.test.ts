import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { callsFile, changeCalls, readCalls, type SavedCall } from "./saved-calls.ts";

function makeProject(content?: unknown): string {
  const project = mkdtempSync(join(tmpdir(), "portolan-calls-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  if (content === undefined) return project;
  mkdirSync(dirname(callsFile(project)));
  writeFileSync(callsFile(project), typeof content === "string" ? content : JSON.stringify(content));
  return project;
}

const saved = (name: string, more: Partial<SavedCall> = {}): SavedCall => ({
  ...{ name, server: "files", tool: "read", argumentsText: '{"path":"a","n":12345678901234567890}', expect: [] },
  ...more,
});

test("there are no calls without a file", async () => {
  const project = makeProject();
  expect(await readCalls(project)).toEqual({ file: join(project, ".portolan/calls.json"), calls: [] });
});

test("writes calls in the order of their names, and reads them again with all digits", async () => {
  const project = makeProject();
  await changeCalls(project, () => [
    saved("b"),
    saved("a", { expect: [{ path: "content[0].text", is: "x" }, { schema: true }] }),
  ]);
  const text = readFileSync(callsFile(project), "utf8");
  expect(text).toMatch(/^\{\n {2}"version": 1,\n {2}"calls": \[\n {4}\{\n {6}"name": "a",/);
  expect(text.endsWith("}\n")).toBe(true);
  const { calls } = await readCalls(project);
  expect(calls.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(calls[0]).toEqual(saved("a", { expect: [{ path: "content[0].text", is: "x" }, { schema: true }] }));
  await changeCalls(project, (before) => before.toReversed());
  expect(readFileSync(callsFile(project), "utf8")).toBe(text);
  expect(statSync(callsFile(project)).mode & 0o600).toBe(0o600);
  expect(readdirSync(dirname(callsFile(project)))).toEqual(["calls.json"]);
});

test("changes at the same time do not lose each other", async () => {
  const project = makeProject();
  const names = Array.from({ length: 10 }, (_, at) => `call-${at}`);
  await Promise.all(names.map((name) => changeCalls(project, (calls) => [...calls, saved(name)])));
  expect((await readCalls(project)).calls.map(({ name }) => name)).toEqual(names);
});

test.each([
  ["{\n  'a'", ":2:3: expected JSON"],
  ["", ":1:1: expected JSON"],
  ['{"version":1,"calls":[', ":1:23: expected JSON"],
  [[], ": expected an object"],
  [{ version: 2, calls: [], more: 1 }, ": version: expected 1; the file was written by a newer version of portolan"],
  [{ calls: [] }, ": version: expected 1"],
  [{ version: 1, calls: {} }, ": calls: expected a list"],
  [{ version: 1, calls: [], own: 1 }, ": own: expected no member of this name"],
  [{ version: 1, calls: [{ ...saved("a"), tool: 1 }] }, ": calls[0].tool: expected a text"],
  [{ version: 1, calls: [{ ...saved("a"), extra: 1 }] }, ": calls[0].extra: expected no member of this name"],
  [
    { version: 1, calls: [saved("a"), saved("a")] },
    ': calls[1].name: expected a name of its own; another call is named "a"',
  ],
  [
    { version: 1, calls: [saved("a", { argumentsText: "[1]" })] },
    ": calls[0].argumentsText: expected a JSON object, written as a text",
  ],
  [
    { version: 1, calls: [{ ...saved("a"), expect: [{ path: "a", matches: "(" }] }] },
    ": calls[0].expect[0]: expected matches: a regular expression",
  ],
  [
    { version: 1, calls: [{ ...saved("a"), expect: [{ path: "a..b", is: 1 }] }] },
    ": calls[0].expect[0]: expected a path such as",
  ],
  [
    { version: 1, calls: [{ ...saved("a"), expect: [{ is: 1 }] }] },
    ": calls[0].expect[0]: expected path and is, path and matches",
  ],
  [
    { version: 1, calls: Array.from({ length: 1_001 }, (_, at) => saved(String(at))) },
    ": calls: expected at most 1000 calls",
  ],
])("reports the place of an error in %j, and never overwrites the file", async (content, problem) => {
  const project = makeProject(content);
  const before = readFileSync(callsFile(project), "utf8");
  const read = await readCalls(project);
  expect(read.problem?.slice(read.file.length, read.file.length + problem.length)).toBe(problem);
  expect(read.calls).toEqual([]);
  await expect(changeCalls(project, () => [saved("mine")])).rejects.toThrow(problem);
  expect(readFileSync(callsFile(project), "utf8")).toBe(before);
});

test("reports a folder and a file that is too large", async () => {
  const folder = makeProject();
  mkdirSync(callsFile(folder), { recursive: true });
  expect((await readCalls(folder)).problem).toContain("expected a file");
  const large = makeProject(" ".repeat(4 * 1024 * 1024 + 1));
  expect((await readCalls(large)).problem).toContain("expected at most 4194304 bytes");
});

test.each([
  ['{"token":"hunter2-secret"}', "token"],
  ['{"a":{"list":[{"apiKey":"sk-1234567890abcdef"}]}}', "a.list.0.apiKey"],
  ['{"header":"Bearer abcdefghijklmnop1234"}', "header"],
])("refuses to write a secret: %s", async (argumentsText, path) => {
  const project = makeProject();
  const written = changeCalls(project, () => [saved("a", { argumentsText })]);
  await expect(written).rejects.toThrow(`the argument ${path} of "a" is a secret`);
  expect((await readCalls(project)).calls).toEqual([]);
});

test("a reference to a variable is no secret", async () => {
  const argumentsText = ['{"token":"$', '{env:TOKEN}","header":"Bearer $', '{env:TOKEN}","password":""}'].join("");
  const project = makeProject();
  await changeCalls(project, () => [saved("a", { argumentsText })]);
  expect((await readCalls(project)).calls[0]?.argumentsText).toBe(argumentsText);
});

test("refuses a call without the right form, and keeps the file as it is", async () => {
  const project = makeProject();
  await changeCalls(project, () => [saved("a")]);
  await expect(changeCalls(project, (calls) => [...calls, saved("")])).rejects.toThrow(
    "calls[0].name: expected a text",
  );
  await expect(changeCalls(project, (calls) => [...calls, saved("b", { argumentsText: "1" })])).rejects.toThrow(
    "calls[1].argumentsText",
  );
  expect((await readCalls(project)).calls).toEqual([saved("a")]);
});
