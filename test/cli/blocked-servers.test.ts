import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "../../packages/cli/src/command-table.ts";
import { environment, makeHome, portolan } from "./kit.ts";
import { errorOf, notes, put, runPortolan, showOf } from "./manage-kit.ts";

// A stranger's file: each command creates a file when it is started, and each address notes its requests.

const node = process.execPath;
const cwd = makeHome();
const marks = join(cwd, "started");
const env = { SHELL_SECRET: "of the shell" };
const requests: string[] = [];
const site = createServer(({ url }, response) => {
  requests.push(url ?? "");
  response.writeHead(404).end();
});

/** The servers that must not start. The first part of a name is its state. */
const blocked = ["untrusted", "disabled", "misconfigured", "changed", "changed-disabled"].flatMap((state) => [
  `${state}-command`,
  `${state}-address`,
]);

const trusted = ["trusted-command", "trusted-address"];

function entryOf(name: string, change: string): object {
  const more = { keepAlive: true, ...(name.includes("disabled") && { disabled: true }) };
  const missing = name.startsWith("misconfigured") ? `\${NOT_SET}` : "";
  const changed = name.startsWith("changed") ? change : "";
  const mark = `require("fs").writeFileSync(${JSON.stringify(join(marks, name))}, "")`;
  if (name.endsWith("-command")) {
    return { command: node, args: ["-e", `${mark} //${changed}`], env: { A: missing }, ...more };
  }
  const { port } = site.address() as AddressInfo;
  const headers = { "X-Sent": `\${SHELL_SECRET}${missing}` };
  return { type: "http", url: `http://127.0.0.1:${port}/${name}${changed}`, headers, ...more };
}

/** Writes the file of the stranger. `change` is part of the entries that were trusted without it. */
function writeEntries(change: string, names: readonly string[] = blocked): void {
  put(cwd, ".mcp.json", { mcpServers: Object.fromEntries(names.map((name) => [name, entryOf(name, change)])) });
}

/** Returns the files and requests that started servers left, and forgets them. */
function takeTraces(): string[] {
  const traces = [...readdirSync(marks), ...requests.splice(0)];
  rmSync(marks, { recursive: true });
  mkdirSync(marks);
  return traces;
}

beforeAll(async () => {
  mkdirSync(marks);
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  writeEntries("", [...blocked, ...trusted]);
  for (const name of [...blocked.filter((one) => one.startsWith("changed")), ...trusted]) {
    await showOf(["trust", name, "--yes"], { cwd, env });
  }
  writeEntries("changed");
  await runPortolan(["call", "--record", "talk.jsonl", "list", "--", node, notes], { cwd });
  expect(existsSync(join(cwd, "talk.jsonl"))).toBe(true);
  const calls = blocked.map((name) => ({ name, server: name, tool: "hello", argumentsText: "{}", expect: [] }));
  put(cwd, ".portolan/calls.json", { version: 1, calls });
}, 60_000);

afterAll(() => void site.close());

type Use = (server: string) => readonly (readonly string[])[];
const pairFor = (name: string) => (name.endsWith("-command") ? ["--env", "A=set"] : ["--header", "X-Sent=set"]);

/** Each command that takes a server, or uses all of them. */
const uses: { readonly [command: string]: Use } = {
  servers: () => [["servers"]],
  ls: (name) => [["ls", name]],
  call: (name) => [["call", `${name}.hello`]],
  read: (name) => [["read", name, "a://b"]],
  prompt: (name) => [["prompt", name, "greet"]],
  complete: (name) => [["complete", name, "greet", "who"]],
  run: (name) => [["run", "--model", "demo", "--server", name, "hello"]],
  chat: (name) => [["chat", "--model", "demo", "--server", name]],
  watch: (name) => [["watch", name, "--limit", "1"]],
  up: (name) => [["up", name], ["up"]],
  down: (name) => [["down", name]],
  add: (name) => [
    ["add", name, ...pairFor(name)],
    ["ls", name],
    ["check", name, "--timeout", "2"],
    ["add", name, "--to", "cursor", "--force"],
  ],
  trust: (name) => [
    ["trust", name],
    ["trust", name, "--changes", "--yes"],
    ["trust", name, "--revoke"],
  ],
  login: (name) => [["login", name, "--no-browser", "--timeout", "2"]],
  logout: (name) => [["logout", name]],
  doctor: (name) => [["doctor", name, "--timeout", "2"]],
  check: (name) => [["check", name, "--timeout", "2"]],
  record: (name) => [["record", name, "--out", `${name}.jsonl`]],
  replay: (name) => [["replay", "talk.jsonl", name, "--check"]],
  serve: (name) => [["serve", name, "--stdio"]],
  gen: (name) => [["gen", "ts", name, "--out", "-"]],
  card: (name) => [["card", name, "--name", "com.example/x"]],
  skills: (name) => [
    ["skills", "ls", name],
    ["skills", "show", name, "tour"],
    ["skills", "verify", name],
  ],
  tasks: (name) => [
    ["call", "--detach", `${name}.hello`],
    ["tasks", "ls"],
    ["tasks", "show", "x"],
  ],
  dev: (name) => [["dev", "--apps", name]],
  test: (name) => [["test", name]],
  "complete-words": (name) => [["complete-words", "--", "call", name, ""]],
  remove: (name) => [["remove", name]],
};

/** Commands that take no configured server, and `console`, which has a test of its own below. */
const others = [
  "grants",
  "log",
  "new",
  "pack",
  "keys",
  "completion",
  "keep-warm",
  "serve-file",
  "serve-recording",
  "console",
];

test("the table has every command", () => {
  expect([...Object.keys(uses), ...others].sort()).toEqual(commands.map(({ name }) => name).sort());
});

test("portolan console is ready without contact to a blocked server", async () => {
  writeEntries("changed");
  const child = spawn(node, [portolan, "console", "--no-open"], { cwd, env: environment(cwd, env) });
  let isReady = false;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('"ready"')) continue;
    isReady = true;
    child.kill("SIGTERM");
  }
  expect(isReady).toBe(true);
  expect(takeTraces()).toEqual([]);
});

test.each(Object.keys(uses))(
  "portolan %s starts and contacts no blocked server",
  async (command) => {
    writeEntries("changed");
    const usesOf = uses[command] ?? (() => []);
    const run = async (name: string) => {
      for (const args of usesOf(name)) await runPortolan(args, { cwd, env });
    };
    for (let at = 0; at < blocked.length; at += 2) await Promise.all(blocked.slice(at, at + 2).map(run));
    expect(takeTraces()).toEqual([]);
  },
  120_000,
);

test("a trusted server of the same file is started and contacted", async () => {
  writeEntries("changed", trusted);
  for (const name of trusted) {
    await runPortolan(["check", name, "--timeout", "2"], { cwd, env });
  }
  expect(takeTraces()).toEqual(expect.arrayContaining(["trusted-command", "/trusted-address"]));
});

test.each(["check", "record", "replay", "serve", "up", "ls"])(
  "portolan %s says why and what to do",
  async (command) => {
    writeEntries("changed");
    const errors: { [name: string]: unknown } = {};
    for (const name of ["disabled-command", "misconfigured-command", "untrusted-command"]) {
      const [args = []] = uses[command]?.(name) ?? [];
      const { kind, message, next } = errorOf(await runPortolan(args, { cwd, env }));
      errors[name] = [kind, message.slice(0, 60), next];
    }
    expect(errors).toEqual({
      "disabled-command": [
        "usage",
        "disabled-command is disabled, so it was not started",
        `enable it at mcpServers.disabled-command in ${join(cwd, ".mcp.json")}`,
      ],
      "misconfigured-command": [
        "usage",
        expect.stringMatching(/^misconfigured-command: missing \$\{NOT_SET\}/),
        "portolan doctor misconfigured-command",
      ],
      "untrusted-command": [
        "denied",
        "untrusted-command is not trusted yet, so it was not started",
        "portolan trust untrusted-command",
      ],
    });
  },
);

test("setting a variable of an entry keeps its trust only if it had one", async () => {
  const home = makeHome();
  put(home, ".mcp.json", {
    mcpServers: {
      stranger: { command: node, args: [notes], env: { A: `\${NOT_SET}` } },
      off: { command: node, args: [notes], disabled: true },
      mine: { command: node, args: [notes], env: { A: `\${SET_AT_FIRST}` } },
    },
  });
  await showOf(["trust", "mine", "--yes"], { cwd: home, env: { SET_AT_FIRST: "1" } });
  const added: unknown[] = [];
  for (const name of ["stranger", "off", "mine"]) {
    const { isTrusted } = await showOf(["add", name, "--env", "A=1"], { cwd: home });
    added.push([name, isTrusted]);
  }
  expect(added).toEqual([
    ["stranger", false],
    ["off", false],
    ["mine", true],
  ]);
  const { grants } = await showOf<{ grants: { server: string }[] }>(["grants"], { cwd: home });
  expect(new Set(grants.map(({ server }) => server))).toEqual(new Set(["mine"]));
});
