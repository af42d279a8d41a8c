import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeForTrust } from "../../../packages/host/src/config/trust.ts";
import { type FindOptions, findConfigs, readConfigs } from "../../../packages/host/src/node/config/index.ts";
import type { ServerEntry } from "../../../packages/host/src/options.ts";

function folderWith(files: { readonly [path: string]: string }): string {
  const root = mkdtempSync(join(tmpdir(), "portolan-config-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const servers = (...names: string[]) =>
  JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])) });

/** Finds the configuration files on a simulated machine where every file exists. */
async function findAll({ gitAt, ...options }: FindOptions & { readonly gitAt: string }) {
  const look = async (path: string) => (path.endsWith(".git") ? (path === gitAt ? "folder" : undefined) : "file");
  return (await findConfigs({ env: {}, look, ...options })).map(
    ({ file, scope, product }) => `${scope} ${product} ${file}`,
  );
}

describe("configuration files are found", () => {
  test("on Linux", async () => {
    const found = await findAll({
      platform: "linux",
      home: "/home/ada",
      cwd: "/home/ada/atlas",
      gitAt: "/home/ada/atlas/.git",
    });
    expect(found).toEqual([
      "managed claude-code /etc/claude-code/managed-mcp.json",
      "project claude-code /home/ada/atlas/.mcp.json",
      "project vscode /home/ada/atlas/.vscode/mcp.json",
      "project vscode-settings /home/ada/atlas/.vscode/settings.json",
      "project cursor /home/ada/atlas/.cursor/mcp.json",
      "project codex /home/ada/atlas/.codex/config.toml",
      "project gemini /home/ada/atlas/.gemini/settings.json",
      "project zed /home/ada/atlas/.zed/settings.json",
      "project opencode /home/ada/atlas/opencode.json",
      "project opencode /home/ada/atlas/opencode.jsonc",
      "project kiro /home/ada/atlas/.kiro/settings/mcp.json",
      "project librechat /home/ada/atlas/librechat.yaml",
      "project mcphost /home/ada/atlas/.mcphost.yml",
      "project mcphost /home/ada/atlas/.mcphost.yaml",
      "project mcphost /home/ada/atlas/.mcphost.json",
      "user claude-code /home/ada/.claude.json",
      "user vscode /home/ada/.config/Code/User/mcp.json",
      "user vscode /home/ada/.config/Code - Insiders/User/mcp.json",
      "user vscode-settings /home/ada/.config/Code/User/settings.json",
      "user cursor /home/ada/.cursor/mcp.json",
      "user claude-desktop /home/ada/.config/Claude/claude_desktop_config.json",
      "user copilot /home/ada/.copilot/mcp-config.json",
      "user codex /home/ada/.codex/config.toml",
      "user gemini /home/ada/.gemini/settings.json",
      "user goose /home/ada/.config/goose/config.yaml",
      "user windsurf /home/ada/.codeium/windsurf/mcp_config.json",
      "user zed /home/ada/.config/zed/settings.json",
      "user opencode /home/ada/.config/opencode/opencode.json",
      "user opencode /home/ada/.config/opencode/opencode.jsonc",
      "user cline /home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
      "user kiro /home/ada/.kiro/settings/mcp.json",
      "user inspector /home/ada/.mcp-inspector/mcp.json",
      "user continue /home/ada/.continue/config.yaml",
      "user mcphost /home/ada/.mcphost.yml",
      "user mcphost /home/ada/.mcphost.yaml",
      "user mcphost /home/ada/.mcphost.json",
      "user portolan /home/ada/.config/portolan/mcp.json",
    ]);
  });

  test("on macOS", async () => {
    const found = await findAll({ platform: "darwin", home: "/Users/ada", cwd: "/Users/ada/atlas", gitAt: "" });
    expect(found).toEqual(
      expect.arrayContaining([
        "managed claude-code /Library/Application Support/ClaudeCode/managed-mcp.json",
        "user claude-desktop /Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
        "user vscode /Users/ada/Library/Application Support/Code/User/mcp.json",
        "user goose /Users/ada/.config/goose/config.yaml",
        "user zed /Users/ada/.config/zed/settings.json",
      ]),
    );
  });

  test("on Windows", async () => {
    const env = { APPDATA: "D:\\Roaming" };
    const found = await findAll({
      platform: "win32",
      home: "C:\\Users\\ada",
      cwd: "C:\\work\\atlas\\sub",
      env,
      gitAt: "C:\\work\\atlas\\.git",
    });
    expect(found.slice(0, 3)).toEqual([
      "managed claude-code C:\\Program Files\\ClaudeCode\\managed-mcp.json",
      "project claude-code C:\\work\\atlas\\sub\\.mcp.json",
      "project vscode C:\\work\\atlas\\sub\\.vscode\\mcp.json",
    ]);
    expect(found).toEqual(
      expect.arrayContaining([
        "project claude-code C:\\work\\atlas\\.mcp.json",
        "user claude-desktop D:\\Roaming\\Claude\\claude_desktop_config.json",
        "user goose D:\\Roaming\\Block\\goose\\config\\config.yaml",
        "user zed D:\\Roaming\\Zed\\settings.json",
        "user cursor C:\\Users\\ada\\.cursor\\mcp.json",
      ]),
    );
    expect(found.filter((line) => /goose|zed C/.test(line))).toHaveLength(1 + 2);
    const withoutVariable = await findAll({ platform: "win32", home: "C:\\Users\\ada", cwd: "C:\\x", gitAt: "" });
    expect(withoutVariable).toContain("user vscode C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\mcp.json");
  });

  test("under XDG_CONFIG_HOME, unless it is a relative path", async () => {
    const place = { platform: "linux", home: "/home/ada", cwd: "/x", gitAt: "" };
    expect(await findAll({ ...place, env: { XDG_CONFIG_HOME: "/etc/ada" } })).toContain(
      "user goose /etc/ada/goose/config.yaml",
    );
    expect(await findAll({ ...place, env: { XDG_CONFIG_HOME: "relative" } })).toContain(
      "user goose /home/ada/.config/goose/config.yaml",
    );
  });
});

describe("the search in parent folders", () => {
  const foundIn = async (root: string, cwd: string, home = join(root, "home")) =>
    (await findConfigs({ cwd: join(root, cwd), home, platform: "linux", env: {} })).map(
      ({ file, scope }) => `${scope} ${file.slice(root.length)}`,
    );

  test("ends at the root of the repository", async () => {
    const root = folderWith({
      ".mcp.json": "{}",
      "repo/.git/HEAD": "",
      "repo/.mcp.json": "{}",
      "repo/a/.mcp.json": "{}",
      "repo/a/b/.cursor/mcp.json": "{}",
    });
    expect(await foundIn(root, "repo/a/b")).toEqual([
      "project /repo/a/b/.cursor/mcp.json",
      "project /repo/a/.mcp.json",
      "project /repo/.mcp.json",
    ]);
  });

  test("does not start outside a repository, because anyone may put a file in a parent folder", async () => {
    const root = folderWith({ ".mcp.json": "{}", "a/.mcp.json": "{}", "a/b/.mcp.json": "{}" });
    expect(await foundIn(root, "a/b")).toEqual(["project /a/b/.mcp.json"]);
  });

  test("excludes the home folder, even if that is a repository", async () => {
    const root = folderWith({
      "home/.git/HEAD": "",
      "home/.mcp.json": "{}",
      "home/a/.mcp.json": "{}",
      "home/.cursor/mcp.json": "{}",
    });
    expect(await foundIn(root, "home/a")).toEqual(["project /home/a/.mcp.json", "user /home/.cursor/mcp.json"]);
  });

  test("treats a user's file as a user's when it starts in the home folder", async () => {
    const root = folderWith({ "home/.cursor/mcp.json": "{}", "home/.mcp.json": "{}" });
    expect(await foundIn(root, "home")).toEqual(["project /home/.mcp.json", "user /home/.cursor/mcp.json"]);
  });
});

describe("readConfigs", () => {
  const optionsFor = (root: string, more = {}) => ({ home: join(root, "home"), platform: "linux", env: {}, ...more });

  test("gives managed entries priority, in user scope", async () => {
    const root = folderWith({
      "managed-mcp.json": servers("both", "theirs"),
      "home/.claude.json": servers("both", "own"),
      "repo/.mcp.json": servers("both"),
    });
    const managed = { file: join(root, "managed-mcp.json"), scope: "managed", workspaceFolder: root } as const;
    const found = await findConfigs({ cwd: join(root, "repo"), ...optionsFor(root) });
    const { entries, shadowed } = await readConfigs([...found, managed], optionsFor(root));
    expect(entries.map(({ name, source, raw }) => [name, source.scope, raw.level])).toEqual([
      ["both", "user", "managed"],
      ["theirs", "user", "managed"],
      ["own", "user", "user"],
    ]);
    expect(shadowed.map((pair) => pair.used.source)).toEqual([entries[0]?.source, entries[0]?.source]);
  });

  test("uses the nearest entry of a name, reports the shadowed ones, and reads the other files if one is malformed", async () => {
    const root = folderWith({
      "home/.claude.json": JSON.stringify({
        mcpServers: { both: { command: "user" }, own: { command: "user" } },
        projects: {},
      }),
      "home/.cursor/mcp.json": '{ "mcpServers": ',
      "repo/.git/HEAD": "",
      "repo/.mcp.json": servers("both"),
      "repo/.vscode/mcp.json": '{"servers":{"db":{"command":"${workspaceFolder}/x","args":["${env:NO}"]}}}',
    });
    const files = await findConfigs({ cwd: join(root, "repo"), ...optionsFor(root) });
    const { entries, shadowed, errors } = await readConfigs(files, optionsFor(root));
    expect(entries.map(({ name, source }) => [name, source.scope])).toEqual([
      ["both", "project"],
      ["db", "project"],
      ["own", "user"],
    ]);
    expect(shadowed).toMatchObject([
      { used: { source: { scope: "project" } }, shadowed: { source: { scope: "user" } } },
    ]);
    const replacedBy = (entry: ServerEntry | undefined) =>
      entry && describeForTrust(entry).lines.filter(({ label }) => label === "In place of");
    expect(replacedBy(entries[0])?.map(({ value }) => value)).toEqual([
      `mcpServers.both in ${join(root, "home/.claude.json")}`,
    ]);
    expect(replacedBy(entries[2])).toEqual([]);
    writeFileSync(join(root, "repo/.mcp.json"), servers("оwn"));
    const lookalikes = (await readConfigs(files, optionsFor(root))).entries.map(({ resembles }) => resembles);
    expect(lookalikes).toEqual(["own", undefined, undefined, "оwn"]);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining("home/.cursor/mcp.json:1:17: invalid JSON"),
    ]);
    expect(entries[1]).toMatchObject({
      configured: { command: "${workspaceFolder}/x" },
      problem: expect.stringMatching(
        /^missing \$\{env:NO\} \(servers\.db\.args\[0\] in .*repo\/\.vscode\/mcp\.json\): set the environment variable NO,/,
      ),
    });
  });

  test("gives priority to the user's own servers for the project", async () => {
    const root = folderWith({ "repo/.git/HEAD": "", "repo/.mcp.json": servers("a") });
    const repo = join(root, "repo");
    mkdirSync(join(root, "home"));
    const content = {
      projects: { [repo]: { mcpServers: { a: { command: "local" } } }, "/else": { mcpServers: { b: {} } } },
    };
    writeFileSync(join(root, "home/.claude.json"), JSON.stringify(content));
    const { entries } = await readConfigs(await findConfigs({ cwd: repo, ...optionsFor(root) }), optionsFor(root));
    expect(entries).toMatchObject([{ name: "a", configured: { command: "local" }, raw: { level: "local" } }]);
  });

  test("reads a given path in project scope unless it is at the user's known place", async () => {
    const root = folderWith({
      "repo/.copilot/mcp-config.json": servers("a"),
      "home/.copilot/mcp-config.json": servers("a"),
    });
    const scopeOf = async (path: string) => (await readConfigs(join(root, path), optionsFor(root))).entries[0]?.source;
    expect(await scopeOf("repo/.copilot/mcp-config.json")).toMatchObject({ scope: "project", product: "copilot" });
    expect(await scopeOf("home/.copilot/mcp-config.json")).toMatchObject({ scope: "user", product: "copilot" });
  });

  test("derives the workspace folder from a given path", async () => {
    const root = folderWith({
      "repo/.vscode/mcp.json": '{"servers":{"a":{"command":"${workspaceFolder}"}}}',
      "x/my.json": servers("b"),
    });
    const wayOf = async (path: string) => (await readConfigs(join(root, path), optionsFor(root))).entries[0]?.target;
    expect(await wayOf("repo/.vscode/mcp.json")).toEqual({ command: join(root, "repo"), cwd: join(root, "repo") });
    expect(await wayOf("x/my.json")).toEqual({ command: "b", cwd: join(root, "x") });
  });

  test("reads variables from an environment file, and reports a missing one", async () => {
    const text =
      '{"servers":{"a":{"command":"x","envFile":"${workspaceFolder}/.env"},"b":{"command":"x","envFile":"no"}}}';
    const root = folderWith({ "repo/.vscode/mcp.json": text, "repo/.env": "KEY=value\n" });
    const { entries } = await readConfigs(join(root, "repo/.vscode/mcp.json"), optionsFor(root));
    expect(entries[0]?.target).toMatchObject({ env: { KEY: "value" } });
    expect(entries[1]?.problem).toContain("the environment file does not exist");
  });

  test("asks once for an input that several servers of a file need", async () => {
    const server = { command: "x", args: ["${input:pw}"] };
    const content = { servers: { a: server, b: server }, inputs: [{ id: "pw", password: true }] };
    const root = folderWith({ "repo/.vscode/mcp.json": JSON.stringify(content) });
    let asked = 0;
    const input = async () => `answer ${++asked}`;
    const { entries } = await readConfigs(join(root, "repo/.vscode/mcp.json"), optionsFor(root, { input }));
    expect(entries.map(({ target }) => "command" in target && target.args)).toEqual([["answer 1"], ["answer 1"]]);
  });

  test("reports a file that is missing, a folder, a pipe, too large or not UTF-8, without waiting", async () => {
    const root = folderWith({ "large.json": " ".repeat(4 * 1024 * 1024 + 1), "folder/x": "" });
    writeFileSync(join(root, "latin.json"), Buffer.from([0x7b, 0xe9, 0x7d]));
    execFileSync("mkfifo", [join(root, "pipe.json")]);
    symlinkSync(join(root, "pipe.json"), join(root, "link.json"));
    const errorOf = async (name: string) => (await readConfigs(join(root, name), optionsFor(root))).errors[0]?.message;
    expect(await errorOf("none.json")).toContain("the file does not exist");
    expect(await errorOf("folder")).toContain("expected a file");
    expect(await errorOf("pipe.json")).toContain("expected a file");
    expect(await errorOf("link.json")).toContain("expected a file");
    expect(await errorOf("large.json")).toContain("expected at most 4194304 bytes, got more");
    expect(await errorOf("latin.json")).toContain("expected UTF-8");
  });
});
