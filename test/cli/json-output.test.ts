// The JSON output of every command matches its schema in docs/cli/output.schema.json.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rotateKeys } from "portolan/storage";
import { createFileStorage } from "portolan/storage/node";
import { beforeAll, expect, test } from "vitest";
import { commands } from "../../packages/cli/src/command-table.ts";
import { scriptOf } from "../servers/kit/programs.ts";
import { manifestOf, putFolder } from "./bundle-kit.ts";
import { root, runPortolan } from "./kit.ts";
import { makeProject, startPortolan } from "./make-kit.ts";
import { definitions, expectValid } from "./output-schema.ts";
import { runSessions } from "./sessions.ts";

const node = process.execPath;
const asking = join(root, "test/cli/asking-server.mjs");
const cwd = makeProject({
  "server.mjs": `import { createServer } from "portolan/server";
export default createServer({ name: "small", version: "1.0.0" })
  .tool("hello", { run: () => ({ content: [{ type: "text", text: "hi" }], structuredContent: { a: 1 } }) })
  .tool("fail", { run: () => ({ content: [], isError: true }) });
`,
});

beforeAll(async () => {
  const time = { command: node, args: [scriptOf("time")] };
  const everything = { command: node, args: [scriptOf("everything")] };
  const servers = { time, everything, asking: { command: node, args: [asking] }, gone: { command: "nowhere-at-all" } };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of Object.keys(servers)) await runPortolan(["trust", name, "--yes"], { cwd });
  putFolder(join(cwd, "packed"), { "manifest.json": manifestOf(), "server/index.mjs": "1", ".env": "A=1" });
  await runPortolan(["call", "./server.mjs", "hello", "--record", "talk.jsonl"], { cwd });
  await using storage = createFileStorage(join(cwd, "kept"));
  await rotateKeys(storage);
});

/** Command lines with the exit code of each. They run in this order. */
const lines: readonly (readonly [code: number, ...args: string[]])[] = [
  [0, "servers"],
  [0, "servers", "--offline"],
  [0, "ls", "time"],
  [0, "ls", "asking"],
  [0, "call", "./server.mjs", "hello"],
  [5, "call", "./server.mjs", "fail"],
  [0, "tasks"],
  [0, "read", "time", "time://UTC"],
  [0, "read", "time", "time://UTC", "--save", "out"],
  [0, "prompt", "asking", "greet", "who=Ada"],
  [0, "skills", "ls", "everything"],
  [0, "skills", "show", "everything", "tour"],
  [0, "skills", "show", "everything", "tour", "references/questions.md"],
  [0, "skills", "verify", "everything"],
  [0, "complete", "asking", "greet", "who", "A"],
  [0, "run", "now zones=Asia/Tokyo", "--server", "time", "--allow", "time.*", "--model", "demo"],
  [6, "run", "now zones=Asia/Tokyo", "--server", "time", "--model", "demo"],
  [0, "watch", "asking", "--limit", "1"],
  [0, "add", "another", "--", "node", "x.js"],
  [0, "add", "remote", "http://127.0.0.1:1/mcp", "--header", "A=b"],
  [0, "remove", "another"],
  [0, "trust", "time", "--yes", "--hints"],
  [0, "trust", "time", "--changes"],
  [0, "grants"],
  [0, "trust", "gone", "--revoke"],
  [0, "log", "--limit", "20"],
  [0, "log", "--verify"],
  [1, "doctor"],
  [0, "check", "time", "--only", "handshake/*", "--revision", "2025-06-18"],
  [0, "replay", "talk.jsonl"],
  [0, "replay", "talk.jsonl", "./server.mjs", "--check"],
  [8, "replay", "talk.jsonl", "--check", "--", node, asking],
  [0, "new", "fresh"],
  [0, "logout", "remote"],
  [0, "ls", "time.now"],
  [0, "ls", "asking", "greet"],
  [0, "add", "time", "--to", "cursor"],
  [0, "card", "time", "--name", "com.example/time", "--url", "https://time.example.com/mcp", "--description", "Times"],
  [0, "pack", "packed", "--out", "packed.mcpb"],
  [0, "pack", "packed.mcpb"],
  [0, "add", "./packed.mcpb"],
  [0, "keys", "rotate", "kept"],
  [0, "gen", "ts", "time"],
  [0, "up", "time"],
  [0, "down"],
];

const uses = lines.map(([code, ...args]) => ({ code, args, line: args.join(" ") }));

test.each(uses)("$line", async ({ code, args }) => {
  const ran = await runPortolan(args, { cwd });
  expect(ran).toMatchObject({ code });
  const printed = ran.stdout.split("\n").filter(Boolean);
  expect(printed.length).toBeGreaterThan(0);
  for (const line of printed) expectValid(args[0] ?? "", line);
  if (code !== 0) expectValid("failure", ran.stderr.trim().split("\n").at(-1) ?? "");
});

test("chat, dev and serve", async () => {
  const flags = ["--server", "time", "--model", "demo", "--allow", "time.*"];
  const chat = await runPortolan(["chat", ...flags], { cwd, input: "now zones=Asia/Tokyo\n" });
  for (const line of chat.stdout.split("\n").filter(Boolean)) expectValid("chat", line);
  const dev = startPortolan(["dev", "server.mjs", "--http", "0"], cwd);
  await dev.event("ready");
  writeFileSync(join(cwd, "server.mjs"), `${readFileSync(join(cwd, "server.mjs"), "utf8")}\n// changed\n`);
  await dev.event("changed");
  writeFileSync(join(cwd, "server.mjs"), "export default 1 +;\n");
  await dev.event("error");
  await dev.end();
  for (const line of dev.output().split("\n").filter(Boolean)) expectValid("dev", line);
  const serve = startPortolan(["serve", "time", "--http", "0"], cwd);
  expectValid("serve", JSON.stringify(await serve.event("ready")));
  await serve.end();
});

test("every command has a schema, but for those that print no JSON of their own", () => {
  const visible = commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  const helpers = ["failure", "listProblem", "protocolObject", "task", "toolResult"];
  const documented = definitions.filter((name) => !helpers.includes(name));
  expect([...documented, "record", "completion"].sort()).toEqual([...visible].sort());
  const tested = new Set([...lines.map(([, name]) => name), "chat", "dev", "serve"]);
  // These need a browser or a file: login.test.ts, console.test.ts and saved-calls.test.ts validate their output.
  expect(documented.filter((name) => !tested.has(name)).sort()).toEqual(["console", "login", "test"]);
});

test("the sessions in docs/cli/json.md match the real output", async () => {
  const folder = makeProject({ "time.js": `import ${JSON.stringify(scriptOf("time"))};\n` });
  mkdirSync(join(folder, ".cursor"));
  const time = { command: "node", args: ["time.js"] };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { time } }));
  await runPortolan(["trust", "time", "--yes"], { cwd: folder });
  expect(await runSessions(join(root, "docs/cli/json.md"), { cwd: folder, columns: 100 })).toBe(2);
});
