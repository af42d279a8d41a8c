import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeHome } from "./kit.ts";
import { broken, errorOf, fileOf, notes, put, runPortolan, showOf } from "./manage-kit.ts";
import { expectValid } from "./output-schema.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;

interface Tested {
  readonly passed: number;
  readonly failed: number;
  readonly calls: readonly {
    readonly name: string;
    readonly isPassed: boolean;
    readonly problems: readonly string[];
    readonly next?: string;
  }[];
}

function saved(name: string, server: string, tool: string, args: object, expectations: readonly object[] = []): object {
  return { name, server, tool, argumentsText: JSON.stringify(args), expect: expectations };
}

async function makeProject(calls: readonly object[]): Promise<string> {
  const cwd = makeHome();
  await showOf(["add", "notes", "--", node, notes], { cwd });
  put(cwd, ".portolan/calls.json", { version: 1, calls });
  return cwd;
}

const adding = saved("add", "notes", "add_note", { title: "milk", text: "two" }, [
  { path: "content[0].type", is: "text" },
]);

test("runs all saved calls, and the named ones", async () => {
  const reading = saved("read nothing", "notes", "nothing", {}, [{ isError: true }]);
  const cwd = await makeProject([adding, reading, saved("by file", broken, "echo", { word: "x" })]);
  const all = await runPortolan(["test"], { cwd });
  expectValid("test", all.stdout);
  const { calls } = JSON.parse(all.stdout) as Tested;
  expect(calls.map(({ name, isPassed }) => [name, isPassed])).toEqual([
    ["add", true],
    ["read nothing", false],
    ["by file", true],
  ]);
  expect([all.code, errorOf(all)]).toMatchObject([
    1,
    { kind: "failed", message: "1 of 3 saved calls failed", next: "portolan test 'read nothing'" },
  ]);
  const some = await showOf<Tested>(["test", "add", "by *", "--timeout", "20"], { cwd });
  expect([some.passed, some.failed, some.calls.length]).toEqual([2, 0, 2]);
});

test("the saved calls of the example pass", async () => {
  const folder = dirname(dirname(fileOf("examples/saved-calls/.portolan/calls.json")));
  const home = makeHome();
  const env = { HOME: home, PORTOLAN_HOME: `${home}/state` };
  const { code, stdout } = await runPortolan(["test"], { cwd: folder, env });
  expect([code, JSON.parse(stdout).passed]).toEqual([0, 2]);
});

test("shows on a terminal what was not as expected", async () => {
  const cwd = await makeProject([
    adding,
    saved("wrong", "notes", "add_note", { title: "a", text: "b" }, [{ path: "content[0].type", is: "image" }]),
  ]);
  const terminal = openTerminal(["test"], { cwd, columns: 100, env: { PORTOLAN_HOME: `${cwd}/state` } });
  expect(await terminal.exited).toBe(1);
  const screen = terminal.screen();
  expect(screen).toMatch(/✓ add notes\.add_note \d+ ms/);
  expect(screen).toContain('content[0].type is "text"; expected "image"');
  expect(screen).toContain("✗ failed: 1 of 2 saved calls failed");
  expect(screen).not.toContain("passed");
});

test("a server that is not trusted is denied, with the step that trusts it", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { notes: { command: node, args: [notes] } } });
  put(cwd, ".portolan/calls.json", { version: 1, calls: [adding] });
  const ran = await runPortolan(["test"], { cwd });
  const why = "notes is not trusted yet, so it was not started";
  expect([ran.code, errorOf(ran)]).toEqual([
    6,
    { kind: "denied", message: `${why}; 1 of 1 saved call failed`, next: "portolan trust notes" },
  ]);
  expectValid("test", ran.stdout);
  expect(JSON.parse(ran.stdout).calls).toMatchObject([{ problems: [why], next: "portolan trust notes" }]);
});

test("each call without a result has its next step, and the last one keeps the flags", async () => {
  const lines = saved("lines", "notes", "add_note", { title: "a", text: "b" }, [
    { path: "content[0].text", is: "x\ny" },
  ]);
  const misspelt = saved("misspelt", "notes", "add_notes", {});
  const dead = saved("dead", "http://127.0.0.1:1/mcp", "x", {});
  const cwd = await makeProject([misspelt, dead, saved("gone", "note", "x", {}), lines]);
  const ran = await runPortolan(["test", "--timeout", "20"], { cwd });
  const [first, second, third] = (JSON.parse(ran.stdout) as Tested).calls;
  expect(first).toMatchObject({
    problems: ['notes has no tool "add_notes"; did you mean add_note or find_notes?'],
    next: "portolan ls notes",
  });
  expect(second?.next).toBe("portolan doctor http://127.0.0.1:1/mcp");
  expect(third).toMatchObject({
    problems: ['no server is named "note"; did you mean notes?'],
    next: "portolan servers",
  });
  expect([ran.code, errorOf(ran).next]).toEqual([1, "portolan test misspelt dead gone --timeout 20"]);
  const terminal = openTerminal(["test", "misspelt"], { cwd, columns: 100, env: { PORTOLAN_HOME: `${cwd}/state` } });
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toMatch(/did you mean add_note or find_notes\?\n {4}→ portolan ls notes\n/);
});

test("a problem of several lines is shown in lines", async () => {
  const cwd = makeHome();
  put(cwd, "bad/.mcp.json", "{");
  put(cwd, "bad/.portolan/calls.json", { version: 1, calls: [saved("gone", "nobody", "x", {})] });
  const env = { HOME: cwd, PORTOLAN_HOME: `${cwd}/state` };
  const terminal = openTerminal(["test"], { cwd: join(cwd, "bad"), columns: 100, env });
  expect(await terminal.exited).toBe(1);
  expect(terminal.screen()).toMatch(/no server is named "nobody"\n {4}could not read: /);
  expect(terminal.screen()).not.toContain("u{a}");
});

test("a server that cannot be used fails its own calls only", async () => {
  const cwd = await makeProject([
    adding,
    saved("gone", "nobody", "x", {}),
    saved("dead", "http://127.0.0.1:1/mcp", "x", {}),
  ]);
  const { stdout } = await runPortolan(["test"], { cwd });
  const { calls } = JSON.parse(stdout) as Tested;
  expect(calls.map(({ isPassed }) => isPassed)).toEqual([true, false, false]);
  expect(calls[1]?.problems[0]).toContain('no server is named "nobody"');
  expect(calls[2]?.problems[0]).toContain("127.0.0.1:1");
});

test("puts variables of the shell into the arguments, and shows no value of them", async () => {
  const text = ["$", "{env:NOTE_SECRET}"].join("");
  const call = saved("secret", "notes", "add_note", { title: text, text: "b" }, [
    { path: "content[0].text", matches: "^nothing$" },
  ]);
  const cwd = await makeProject([call]);
  const ran = await runPortolan(["test"], { cwd, env: { NOTE_SECRET: "hunter2-secret" } });
  expect(ran.code).toBe(1);
  expect(ran.stdout + ran.stderr).not.toContain("hunter2");
  const missing = await runPortolan(["test"], { cwd });
  expect((JSON.parse(missing.stdout) as Tested).calls[0]?.problems).toEqual(["the variable NOTE_SECRET is not set"]);
});

test("refuses a file with errors, an unknown name, and a project without calls", async () => {
  const cwd = await makeProject([adding]);
  const unknown = await runPortolan(["test", "ad"], { cwd });
  expect([unknown.code, errorOf(unknown).message]).toEqual([2, 'no saved call is named "ad"; available: add']);
  put(cwd, ".portolan/calls.json", '{\n  "version": 1,,\n}');
  const wrong = await runPortolan(["test"], { cwd });
  expect([wrong.code, errorOf(wrong).message]).toEqual([2, expect.stringContaining(".portolan/calls.json:2:")]);
  const empty = await runPortolan(["test"], { cwd: makeHome() });
  expect([empty.code, errorOf(empty).message]).toEqual([2, expect.stringContaining("no calls are saved in")]);
});
