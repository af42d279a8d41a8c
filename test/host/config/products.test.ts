import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type ConfiguredServer,
  type ExpandOptions,
  expandEntry,
  parseConfig,
} from "../../../packages/host/src/config/index.ts";

const folder = join(import.meta.dirname, "files");

async function read(
  file: string,
  env: ExpandOptions["env"] = {},
  more: Partial<ExpandOptions> = {},
): Promise<{ readonly product: string; readonly [server: string]: ConfiguredServer | string }> {
  const parsed = await parseConfig(readFileSync(join(folder, file), "utf8"), { file: `/files/${file}` });
  const options = { env, userHome: "/home/ada", workspaceFolder: "/work/atlas", ...more };
  const entries = await Promise.all(parsed.servers.map((raw) => expandEntry(raw, options)));
  return Object.assign(Object.fromEntries(entries.map((entry) => [entry.name, entry])), { product: parsed.product });
}

test("Claude Desktop: uses a command unchanged, and reports a variable, because the product expands none", async () => {
  const servers = await read("Claude/claude_desktop_config.json", { HOME: "/home/ada" });
  expect(servers).toMatchObject({
    product: "claude-desktop",
    filesystem: {
      target: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop"],
        env: { LOG_LEVEL: "warn" },
      },
      source: { path: "mcpServers.filesystem", scope: "project" },
    },
    "tried-a-variable": {
      target: { command: "" },
      problem: expect.stringContaining("unknown ${HOME} (mcpServers.tried-a-variable.args[0] in "),
    },
  });
  expect(servers["filesystem"]).not.toHaveProperty("problem");
});

test("Claude Code: expands variables with and without a default, reads HTTP and HTTP+SSE, and runs no helper", async () => {
  const env = { PWD: "/work", FILES_TOKEN: "t1", ISSUES_TOKEN: "t2" };
  const servers = await read("claude-code/.mcp.json", env);
  expect(servers).toMatchObject({
    product: "claude-code",
    files: {
      target: { command: "npx", args: ["-y", "portolan-files", "/work"], env: { TOKEN: "t1" }, cwd: "/work/atlas" },
      configured: {
        command: "${FILES_BIN:-npx}",
        args: ["-y", "portolan-files", "${PWD}"],
        env: { TOKEN: "${FILES_TOKEN}" },
      },
      settings: { idleMs: 30_000 },
      source: { scope: "project" },
    },
    issues: {
      target: { url: "https://issues.example.com/mcp", headers: { Authorization: "Bearer t2" } },
      oauth: { clientId: "issues-cli", callbackPort: 8912 },
    },
    old: { target: { url: "https://old.example.com/sse", legacySse: true } },
    dynamic: { target: { url: "" }, problem: expect.stringContaining("mcpServers.dynamic.headersHelper in ") },
  });
  expect(servers["files"]).not.toHaveProperty("problem");
});

test("Claude Code: reads from the user's file the user's servers and those of the given project only", async () => {
  const text = readFileSync(join(folder, "claude-code/.claude.json"), "utf8");
  const parsed = await parseConfig(text, {
    file: "/home/ada/.claude.json",
    scope: "user",
    projectPath: "/home/ada/atlas/",
  });
  expect(parsed.servers.map(({ name, level, source }) => [name, level, source.path, source.scope])).toEqual([
    ["shared", "local", 'projects["/home/ada/atlas"].mcpServers.shared', "user"],
    ["notes", "user", "mcpServers.notes", "user"],
    ["shared", "user", "mcpServers.shared", "user"],
  ]);
});

test("VS Code: reads inputs, an environment file, folder variables and numbers, and refuses inputs that run a command", async () => {
  const asked: string[] = [];
  const servers = await read(
    ".vscode/mcp.json",
    { GH_TOKEN: "g" },
    {
      readFile: async (path) => (path === "/work/atlas/.env" ? "EXTRA=1\nPGURL=from-file\n" : undefined),
      input: async (request) => {
        asked.push(JSON.stringify(request));
        return request.default ?? "postgres://secret";
      },
    },
  );
  expect(servers).toMatchObject({
    product: "vscode",
    db: {
      target: {
        command: "npx",
        args: ["-y", "portolan-database", "--mode", "read"],
        env: { EXTRA: "1", PGURL: "postgres://secret", PORT: "5432" },
        cwd: "/work/atlas/db",
      },
      envFile: { path: "${workspaceFolder}/.env", names: ["EXTRA", "PGURL"] },
    },
    github: { target: { url: "https://api.example.com/mcp/", headers: { Authorization: "Bearer g" } } },
    socket: { problem: expect.stringContaining('expected a URL with http or https, got "unix:"') },
    commanded: { problem: expect.stringContaining("${input:from-command} would run a command") },
    settings: { problem: expect.stringContaining("cannot replace ${config:python.path}") },
    undescribed: { problem: expect.stringContaining("${input:nobody} is not defined") },
  });
  expect((servers["db"] as ConfiguredServer).target).not.toHaveProperty("env.UNSET");
  expect(asked.map((request) => JSON.parse(request))).toEqual([
    { id: "mode", description: "Mode", options: ["read", "write"], default: "read" },
    { id: "pg-url", description: "Where is the database?", password: true },
  ]);
});

test("Cursor: expands editor variables, reads a registered client, and refuses shell-style variables", async () => {
  const servers = await read(".cursor/mcp.json", { LINT_KEY: "k", CLIENT: "c", SECRET: "s" });
  expect(servers).toMatchObject({
    product: "cursor",
    linter: {
      target: {
        command: "/work/atlas/bin/atlas-lint",
        args: ["--home", "/home/ada", "--sep", "/"],
        env: { KEY: "k" },
      },
    },
    remote: { oauth: { clientId: "c", clientSecret: "s", scopes: ["read", "write"] } },
    "shell-style": { problem: expect.stringContaining("unknown ${LINT_KEY} (mcpServers.shell-style.args[0]") },
  });
});

test("Copilot: reads local servers and the selection of tools", async () => {
  const servers = await read(".copilot/mcp-config.json", { DOCS_KEY: "d" });
  expect(servers).toMatchObject({
    product: "copilot",
    playwright: { target: { command: "npx" }, settings: {} },
    docs: { target: { headers: { "X-Key": "d" } }, settings: { only: ["search", "read_*"] } },
  });
  expect((servers["playwright"] as ConfiguredServer).settings).toEqual({});
});

test("Codex: reads TOML tables, variables by name and times in seconds, and refuses a literal token without printing it", async () => {
  const servers = await read(".codex/config.toml", { CONTEXT_KEY: "c", DESIGN_TOKEN: "d", TEAM_NAME: "t" });
  expect(servers).toMatchObject({
    product: "codex",
    context: {
      target: { command: "npx", args: ["-y", "context-server"], env: { MODE: "fast", CONTEXT_KEY: "c" } },
      settings: { connectMs: 20_000, idleMs: 45_500, only: ["find", "read"], except: ["write"] },
      source: { path: "mcp_servers.context" },
    },
    "design.files": {
      target: { headers: { "X-Region": "eu", "X-Team": "t", Authorization: "Bearer d" } },
      configured: { headers: { Authorization: "Bearer ${env:DESIGN_TOKEN}" } },
      settings: { disabled: true },
      source: { path: 'mcp_servers["design.files"]' },
    },
    literal: { problem: expect.stringContaining("mcp_servers.literal.bearer_token in ") },
  });
  expect(JSON.stringify(servers)).not.toContain("sk-do-not-print");
});

test("Gemini: reads its own keys for URLs and tools, and notes its trust flag without applying it", async () => {
  const servers = await read(".gemini/settings.json", { DB_URL: "db", API_KEY: "a" });
  expect(servers).toMatchObject({
    product: "gemini",
    python: {
      target: { command: "python", cwd: "/work/atlas/./tools", env: { DB: "db", KEY: "a" } },
      settings: { idleMs: 15_000, only: ["safe_*"], except: ["rm"] },
      raw: { notes: [expect.stringContaining("mcpServers.python.trust")] },
    },
    stream: { target: { url: "https://stream.example.com/mcp", headers: { "X-Key": "a" } } },
    events: { target: { url: "https://events.example.com/sse" } },
  });
  expect((servers["python"] as ConfiguredServer).settings).not.toHaveProperty("trustHints");
});

test("goose: reads YAML extensions and keys from the environment, and refuses built-in extensions", async () => {
  const servers = await read("goose/config.yaml", { GITHUB_TOKEN: "g" });
  expect(servers).toMatchObject({
    product: "goose",
    developer: { problem: expect.stringContaining("cannot be started here: it is part of goose") },
    github: {
      target: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-github"],
        env: { LOG: "debug", GITHUB_TOKEN: "g" },
      },
      settings: { idleMs: 120_000 },
    },
    wiki: {
      target: { url: "https://wiki.example.com/mcp", headers: { "X-Team": "docs" } },
      settings: { disabled: true },
    },
  });
});

test("Windsurf: reads its own key for URLs, keeps backslashes, and refuses values from files", async () => {
  const servers = await read("windsurf/mcp_config.json", { AUTH_TOKEN: "a" });
  expect(servers).toMatchObject({
    product: "windsurf",
    remote: { target: { headers: { API_KEY: "Bearer a" } }, settings: { except: ["delete"] } },
    "from-file": { problem: expect.stringContaining("values are not read from other files") },
    local: { target: { args: ["C:\\tools\\server.js"] }, settings: { disabled: true } },
  });
});

test("Zed: reads both forms of a command and URLs, and refuses extensions that only Zed can start", async () => {
  const servers = await read("zed/settings.json");
  expect(servers).toMatchObject({
    product: "zed",
    "new-style": { target: { command: "zed-mcp", args: ["--fast"], env: { A: "1" } } },
    "old-style": { target: { command: "/opt/old", args: ["serve"], env: { B: "2" } } },
    remote: { target: { url: "https://zed.example.com/mcp", headers: { "X-Key": "literal" } } },
    extension: { problem: expect.stringContaining("an extension of Zed starts it") },
  });
});

test("opencode: reads commands as lists and its own syntax for variables", async () => {
  const servers = await read("opencode/opencode.jsonc", { MY_KEY: "k", JIRA: "j" });
  expect(servers).toMatchObject({
    product: "opencode",
    everything: { target: { command: "bun", args: ["x", "server-everything"], env: { KEY: "k" } } },
    jira: { target: { headers: { Authorization: "Bearer j" } }, settings: { disabled: true } },
    "from-file": { problem: expect.stringContaining("(mcp.from-file.command[1] in ") },
  });
});

test("Cline: reads times in seconds, and notes automatic approval without applying it", async () => {
  const servers = await read("cline/cline_mcp_settings.json");
  expect(servers).toMatchObject({
    product: "cline",
    weather: {
      settings: { disabled: true, idleMs: 60_000 },
      raw: { notes: [expect.stringContaining("mcpServers.weather.autoApprove in ")] },
    },
    remote: { target: { url: "https://cline.example.com/mcp" }, raw: { notes: [] } },
  });
  expect((servers["weather"] as ConfiguredServer).settings).toEqual({ disabled: true, idleMs: 60_000 });
});

test("Kiro: reads disabled tools, notes automatic approval, and expands variables", async () => {
  expect(await read(".kiro/settings/mcp.json", { AWS_TOKEN: "a" })).toMatchObject({
    product: "kiro",
    "aws-docs": {
      target: { env: { FASTMCP_LOG_LEVEL: "ERROR", TOKEN: "a" } },
      settings: { except: ["write_doc"] },
      raw: { notes: [expect.stringContaining("autoApprove")] },
    },
  });
});

test("Inspector: reads the era, times, roots and a client", async () => {
  expect(await read(".mcp-inspector/mcp.json")).toMatchObject({
    product: "inspector",
    crm: {
      settings: { era: "stateless", connectMs: 5_000, idleMs: 90_000 },
      oauth: { clientId: "inspector", scopes: ["read", "write"] },
      raw: { roots: ["file:///home/ada"] },
    },
    odd: { problem: expect.stringContaining("mcpServers.odd.protocolEra in ") },
  });
});

test("registry server.json: turns packages into commands and their variables into inputs", async () => {
  const answers = { city: "Oslo", units: "us", WEATHER_KEY: "k", tenant: "acme", key: "s" };
  const servers = await read("registry/server.json", {}, { inputs: answers });
  expect(servers).toMatchObject({
    product: "registry",
    "io.example/weather": {
      target: {
        command: "npx",
        args: ["-y", "@example/weather-mcp@1.2.0", "Oslo", "--units", "us", "--verbose"],
        env: { WEATHER_KEY: "k", REGION: "eu" },
      },
      configured: {
        args: ["-y", "@example/weather-mcp@1.2.0", "${input:city}", "--units", "${input:units}", "--verbose"],
      },
      raw: {
        inputs: [
          { id: "WEATHER_KEY", description: "Key", password: true },
          { id: "city", description: "Which city?" },
          { id: "units", options: ["metric", "us"], default: "metric" },
        ],
      },
    },
    "io.example/weather#2": {
      target: {
        command: "docker",
        args: ["run", "-i", "--rm", "-e", "WEATHER_KEY", "docker.io/example/weather:1.2.0"],
        env: { WEATHER_KEY: "k" },
      },
    },
    "io.example/weather#3": { problem: expect.stringContaining("packages[2].registryType in ") },
    "io.example/weather#4": {
      target: { url: "https://acme.example.com/mcp", headers: { Authorization: "Bearer s" } },
    },
  });
});

test("bundle manifest: expands its folder and the user's folders, and reads inputs", async () => {
  expect(await read("bundle/manifest.json", {}, { inputs: { api_key: "k" } })).toMatchObject({
    product: "bundle",
    calendar: {
      target: {
        command: "node",
        args: ["/files/bundle/server/index.js", "--in", "/home/ada/Documents"],
        env: { KEY: "k" },
      },
      raw: { inputs: [{ id: "api_key", description: "API key", password: true }] },
    },
  });
});

test("LibreChat: turns user variables into inputs, and reports unknown ones", async () => {
  const servers = await read("librechat/librechat.yaml", { TEAM: "t" }, { inputs: { API_KEY: "k" } });
  expect(servers).toMatchObject({
    product: "librechat",
    puppeteer: { target: { command: "npx" }, settings: { idleMs: 300_000, connectMs: 10_000 } },
    "per-user": { problem: expect.stringContaining("{{LIBRECHAT_USER_ID}} is not defined") },
  });
});

test("Continue: reads a list of servers, and reports one without a name", async () => {
  const servers = await read("continue/config.yaml", { SQLITE_KEY: "q" });
  expect(servers).toMatchObject({
    product: "continue",
    sqlite: {
      target: { command: "uvx", args: ["mcp-server-sqlite"], env: { KEY: "q" } },
      source: { path: "mcpServers[0]" },
    },
    remote: { target: { headers: { "X-Key": "plain" } } },
    "": { problem: expect.stringContaining("mcpServers[2] in ") },
  });
});

test("mcphost: reads its URL-like variables, commands as lists and headers as lines, and refuses built-in servers", async () => {
  const servers = await read("mcphost/.mcphost.yml", { DEBUG: "1", WEB_TOKEN: "w" });
  expect(servers).toMatchObject({
    product: "mcphost",
    fs: {
      target: { command: "npx", args: ["-y", "server-filesystem", "/tmp"], env: { DEBUG: "1" } },
      settings: { only: ["read_file"] },
    },
    web: { target: { headers: { Authorization: "Bearer w" } } },
    inside: { problem: expect.stringContaining("it is part of mcphost") },
  });
});
