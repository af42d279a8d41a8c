import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const odd = join(root, "test/cli/fixtures/odd.mjs");

/** Runs a command against the odd server. Returns its output or error. */
async function tell(words: readonly string[], cwd: string = makeHome()): Promise<unknown> {
  return outcomeOf(await runPortolan([...words, "--", node, odd], { cwd }));
}

function outcomeOf({ code, stdout, stderr }: Ran): unknown {
  return code === 0 ? JSON.parse(stdout) : { code, ...JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error };
}

/** Returns the screen and exit code. */
async function seen(args: readonly string[], options: { cwd: string; columns?: number }) {
  const terminal = openTerminal(args, options);
  const code = await terminal.exited;
  return { code, screen: terminal.screen(), broken: terminal.broken() };
}

test("types arguments in maps and tuples, and refuses invalid ones before sending", async () => {
  const cwd = makeHome();
  const call = (...words: string[]) => tell(["call", "shape", ...words], cwd);
  const given = await call("counts.a=1", "counts.b=2", "point=1", "point=2.5", "size=7", "name=a=b 😀");
  expect(JSON.parse((given as { content: { text: string }[] }).content[0]?.text ?? "")).toEqual({
    counts: { a: 1, b: 2 },
    point: [1, 2.5],
    size: 7,
    name: "a=b 😀",
  });
  const next = `portolan ls shape -- ${node} ${odd}`;
  const refused = (message: string, then = next) => ({ code: 2, kind: "usage", message, next: then });
  expect(await call("name=a", "name=b")).toEqual(refused("name: given twice, but not a list"));
  expect(await call("place.label=home")).toEqual(refused("shape needs place.lat=…"));
  expect(await call("point=1,2")).toEqual(
    refused('point: expected number, got "1,2"', "repeat point=… for more items, or pass the whole list: point:=[…]"),
  );
  expect(await call("-")).toMatchObject({ code: 2, message: expect.stringContaining("got nothing") });
  expect(await call("--name=x")).toMatchObject({
    code: 2,
    message: "unknown option '--name=x'; arguments are name=value, without dashes",
  });
});

test("accepts prompt names as listed, and refuses templates with gaps", async () => {
  const cwd = makeHome();
  expect(await tell(["prompt", "/review", "code=x"], cwd)).toMatchObject({ messages: [{ role: "user" }] });
  const next = `portolan ls -- ${node} ${odd}`;
  expect(await tell(["prompt", "review"], cwd)).toMatchObject({ message: "review needs code=…", next });
  expect(await tell(["prompt", "review", "code=x", "stile=y"], cwd)).toMatchObject({
    code: 2,
    message: "unknown argument stile; known: code, style",
    next,
  });
  expect(await tell(["complete", "reviw", "style"], cwd)).toMatchObject({
    code: 2,
    message: 'odd has no prompt "reviw"; did you mean review?',
  });
  expect(await tell(["read", "user://{id}/{+field}"], cwd)).toEqual({
    code: 2,
    kind: "usage",
    message: "user://{id}/{+field} is a template: replace {id} and {+field} by values",
    next: `portolan complete 'user://{id}/{+field}' id -- ${node} ${odd}`,
  });
  expect(await tell(["complete", "user://{id}/{+field}", "id"], cwd)).toMatchObject({ values: ["1", "2"] });
});

test("reports a server that exits or answers nonsense, with the next step", async () => {
  const cwd = makeHome();
  const next = `portolan doctor -- ${node} ${odd}`;
  expect(await tell(["call", "unusable"], cwd)).toMatchObject({ code: 8, kind: "protocol", next });
  expect(await tell(["call", "leave"], cwd)).toMatchObject({ code: 4, kind: "unreachable", next });
  const file = "import { thing } from 'nowhere-to-be-found';\nexport default thing;\n";
  writeFileSync(join(cwd, "mine.mjs"), file);
  const mine = outcomeOf(await runPortolan(["ls", "./mine.mjs"], { cwd }));
  expect(mine).toMatchObject({ code: 4, next: "portolan doctor ./mine.mjs" });
  expect((mine as { message: string }).message).toMatch(/^\.\/mine\.mjs exited with code 1: .*nowhere-to-be-found/);
  writeFileSync(join(cwd, "bad.jsonl"), "garbage\n");
  expect(outcomeOf(await runPortolan(["ls", "bad.jsonl"], { cwd }))).toMatchObject({
    code: 2,
    message: expect.stringMatching(/^\S+bad\.jsonl is not a recording/),
  });
});

test("describes file errors in words", async () => {
  const cwd = makeHome();
  const run = async (args: readonly string[], env = {}) => outcomeOf(await runPortolan(args, { cwd, env }));
  expect(await run(["replay", "nope.jsonl"])).toEqual({
    code: 2,
    kind: "usage",
    message: `${join(cwd, "nope.jsonl")} does not exist`,
    next: "portolan replay --help",
  });
  writeFileSync(join(cwd, "file"), "");
  expect(await run(["grants"], { PORTOLAN_HOME: join(cwd, "file/state") })).toMatchObject({
    code: 1,
    next: "set PORTOLAN_HOME to a folder that you can write",
  });
  expect(await run(["./odd.mjs"])).toMatchObject({ code: 2, next: "portolan ls ./odd.mjs" });
  writeFileSync(join(cwd, ".mcp.json"), '{ "mcpServers": { "notes": { "command": "node" }');
  expect(await run(["ls", "notes"])).toMatchObject({
    code: 2,
    message: expect.stringMatching(/no server is named "notes"\ncould not read: \S+\.mcp\.json:1:\d+: invalid JSON/),
    next: "portolan doctor",
  });
  const { screen } = await seen([], { cwd });
  expect(screen).toMatch(/^ {2}✗ \S+\.mcp\.json:1:\d+: invalid JSON[\s\S]*\n {2}→ portolan doctor$/);
  writeFileSync(join(cwd, ".mcp.json"), '{ "mcpServers": { "notes": { "command": "node" } } }');
  expect(await run(["ls", "ntoes"])).toMatchObject({ message: 'no server is named "ntoes"; did you mean notes?' });
  writeFileSync(join(cwd, ".mcp.json"), '{ "servers": { "notes": { "command": "node" } } }');
  const elsewhere = expect.stringMatching(
    /\.mcp\.json: has "servers", but claude-code reads its servers from "mcpServers"; rename the member$/,
  );
  expect(await run(["ls", "notes"])).toMatchObject({ code: 2, message: elsewhere, next: "portolan doctor" });
  expect(await run([])).toMatchObject({ servers: [], problems: [elsewhere] });
  expect(await run(["doctor"])).toMatchObject({ findings: [{ id: "not-done", level: "warning", why: elsewhere }] });
  rmSync(join(cwd, ".mcp.json"));
  mkdirSync(join(cwd, ".mcp.json"));
  expect(await run([])).toMatchObject({
    problems: [expect.stringMatching(/\.mcp\.json: expected a file, got a folder, pipe or device$/)],
  });
});

test("serve refuses other addresses without a token and names its variable", async () => {
  expect(await tell(["serve", "--http", "0", "--host", "0.0.0.0"])).toMatchObject({
    code: 2,
    next: expect.stringContaining("set PORTOLAN_TOKEN"),
  });
});

test("shows long labels completely in 40 columns, and reports problems by label", async () => {
  const terminal = openTerminal(["call", "ask", "--", node, odd], { cwd: makeHome(), columns: 40 });
  await terminal.answer(/\(optional, at least 3 characters\)\n {2}>$/, "x\r");
  await terminal.answer(/\n {2}At least 3 characters, please \(you\n {2}typed x\)\.\n {2}>$/, "abc\r");
  await terminal.see("c cancel");
  expect(terminal.screen()).toContain("register of companies of your country\n  (optional, at least 3 characters)");
  expect(terminal.broken()).toEqual([]);
});

test("shows results without text, binary results and failures of several lines", async () => {
  const cwd = makeHome();
  const call = async (tool: string) => (await seen(["call", tool, "--", node, odd], { cwd, columns: 60 })).screen;
  expect(await call("structure")).toBe('{\n  "a": 1,\n  "b": [\n    "\\u001b[31m"\n  ]\n}');
  expect(await call("nothing")).toBe("(no content)");
  expect(await call("bytes")).toBe(
    "[image image/png, 4 B; save it with --save <folder>]\n[image image/png, 3.0 MB; save it with --save <folder>]",
  );
  expect(await call("lines")).toMatch(/^✗ tool: one\n {2}│ → portolan two\n {2}│ three\n {2}→ portolan ls lines -- /);
});

test("breaks no word in 40 columns: help, servers, grants, log, failure", async () => {
  const cwd = makeHome();
  mkdirSync(join(cwd, ".cursor"));
  const servers = { odd: { command: node, args: [odd] }, "a server with a very long name": { command: node } };
  writeFileSync(join(cwd, ".cursor/mcp.json"), JSON.stringify({ mcpServers: servers }));
  expect((await runPortolan(["trust", "odd", "--yes"], { cwd })).code).toBe(0);
  const narrow = (args: readonly string[]) => seen(args, { cwd, columns: 40 });
  const shown = [await narrow(["--help"]), await narrow(["ls", "--help"]), await narrow(["grants"])];
  expect(shown[2]?.screen).toMatch(/^ {2}\w{8} {2}allowed {2}start {2}odd\n {4}\d{4}-\d\d-\d\d$/m);
  const log = await narrow(["log", "--kind", "trust"]);
  expect(log.screen).toMatch(/^\S+ \S+ trust odd\n {2}\{"allow":true/);
  const failed = await narrow(["call", "odd.shape", "size=a value that is far too long for it"]);
  expect(failed.screen).toMatch(/^✗ usage: size: expected one of s, 7,\n {4}got /);
  shown.push(log, failed);
  for (const { broken } of shown) expect(broken).toEqual([]);
  const overview = await narrow(["servers", "--offline"]);
  expect(overview.screen).toContain("not trusted");
  expect(overview.screen).toContain(".cursor/mcp.json");
});

test("shows that it waits for a silent server, until Ctrl-C", async () => {
  const asking = join(root, "test/cli/asking-server.mjs");
  const terminal = openTerminal(["call", "forever", "--", node, asking], { cwd: makeHome() });
  await terminal.answer(/^\S waiting for asking-server\.forever [\d.]+ s · Ctrl-C cancels$/, "\u0003");
  expect(await terminal.exited).toBe(130);
  expect(terminal.screen()).toMatch(/interrupted$/);
  expect(terminal.screen()).not.toContain("waiting");
});
