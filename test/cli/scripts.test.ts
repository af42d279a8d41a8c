// Scripts: the text alone, tasks on standard input, permissions for one run, and calls as programs write them.

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const asking = join(root, "test/cli/asking-server.mjs");
const cwd = makeProject({
  "mixed.mjs": `import { createServer } from "portolan/server";
const text = (text) => ({ type: "text", text });
const image = { type: "image", mimeType: "image/png", data: "AAAA" };
export default createServer({ name: "mixed", version: "1.0.0" })
  .tool("both", { run: () => ({ content: [text("one\\n"), image, text("two \\u001b[31mred")] }) })
  .tool("shape", { run: () => ({ content: [], structuredContent: { a: 1 } }) })
  .tool("fail", { run: () => ({ content: [text("no luck")], isError: true }) })
  .tool("echo", {
    input: { type: "object", properties: { count: { type: "integer" }, note: { type: "string" }, tags: { type: "array" } } },
    run: (args) => JSON.stringify(args),
  })
  .resource("mixed://text", { name: "text", read: () => "a note\\n" })
  .resource("mixed://bytes", { name: "bytes", mimeType: "image/png", read: () => new Uint8Array([1, 2, 3]) })
  .prompt("talk", { get: () => [{ role: "user", content: text("Hello") }, { role: "assistant", content: text("Hi") }] });
`,
});
const errorOf = ({ stderr }: Ran) => JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error;

test("call --text prints the text unchanged, and names what it leaves out", async () => {
  const both = await runPortolan(["call", "./mixed.mjs", "both", "--text"], { cwd });
  expect(both).toEqual({
    code: 0,
    stdout: "one\n\ntwo \u001b[31mred\n",
    stderr: "! left out, because it is not text: image image/png\n",
  });
  const terminal = openTerminal(["call", "./mixed.mjs", "both", "--text"], { cwd });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/two \\u\{1b\}\[31mred$/);
});

test("call --text prints structured content if there is no text, and failures in words", async () => {
  const shape = await runPortolan(["call", "./mixed.mjs", "shape", "--text"], { cwd });
  expect(JSON.parse(shape.stdout)).toEqual({ a: 1 });
  const failed = await runPortolan(["call", "./mixed.mjs", "fail", "--text"], { cwd });
  expect(failed).toEqual({ code: 5, stdout: "", stderr: "✗ tool: no luck\n  → portolan ls ./mixed.mjs fail\n" });
  const both = await runPortolan(["call", "./mixed.mjs", "both", "--text", "--json"], { cwd });
  expect(both.code).toBe(2);
  expect(errorOf(both).message).toBe("expected --json or --text, not both");
});

test("read --text and prompt --text print only the text", async () => {
  const read = await runPortolan(["read", "./mixed.mjs", "mixed://text", "--text"], { cwd });
  expect(read).toEqual({ code: 0, stdout: "a note\n", stderr: "" });
  const bytes = await runPortolan(["read", "./mixed.mjs", "mixed://bytes", "--text"], { cwd });
  expect(bytes).toMatchObject({ code: 2, stdout: "" });
  expect(bytes.stderr).toBe("✗ usage: mixed://bytes is not text, but image/png\n  → save it: --save <folder>\n");
  await runPortolan(["read", "./mixed.mjs", "mixed://bytes", "--text", "--save", "out"], { cwd });
  expect(readdirSync(join(cwd, "out"))).toEqual(["1.png"]);
  const prompt = await runPortolan(["prompt", "./mixed.mjs", "talk", "--text"], { cwd });
  expect(prompt).toEqual({ code: 0, stdout: "Hello\n\nHi\n", stderr: "" });
});

test.each([
  ["as programs write it", ["./mixed.mjs", 'echo(count: 1, note: "a, b")'], { count: 1, note: "a, b" }],
  ["with one JSON object", ["./mixed.mjs", 'echo({"count": 1})'], { count: 1 }],
  ["with colons", ["./mixed.mjs", "echo", "count:1", "note:", "a b", "tags:[1]"], { count: 1, note: "a b", tags: [1] }],
])("understands a call %s", async (_, args, expected) => {
  const { stdout } = await runPortolan(["call", ...args, "--text"], { cwd });
  expect(JSON.parse(stdout)).toEqual(expected);
});

test("understands a call of a configured server and of a command, and shows the right form otherwise", async () => {
  const home = makeHome();
  writeFileSync(join(home, ".mcp.json"), JSON.stringify({ mcpServers: { asking: { command: node, args: [asking] } } }));
  await runPortolan(["trust", "asking", "--yes"], { cwd: home });
  const paint = 'paint(colour: "red", coats: 2, where: { "room": 1 })';
  const configured = await runPortolan(["call", `asking.${paint}`, "--text"], { cwd: home });
  expect(configured.stdout).toContain('"colour":"red"');
  const typed = await runPortolan(["call", paint, "--", node, asking], { cwd: home });
  expect(typed.stdout).toContain("red");
  const positional = await runPortolan(["call", 'asking.paint("red")'], { cwd: home });
  expect(errorOf(positional)).toMatchObject({
    kind: "usage",
    message: 'asking.paint(…): expected name: value, got "\\"red\\""',
  });
  const unknown = await runPortolan(["call", "asking.paint", "tone:red"], { cwd: home });
  expect(errorOf(unknown).message).toBe('expected tone=value, tone:=json or a JSON object, got "tone:red"');
});

/** Runs a model that calls a tool and then answers, in a pipe. */
async function runModel(args: readonly string[], input = "") {
  const turns = [
    { say: "I will paint.", call: { name: "asking-server__paint", input: { colour: "red", coats: 1, where: {} } } },
    { when: { tool: "asking-server__paint" }, say: "Done." },
  ];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "m" };
  const ran = await runPortolan(["run", ...args, "--", node, asking], { cwd: makeHome(), env, input });
  return { ...ran, requests: JSON.stringify(provider.requests) };
}

test("run --text prints only the answer, and exits with 6 if something was refused", async () => {
  const { code, stdout, stderr } = await runModel(["--text", "paint"]);
  expect({ code, stdout }).toEqual({ code: 6, stdout: "Done.\n" });
  expect(stderr).toBe(
    `✗ denied: asking-server.paint needed approval, but there is no terminal to ask\n  → portolan run --allow asking-server.paint --text paint -- ${node} ${asking}\n`,
  );
});

test("run --allow and --deny decide for one run", async () => {
  const allowed = await runModel(["--text", "--allow", "asking-server.p*", "paint"]);
  expect(allowed).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  expect(allowed.requests).toContain("colour");
  const denied = await runModel(["--text", "--allow", "*", "--deny", "asking-server.paint", "paint"]);
  // The only call was refused.
  expect(denied.code).toBe(6);
  expect(denied.requests).toContain("you denied it with --deny");
  const odd = await runPortolan(["run", "--deny", "files", "x"], { cwd: makeHome() });
  expect(odd.code).toBe(2);
  expect(errorOf(odd)).toMatchObject({ message: '--deny: expected server.tool, got "files"' });
});

test("chat --allow and --deny decide for one conversation", async () => {
  const args = ["chat", "--model", "demo", "--allow", "asking-server.paint", "--deny", "asking-server.sure"];
  const input = 'paint colour=red coats=1 {"room":1}\nsure\n';
  const { code, stdout } = await runPortolan([...args, "--", node, asking], { cwd: makeHome(), input });
  expect(code).toBe(0);
  expect(stdout).toContain('\\"coats\\":1');
  expect(stdout).toContain("you denied it with --deny");
});

test("run reads the task from standard input, alone or in place of a dash", async () => {
  const alone = await runModel(["--text", "--allow", "*.*"], "paint the wall\n");
  expect(alone.requests).toContain('"paint the wall"');
  const within = await runModel(["--text", "--allow", "*.*", "do this:", "-"], "paint it\n");
  expect(within.requests).toContain('"do this: paint it"');
  const nothing = await runPortolan(["run"], { cwd: makeHome() });
  expect(nothing.code).toBe(2);
  expect(errorOf(nothing).message).toBe("no task given; expected it as an argument, or on standard input");
});

test("run exits with 6 if a server that it names is not trusted", async () => {
  const home = makeHome();
  mkdirSync(join(home, ".cursor"));
  const servers = { asking: { command: node, args: [asking] } };
  writeFileSync(join(home, ".cursor/mcp.json"), JSON.stringify({ mcpServers: servers }));
  const ran = await runPortolan(["run", "hello", "--model", "demo", "--server", "asking"], { cwd: home });
  expect(ran.code).toBe(6);
  expect(errorOf(ran)).toMatchObject({ kind: "denied", next: "portolan trust asking" });
});
