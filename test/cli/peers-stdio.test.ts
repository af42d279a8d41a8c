// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are placeholders of configuration files
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { environment, makeHome, portolan } from "./kit.ts";
import { errorOf, put, runPortolan, showOf, startPortolan, stateOf } from "./manage-kit.ts";
import {
  expectAlive,
  expectAsking,
  expectWhole,
  failureOf,
  fixture,
  official,
  openPortolan,
  textsOf,
} from "./peers-kit.ts";

/** Creates a home with each server configured for another product, in realistic files. */
const cwd = makeHome();
const shared = join(cwd, "shared files");

beforeAll(async () => {
  mkdirSync(shared);
  const note = [
    "{",
    "  // for the whole team; ask Ada before you change it",
    '  "inputs": [',
    '    { "id": "folder", "type": "promptString", "description": "The folder to share" },',
    '    { "id": "api-key", "type": "promptString", "description": "Your key", "password": true },',
    '    { "id": "size", "type": "pickString", "options": ["s", "m"], "default": "m" },',
    "  ],",
    '  "servers": {',
    `    "files": { "command": "node", "args": [${JSON.stringify(official("filesystem"))}, "\${workspaceFolder}/shared files"] },`,
    `    "asks": { "type": "stdio", "command": "node", "args": [${JSON.stringify(official("filesystem"))}, "\${input:folder}"],`,
    '      "env": { "KEY": "${input:api-key}", "SIZE": "${input:size}" } },',
    "  },",
    "}",
  ];
  put(cwd, ".vscode/mcp.json", note.join("\r\n"));
  put(
    cwd,
    ".cursor/mcp.json",
    `{ "mcpServers": { "everything": { "command": "node", "args": [${JSON.stringify(official("everything"))}], }, }, }`,
  );
  put(cwd, ".config/Claude/claude_desktop_config.json", {
    globalShortcut: "Ctrl+Space",
    mcpServers: {
      memory: {
        command: "node",
        args: [official("memory")],
        env: { MEMORY_FILE_PATH: join(cwd, "memory.jsonl") },
      },
    },
  });
  put(
    cwd,
    ".codex/config.toml",
    [
      'model = "gpt-5"',
      "",
      "[mcp_servers.sdk-v1] # the old one",
      'command = "node"',
      `args = [${JSON.stringify(fixture("sdk-v1"))}]`,
      "startup_timeout_sec = 20",
      "",
      "[mcp_servers.sdk-v2]",
      `command = "node"`,
      `args = [${JSON.stringify(fixture("sdk-v2"))}]`,
    ].join("\n"),
  );
  put(cwd, ".mcp-inspector/mcp.json", {
    mcpServers: { "sdk-v2-old": { command: "node", args: [fixture("sdk-v2")], protocolEra: "legacy" } },
  });
  put(
    cwd,
    ".config/goose/config.yaml",
    `extensions:\n  fastmcp:\n    type: stdio\n    enabled: true\n    cmd: node\n    args:\n      - ${fixture("fastmcp")}\n`,
  );
});

const places: { readonly [name: string]: string } = {
  files: ".vscode/mcp.json",
  everything: ".cursor/mcp.json",
  memory: ".config/Claude/claude_desktop_config.json",
  "sdk-v1": ".codex/config.toml",
  "sdk-v2": ".codex/config.toml",
  "sdk-v2-old": ".mcp-inspector/mcp.json",
  fastmcp: ".config/goose/config.yaml",
};

test("lists every server of every product's file with the next command", async () => {
  const listed = async () => {
    const { servers, problems } = await showOf<{ servers: { name: string }[]; problems: unknown[] }>([], { cwd });
    expect(problems).toEqual([]);
    return new Map(servers.map((server) => [server.name, server]));
  };
  const before = await listed();
  for (const [name, from] of Object.entries(places)) {
    expect(before.get(name)).toMatchObject({ state: "untrusted", from, next: `portolan trust ${name}` });
  }
  expect(before.get("asks")).toMatchObject({ state: "misconfigured", next: "portolan doctor asks" });
  expect(await failureOf(cwd, ["call", "everything.echo", "message=hi"])).toEqual({
    code: 6,
    message: "everything is not trusted yet, so it was not started",
    next: "portolan trust everything",
  });
  for (const name of Object.keys(places)) await showOf(["trust", name, "--yes"], { cwd });
  const after = await listed();
  for (const name of Object.keys(places)) expect(after.get(name)).toMatchObject({ state: "ready" });
});

test("quotes an unusual name in the next command", async () => {
  const home = makeHome();
  const name = "Ada's files; touch pwned";
  const entry = { command: "node", args: [official("filesystem"), home] };
  put(home, ".config/Claude/claude_desktop_config.json", { mcpServers: { [name]: entry } });
  const { servers } = await showOf<{ servers: { next: string }[] }>([], { cwd: home });
  const next = servers[0]?.next ?? "";
  // As people paste it.
  const typed = next.replace("portolan", '"$NODE" "$PORTOLAN"');
  const env = { ...environment(home, { PORTOLAN_HOME: stateOf(home) }), NODE: process.execPath, PORTOLAN: portolan };
  const shell = spawnSync("sh", ["-c", `${typed} --yes`], { cwd: home, env, encoding: "utf8" });
  expect([shell.status, JSON.parse(shell.stdout)]).toMatchObject([0, { name, isTrusted: true }]);
  expect(existsSync(join(home, "pwned"))).toBe(false);
  expect((await textsOf(home, [name, "list_allowed_directories"])).join()).toContain(home);
});

test("never cuts the number of tools and the next step", async () => {
  for (const columns of [80, 100]) {
    const terminal = openPortolan([], cwd, columns);
    expect(await terminal.exited).toBe(0);
    const screen = terminal.screen();
    expect(screen).toMatch(/^ {2}everything +\.cursor\/mcp\.json +ready .* 13$/m);
    expect(screen).toMatch(/^ {2}memory +…\S+config\.json +ready .* 9$/m);
    expect(screen).toMatch(
      /^ {2}asks +\.vscode\/mcp\.json +(misconfigured|missing \$\{input:folder\}) .*→ portolan doctor asks$/m,
    );
  }
});

describe("fixtures", () => {
  const stateful = { version: "2025-11-25", era: "stateful" };
  const stateless = { version: "2026-07-28", era: "stateless" };

  test.each([
    ["sdk-v2", stateless],
    ["fastmcp", stateful],
  ])("uses %s and reports its failures", async (name, speaks) => {
    await expectWhole(cwd, name, speaks);
  });

  // These are tested over HTTP.
  test.each([
    ["sdk-v1", stateful],
    ["sdk-v2-old", stateful],
  ])("uses the basics of %s", async (name, speaks) => {
    await expectAlive(cwd, name, speaks);
  });

  test.each(["sdk-v1", "sdk-v2", "fastmcp"])("answers questions of %s at the terminal", async (name) => {
    await expectAsking(cwd, name);
  });

  test("denies what needs an answer without a terminal", async () => {
    const next = expect.stringContaining("terminal");
    const message = expect.stringContaining("no terminal to ask you");
    expect(await failureOf(cwd, ["call", "sdk-v2.ask"])).toEqual({ code: 6, message, next });
  });
});

test("answers inputs of a file at the terminal or from variables", async () => {
  const ran = await runPortolan(["doctor", "asks"], { cwd });
  expect(ran.code).toBe(1);
  const findings = JSON.parse(ran.stdout).findings as { id: string; next: string }[];
  expect(findings).toMatchObject([{ id: "missing-variable", next: expect.stringContaining("PORTOLAN_INPUT_FOLDER") }]);
  const terminal = openPortolan(["call", "asks.list_allowed_directories"], cwd);
  await terminal.answer(/The folder to share[\s\S]*>$/, `${shared}\r`);
  await terminal.answer(/Your key[\s\S]*>$/, "k3y-of-ada\r");
  const subject = await terminal.see("n no");
  expect(subject).toContain("Asks for: api-key");
  terminal.type("a\r");
  await terminal.see(`Allowed directories:\n${shared}`);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("k3y-of-ada");
  expect(spawnSync("grep", ["-r", "k3y-of-ada", stateOf(cwd)]).status).toBe(1);
  // Already trusted: in a pipe only the answers are missing.
  expect(await failureOf(cwd, ["call", "asks.list_allowed_directories"])).toEqual({
    code: 2,
    message: expect.stringContaining("${input:folder}"),
    next: "portolan doctor asks",
  });
  const env = { PORTOLAN_INPUT_FOLDER: shared, PORTOLAN_INPUT_API_KEY: "k3y-of-ada" };
  expect(await showOf(["doctor", "asks"], { cwd, env })).toMatchObject({ findings: [] });
  const called = await runPortolan(["call", "asks.list_allowed_directories"], { cwd, env });
  expect([called.code, called.stdout]).toEqual([0, expect.stringContaining("shared files")]);
});

test("the official everything server sees folders and runs a long call", async () => {
  const roots = openPortolan(["call", "everything.get-roots-list", "--root", shared], cwd);
  await roots.answer(/which folders[\s\S]*N never/, "y\r");
  await roots.see("shared%20files");
  expect(await roots.exited).toBe(0);
  const long = openPortolan(["call", "everything.trigger-long-running-operation", "duration=30", "steps=300"], cwd);
  await long.see(/\[#* *\] \d+ %/);
  long.type("\u0003");
  await long.see("interrupted");
  expect(await long.exited).not.toBe(0);
});

describe("the official filesystem", () => {
  test("writes, reads, edits and refuses", async () => {
    const path = join(shared, "note.txt");
    writeFileSync(path, "one\r\n");
    const edit = ["files.edit_file", `path=${path}`, 'edits:=[{"oldText":"one","newText":"two"}]'];
    expect((await textsOf(cwd, edit)).join()).toContain("+two");
    expect(readFileSync(path, "utf8")).toMatch(/^two/);
    const large = "0123456789abcdef✓".repeat(60_000);
    await textsOf(cwd, ["files.write_file", "-"], JSON.stringify({ path, content: large }));
    expect(await textsOf(cwd, ["files.read_text_file", `path=${path}`])).toEqual([large]);
    const both = ["files.read_multiple_files", `paths=${path}`, `paths=${join(shared, "none")}`];
    expect((await textsOf(cwd, both)).join()).toContain("none");
    const outside = ["call", "files.read_text_file", "path=/etc/passwd"];
    expect(await failureOf(cwd, outside)).toMatchObject({ code: 5, message: expect.stringContaining("denied") });
    expect(await failureOf(cwd, ["call", "files.move_file", `source=${path}`, "to=x"])).toMatchObject({
      code: 2,
      message: "move_file needs destination=…; unknown: to",
    });
  });

  test("sees a folder only if the person agrees", async () => {
    const other = join(cwd, "other");
    mkdirSync(other);
    const terminal = openPortolan(["call", "files.list_allowed_directories", "--root", other], cwd);
    await terminal.answer(/which folders[\s\S]*N never/, "y\r");
    await terminal.see("Allowed directories");
    expect(await terminal.exited).toBe(0);
  });

  test("has its standard error shown by watch", async () => {
    const running = startPortolan(["watch", "files", "--limit", "3"], { cwd });
    await running.until(/"kind":"stderr".*Secure MCP Filesystem Server/);
    await running.until(/"state":"ready"/);
    expect(await running.ended).toBe(0);
  });
});

test("the official memory server stores data and is replayed from a recording", async () => {
  const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };
  const talk = join(cwd, "talk.jsonl");
  const made = ["call", "memory.create_entities", `entities:=${JSON.stringify([ada])}`];
  expect(await showOf(made, { cwd })).toMatchObject({ structuredContent: { entities: [ada] } });
  const searched = ["search_nodes", "query=program"];
  const found = await showOf(["call", "memory", ...searched, "--record", talk], { cwd });
  expect(found).toMatchObject({ structuredContent: { entities: [ada] } });
  const { contents } = await showOf<{ contents: { text: string }[] }>(["read", "memory", "memory://knowledge-graph"], {
    cwd,
  });
  expect(JSON.parse(contents[0]?.text ?? "")).toMatchObject({ entities: [ada] });
  const refused = ["call", "memory.add_observations", 'observations:=[{"entityName":"Nobody","contents":["x"]}]'];
  expect(await failureOf(cwd, refused)).toMatchObject({ code: 5, message: expect.stringContaining("Nobody") });
  const missing = { code: 2, message: "open_nodes needs names=…" };
  expect(await failureOf(cwd, ["call", "memory.open_nodes"])).toMatchObject(missing);
  expect(await showOf(["doctor", "memory"], { cwd })).toMatchObject({ findings: [] });

  expect(await showOf(["call", talk, ...searched], { cwd })).toEqual(found);
  expect((await runPortolan(["replay", talk, "memory", "--check"], { cwd })).code).toBe(0);
  await showOf(["call", "memory.delete_entities", "entityNames=Ada"], { cwd });
  const changed = await runPortolan(["replay", talk, "memory", "--check"], { cwd });
  expect([changed.code, errorOf(changed).kind]).toEqual([8, "protocol"]);
  expect(existsSync(join(cwd, "memory.jsonl"))).toBe(true);
});
