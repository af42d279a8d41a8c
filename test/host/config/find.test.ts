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

/** Finds on a machine that has every file that is looked for. */
async function everywhere(options: FindOptions & { readonly gitAt: string }) {
  const look = async (path: string) =>
    path.endsWith(".git") ? (path === options.gitAt ? "folder" : undefined) : "file";
  return (await findConfigs({ env: {}, look, ...options })).map(
    ({ file, scope, product }) => `${scope} ${product} ${file}`,
  );
}

describe("the known places", () => {
  test("on Linux", async () => {
    const found = await everywhere({
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
    const found = await everywhere({ platform: "darwin", home: "/Users/ada", cwd: "/Users/ada/atlas", gitAt: "" });
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
    const found = await everywhere({
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
    const withoutVariable = await everywhere({ platform: "win32", home: "C:\\Users\\ada", cwd: "C:\\x", gitAt: "" });
    expect(withoutVariable).toContain("user vscode C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\mcp.json");
  });

  test("where the user has moved them, unless that is no place at all", async () => {
    const place = { platform: "linux", home: "/home/ada", cwd: "/x", gitAt: "" };
    expect(await everywhere({ ...place, env: { XDG_CONFIG_HOME: "/etc/ada" } })).toContain(
      "user goose /etc/ada/goose/config.yaml",
    );
    expect(await everywhere({ ...place, env: { XDG_CONFIG_HOME: "relative" } })).toContain(
      "user goose /home/ada/.config/goose/config.yaml",
    );
  });
});

describe("looking upwards", () => {
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

  test("does not begin without a repository, for anybody may leave a file further up", async () => {
    const root = folderWith({ ".mcp.json": "{}", "a/.mcp.json": "{}", "a/b/.mcp.json": "{}" });
    expect(await foundIn(root, "a/b")).toEqual(["project /a/b/.mcp.json"]);
  });

  test("never reaches the home folder, even if that is a repository", async () => {
    const root = folderWith({
      "home/.git/HEAD": "",
      "home/.mcp.json": "{}",
      "home/a/.mcp.json": "{}",
      "home/.cursor/mcp.json": "{}",
    });
    expect(await foundIn(root, "home/a")).toEqual(["project /home/a/.mcp.json", "user /home/.cursor/mcp.json"]);
  });

  test("in the home folder keeps a user's file a user's", async () => {
    const root = folderWith({ "home/.cursor/mcp.json": "{}", "home/.mcp.json": "{}" });
    expect(await foundIn(root, "home")).toEqual(["project /home/.mcp.json", "user /home/.cursor/mcp.json"]);
  });
});

describe("reading", () => {
  const reading = (root: string, more = {}) => ({ home: join(root, "home"), platform: "linux", env: {}, ...more });

  test("takes what an administrator has decided before all else, as a file of the user and not of a project", async () => {
    const root = folderWith({
      "managed-mcp.json": servers("both", "theirs"),
      "home/.claude.json": servers("both", "own"),
      "repo/.mcp.json": servers("both"),
    });
    const managed = { file: join(root, "managed-mcp.json"), scope: "managed", workspaceFolder: root } as const;
    const found = await findConfigs({ cwd: join(root, "repo"), ...reading(root) });
    const { entries, shadowed } = await readConfigs([...found, managed], reading(root));
    expect(entries.map(({ name, source, raw }) => [name, source.scope, raw.level])).toEqual([
      ["both", "user", "managed"],
      ["theirs", "user", "managed"],
      ["own", "user", "user"],
    ]);
    expect(shadowed.map((pair) => pair.used.source)).toEqual([entries[0]?.source, entries[0]?.source]);
  });

  test("takes the nearest of a name and tells of the others, and one bad file hides no other", async () => {
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
    const files = await findConfigs({ cwd: join(root, "repo"), ...reading(root) });
    const { entries, shadowed, errors } = await readConfigs(files, reading(root));
    expect(entries.map(({ name, source }) => [name, source.scope])).toEqual([
      ["both", "project"],
      ["db", "project"],
      ["own", "user"],
    ]);
    expect(shadowed).toMatchObject([
      { used: { source: { scope: "project" } }, shadowed: { source: { scope: "user" } } },
    ]);
    const before = (entry: ServerEntry | undefined) =>
      entry && describeForTrust(entry).lines.filter(({ label }) => label === "In place of");
    expect(before(entries[0])?.map(({ value }) => value)).toEqual([
      `mcpServers.both in ${join(root, "home/.claude.json")}`,
    ]);
    expect(before(entries[2])).toEqual([]);
    writeFileSync(join(root, "repo/.mcp.json"), servers("оwn"));
    const looks = (await readConfigs(files, reading(root))).entries.map(({ resembles }) => resembles);
    expect(looks).toEqual(["own", undefined, undefined, "оwn"]);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining("home/.cursor/mcp.json:1:17: malformed JSON"),
    ]);
    expect(entries[1]).toMatchObject({
      written: { command: "${workspaceFolder}/x" },
      problem: expect.stringMatching(
        /^missing \$\{env:NO\} \(servers\.db\.args\[0\] in .*repo\/\.vscode\/mcp\.json\): set NO/,
      ),
    });
  });

  test("puts a user's own servers for this project first", async () => {
    const root = folderWith({ "repo/.git/HEAD": "", "repo/.mcp.json": servers("a") });
    const repo = join(root, "repo");
    mkdirSync(join(root, "home"));
    const content = {
      projects: { [repo]: { mcpServers: { a: { command: "local" } } }, "/else": { mcpServers: { b: {} } } },
    };
    writeFileSync(join(root, "home/.claude.json"), JSON.stringify(content));
    const { entries } = await readConfigs(await findConfigs({ cwd: repo, ...reading(root) }), reading(root));
    expect(entries).toMatchObject([{ name: "a", written: { command: "local" }, raw: { level: "local" } }]);
  });

  test("of one path takes it for a project's, wherever it says it comes from", async () => {
    const root = folderWith({
      "repo/.copilot/mcp-config.json": servers("a"),
      "home/.copilot/mcp-config.json": servers("a"),
    });
    const scopeOf = async (path: string) => (await readConfigs(join(root, path), reading(root))).entries[0]?.source;
    expect(await scopeOf("repo/.copilot/mcp-config.json")).toMatchObject({ scope: "project", product: "copilot" });
    expect(await scopeOf("home/.copilot/mcp-config.json")).toMatchObject({ scope: "user", product: "copilot" });
  });

  test("knows the project of a file that is named", async () => {
    const root = folderWith({
      "repo/.vscode/mcp.json": '{"servers":{"a":{"command":"${workspaceFolder}"}}}',
      "x/my.json": servers("b"),
    });
    const wayOf = async (path: string) => (await readConfigs(join(root, path), reading(root))).entries[0]?.way;
    expect(await wayOf("repo/.vscode/mcp.json")).toEqual({ command: join(root, "repo"), cwd: join(root, "repo") });
    expect(await wayOf("x/my.json")).toEqual({ command: "b", cwd: join(root, "x") });
  });

  test("takes variables from an environment file beside it", async () => {
    const text =
      '{"servers":{"a":{"command":"x","envFile":"${workspaceFolder}/.env"},"b":{"command":"x","envFile":"no"}}}';
    const root = folderWith({ "repo/.vscode/mcp.json": text, "repo/.env": "KEY=value\n" });
    const { entries } = await readConfigs(join(root, "repo/.vscode/mcp.json"), reading(root));
    expect(entries[0]?.way).toMatchObject({ env: { KEY: "value" } });
    expect(entries[1]?.problem).toContain("the environment file is not there");
  });

  test("asks once for an input that several servers of a file need", async () => {
    const server = { command: "x", args: ["${input:pw}"] };
    const content = { servers: { a: server, b: server }, inputs: [{ id: "pw", password: true }] };
    const root = folderWith({ "repo/.vscode/mcp.json": JSON.stringify(content) });
    let asked = 0;
    const input = async () => `answer ${++asked}`;
    const { entries } = await readConfigs(join(root, "repo/.vscode/mcp.json"), reading(root, { input }));
    expect(entries.map(({ way }) => "command" in way && way.args)).toEqual([["answer 1"], ["answer 1"]]);
  });

  test("of a file that is missing, a folder, a pipe, too large or no UTF-8 says so and waits for nothing", async () => {
    const root = folderWith({ "large.json": " ".repeat(4 * 1024 * 1024 + 1), "folder/x": "" });
    writeFileSync(join(root, "latin.json"), Buffer.from([0x7b, 0xe9, 0x7d]));
    execFileSync("mkfifo", [join(root, "pipe.json")]);
    symlinkSync(join(root, "pipe.json"), join(root, "link.json"));
    const errorOf = async (name: string) => (await readConfigs(join(root, name), reading(root))).errors[0]?.message;
    expect(await errorOf("none.json")).toContain("expected a file with servers, got none");
    expect(await errorOf("folder")).toContain("expected a file");
    expect(await errorOf("pipe.json")).toContain("expected a file");
    expect(await errorOf("link.json")).toContain("expected a file");
    expect(await errorOf("large.json")).toContain("expected at most 4194304 bytes, got more");
    expect(await errorOf("latin.json")).toContain("expected UTF-8");
  });
});
