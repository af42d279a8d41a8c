import { describe, expect, test } from "vitest";
import { parseConfig } from "./parse.ts";

const file = "/repo/.mcp.json";
const read = (text: string) => parseConfig(text, { file });
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("a text", () => {
  test("can have comments, trailing commas, a byte order mark and any line breaks", async () => {
    const text = '\uFEFF{\r\n  // ours\r\n  "mcpServers": { /* one */ "a": { "command": "x", }, },\r\n}\r\n';
    expect((await read(text)).servers).toMatchObject([{ name: "a", configured: { command: "x" } }]);
  });

  test.each(["", "  \n", "{}", "\uFEFF"])("without content has no servers (%j)", async (text) => {
    expect((await read(text)).servers).toEqual([]);
  });

  test.each([
    [
      "a.json",
      '{\n  "mcpServers": {\n    "a": { "command": "hunter2" "args" }\n  }\n}',
      "a.json:3:33: invalid JSON: comma",
    ],
    ["a.toml", '[mcp_servers.a]\ncommand = "hunter2', "a.toml:2:11: invalid TOML"],
    ["a.yaml", 'extensions:\n  a: "hunter2\n  b: [', "a.yaml:3:"],
    ["b.yaml", "extensions:\n  a: {}\n  a: {}\n", "b.yaml:3:3: invalid YAML: duplicate name"],
    ["b.toml", "[mcp_servers.a]\n[mcp_servers.a]\n", "b.toml:2:"],
    ["c.json", "[]", "c.json:1:1: expected an object, got a list"],
    [".mcp.json", '{"mcpServers": 7}', ".mcp.json: mcpServers: expected an object of servers, got a number"],
  ])("with invalid syntax is one error with its position and without its content (%s)", async (name, text, message) => {
    const error = await parseConfig(text, { file: name }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "invalid-argument", message: expect.stringContaining(message) });
    expect(String(error)).not.toContain("hunter2");
  });

  test("of no known convention is an error that names the expected member", async () => {
    await expect(parseConfig('{"a": 1}', { file: "x.json" })).rejects.toThrow(
      'expected servers, for example below "mcpServers"',
    );
  });

  test("is recognized by its content if its name is unknown", async () => {
    const byContent = async (text: string, name: string) => (await parseConfig(text, { file: name })).product;
    expect(await byContent('{"servers":{}}', "mcp.json")).toBe("vscode");
    expect(await byContent('{"mcpServers":{}}', "mcp.json")).toBe("claude-code");
    expect(await byContent('{"mcp":{"servers":{}}}', "settings.json")).toBe("vscode-settings");
    expect(await byContent('{"context_servers":{}}', "settings.json")).toBe("zed");
    expect(await byContent("extensions: {}", "config.yaml")).toBe("goose");
    expect(await byContent("mcpServers: []", "config.yaml")).toBe("continue");
    expect(await byContent('{"mcpServers":{}}', "C:\\Users\\ada\\.cursor\\mcp.json")).toBe("cursor");
  });

  test("with servers below the member of another product has a note", async () => {
    const { servers, notes } = await parseConfig('{"mcpServers":{"a":{}}}', { file: "/repo/.vscode/mcp.json" });
    expect(servers).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('has "mcpServers", but vscode reads its servers from "servers"')]);
  });

  test("has project scope by default", async () => {
    const text = '{"mcpServers":{"a":{"command":"x"}}}';
    const scopeOf = async (scope?: "user") =>
      (await parseConfig(text, { file: "/home/ada/.copilot/mcp-config.json", ...(scope ? { scope } : {}) })).servers[0];
    expect(await scopeOf()).toMatchObject({ level: "project", source: { scope: "project" } });
    expect(await scopeOf("user")).toMatchObject({ level: "user", source: { scope: "user" } });
  });

  test("for an unknown product is refused", async () => {
    await expect(parseConfig("{}", { file, product: "netscape" })).rejects.toThrow("product: expected one of");
  });

  test("has the servers of a Windows project for any spelling of its path", async () => {
    const text = JSON.stringify({ projects: { "c:/Users/Ada/atlas": { mcpServers: { a: { command: "x" } } } } });
    const projectPath = "C:\\Users\\Ada\\atlas\\";
    const { servers } = await parseConfig(text, { file: "C:\\Users\\Ada\\.claude.json", projectPath });
    expect(servers).toMatchObject([{ name: "a", level: "local" }]);
  });
});

describe("an entry", () => {
  test.each([
    ["7", "mcpServers.bad in /repo/.mcp.json: expected an object, got a number"],
    ["{}", 'expected "command" or "url", got neither'],
    ['{"command":"a","url":"https://b"}', 'expected "command" or "url", got both'],
    ['{"command":["a"]}', "mcpServers.bad.command in /repo/.mcp.json: expected a string, got a list"],
    [
      '{"command":"a","args":"hunter2"}',
      "mcpServers.bad.args in /repo/.mcp.json: expected a list of strings, got a string",
    ],
    [
      '{"command":"a","args":["b",["hunter2"]]}',
      "mcpServers.bad.args[1] in /repo/.mcp.json: expected a string, got a list",
    ],
    [
      '{"command":"a","env":"hunter2"}',
      "mcpServers.bad.env in /repo/.mcp.json: expected an object of strings, got a string",
    ],
    [
      '{"command":"a","env":{"K":{"x":"hunter2"}}}',
      "mcpServers.bad.env.K in /repo/.mcp.json: expected a string, got an object",
    ],
    ['{"command":"a\\u0000b"}', "expected a string without NUL characters"],
    [
      '{"type":"carrier-pigeon","command":"a"}',
      "mcpServers.bad.type in /repo/.mcp.json: expected one of stdio, local, http",
    ],
    ['{"type":"http","command":"a"}', 'expected "url" because of its type, got none'],
    ['{"command":"a","timeout":-1}', "mcpServers.bad.timeout in /repo/.mcp.json: expected a positive number"],
    [
      '{"command":"a","disabled":"no"}',
      "mcpServers.bad.disabled in /repo/.mcp.json: expected true or false, got a string",
    ],
    [
      '{"url":"https://a","oauth":{"callbackPort":99999}}',
      "mcpServers.bad.oauth.callbackPort in /repo/.mcp.json: expected a port number",
    ],
    [
      '{"url":"https://a","headersHelper":"/bin/evil"}',
      "mcpServers.bad.headersHelper in /repo/.mcp.json: commands in configuration files are not run",
    ],
    [
      '{"url":"https://a","oauth":{"redirectUri":7}}',
      "mcpServers.bad.oauth.redirectUri in /repo/.mcp.json: expected a string, got a number",
    ],
  ])("that is invalid has a problem and does not affect others (%s)", async (bad, problem) => {
    const { servers } = await read(
      `{"mcpServers":{"before":{"command":"x"},"bad":${bad},"after":{"url":"https://y"}}}`,
    );
    expect(servers.map(({ name }) => name)).toEqual(["before", "bad", "after"]);
    expect(servers[1]?.problem).toContain(problem);
    expect(servers[1]?.problem).not.toContain("hunter2");
    expect(servers[0]?.problem ?? servers[2]?.problem).toBeUndefined();
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("can be named %s", async (name) => {
    const text = `{"mcpServers":{${JSON.stringify(name)}:{"command":"x","env":{${JSON.stringify(name)}:"v"}}}}`;
    const { servers } = await read(text);
    expect(servers.map((server) => server.name)).toEqual([name]);
    const [server] = servers;
    expect(server && "command" in server.configured && Object.entries(server.configured.env ?? {})).toEqual([
      [name, "v"],
    ]);
    for (const format of ["yaml", "toml"] as const) {
      const other =
        format === "yaml" ? `mcp_servers:\n  ${name}: { command: x }` : `[mcp_servers.${name}]\ncommand = "x"`;
      const parsed = await parseConfig(other, { file: "x", format, product: "codex" });
      expect(parsed.servers).toMatchObject([{ name, configured: { command: "x" } }]);
    }
    expect(({} as { command?: string }).command).toBeUndefined();
  });

  test("that occurs twice, or has a duplicate member, has a problem", async () => {
    const twice = await read('{"mcpServers":{"a":{"command":"good"},"b":{"command":"x"},"a":{"command":"evil"}}}');
    expect(twice.servers).toMatchObject([
      { name: "a", problem: expect.stringContaining("mcpServers.a") },
      { name: "b" },
    ]);
    expect(twice.servers[1]).not.toHaveProperty("problem");
    const inside = await read('{"mcpServers":{"a":{"command":"good","command":"evil"},"b":{"command":"x"}}}');
    expect(inside.servers[0]?.problem).toContain("mcpServers.a.command in /repo/.mcp.json: expected once");
    const outside = await read('{"mcpServers":{"a":{"command":"x"}},"mcpServers":{"b":{"command":"x"}}}');
    expect(outside.servers).toMatchObject([{ name: "b", problem: expect.stringContaining("mcpServers in") }]);
  });

  test("with an empty or too long name has a problem", async () => {
    const { servers } = await read(`{"mcpServers":{"":{"command":"x"},"${"a".repeat(300)}":{"command":"x"}}}`);
    expect(servers.map(({ problem }) => problem)).toEqual([
      expect.stringContaining("expected a name for the server"),
      expect.stringContaining("at most 256 characters"),
    ]);
  });
});

describe("limits", () => {
  test.each([
    ["bytes", "a.json", " ".repeat(4 * 1024 * 1024 + 1)],
    ["levels of JSON", "a.json", nested(100_000)],
    ["levels of YAML in brackets", "a.yaml", nested(100_000)],
    ["levels of YAML in dashes", "a.yaml", "- ".repeat(100_000)],
    ["levels of TOML", "a.toml", `a${".a".repeat(100)} = 1`],
    ["values made by aliases", "a.yaml", aliases()],
    ["an alias inside itself", "a.yaml", "mcpServers: &a { b: *a, c: *a }"],
    ["servers", "a.json", `{"mcpServers":{${Array.from({ length: 1_001 }, (_, n) => `"s${n}":{}`).join()}}}`],
    ["packages", "a.json", `{"name":"x","packages":[${Array(1_001).fill("{}").join()}]}`],
  ])("apply to %s", async (_, name, text) => {
    await expect(parseConfig(text, { file: name })).rejects.toMatchObject({ code: "limit-reached" });
  });

  test("apply to nesting that only the parser sees", async () => {
    const steps = Array.from({ length: 3_000 }, (_, level) => `${" ".repeat(level)}a:`).join("\n");
    await expect(parseConfig(steps, { file: "a.yaml" })).rejects.toHaveProperty("code");
    await expect(parseConfig(`a = ${nested(100_000)}`, { file: "a.toml" })).rejects.toHaveProperty("code");
  });

  test("apply to arguments and strings of one entry", async () => {
    const many = JSON.stringify(Array(1_001).fill("x"));
    const long = JSON.stringify("x".repeat(200_000));
    const { servers } = await read(
      `{"mcpServers":{"a":{"command":"x","args":${many}},"b":{"command":${long}},"c":{"command":"x"}}}`,
    );
    expect(servers.map(({ problem }) => problem?.replace(/,.*/, ""))).toEqual([
      "mcpServers.a.args in /repo/.mcp.json: expected at most 1000 items",
      "mcpServers.b.command in /repo/.mcp.json: expected at most 131072 characters",
      undefined,
    ]);
  });

  test("allow a file with a thousand servers", async () => {
    const text = `{"mcpServers":{${Array.from({ length: 1_000 }, (_, n) => `"s${n}":{"command":"x"}`).join()}}}`;
    expect((await read(text)).servers).toHaveLength(1_000);
  });
});

function aliases(): string {
  const lines = Array.from(
    { length: 9 },
    (_, n) =>
      `b${n}: &b${n} [${Array(9)
        .fill(n ? `*b${n - 1}` : "*a")
        .join()}]`,
  );
  return ["a: &a [x, x, x, x, x, x, x, x, x]", ...lines].join("\n");
}

test("keepAlive is a setting of the entry, and must be true or false", async () => {
  const entry = async (keepAlive: unknown) =>
    (await read(JSON.stringify({ mcpServers: { a: { command: "x", keepAlive } } }))).servers[0];
  expect(await entry(true)).toMatchObject({ settings: { keepAlive: true } });
  expect((await entry("later"))?.problem).toContain("mcpServers.a.keepAlive");
});
