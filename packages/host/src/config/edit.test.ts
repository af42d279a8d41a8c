import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServerEntry } from "../options.ts";
import { editConfig } from "./edit.ts";
import { expandEntry } from "./expand.ts";
import { parseConfig } from "./parse.ts";

const entry = (written: ServerEntry["configured"], settings: ServerEntry["settings"] = {}): ServerEntry => ({
  name: "new",
  target: written,
  configured: written,
  settings,
  source: { kind: "code" },
});
const added = entry({ command: "npx", args: ["-y", "server"], env: { KEY: "${KEY}" } });
const edit = (text: string, file: string, name: string, value: ServerEntry | undefined) =>
  editConfig(text, { file }, name, value);
const namesIn = async (text: string, file: string) =>
  (await parseConfig(text, { file })).servers.map(({ name }) => name);

describe("JSON", () => {
  const file = "/repo/.mcp.json";
  const text = `// head
{
    "other": [1,2,  3], // kept
    "mcpServers": {
        // about a
        "a": { "command": "a" }, // after a
        /* about b */
        "b": {"command":"b"} // after b
        // at the end
    }
}
// tail
`;

  test("adds a server at the end with the indentation of the file, and changes nothing else", async () => {
    expect(await edit(text, file, "new", entry({ command: "x", args: ["1"] }))).toBe(
      text.replace(
        `{"command":"b"} // after b`,
        `{"command":"b"}, // after b
        "new": {
            "type": "stdio",
            "command": "x",
            "args": [
                "1"
            ]
        }`,
      ),
    );
  });

  test("replaces a server in its place and keeps unknown members", async () => {
    const own = text.replace(`{ "command": "a" }`, `{ "command": "a", "alwaysLoad": true, "args": ["old"] }`);
    const edited = await edit(own, file, "a", entry({ command: "x" }));
    expect(edited).toBe(
      own.replace(
        `{ "command": "a", "alwaysLoad": true, "args": ["old"] }`,
        `{
            "command": "x",
            "alwaysLoad": true,
            "type": "stdio"
        }`,
      ),
    );
  });

  test("removes the lines of a server and the comment after it, and keeps other comments", async () => {
    expect(await edit(text, file, "a", undefined)).toBe(
      text.replace(`        "a": { "command": "a" }, // after a\n`, ""),
    );
    expect(await edit(text, file, "b", undefined)).toBe(
      text
        .replace(`        "b": {"command":"b"} // after b\n`, "")
        .replace(`"a": { "command": "a" }, //`, `"a": { "command": "a" } //`),
    );
  });

  test.each([
    ["", `{\n  "mcpServers": {\n    "new": {\n      "type": "stdio",\n      "command": "x"\n    }\n  }\n}\n`],
    ["{}", `{"mcpServers":{"new":{"type":"stdio","command":"x"}}}`],
    [`{"mcpServers":{}}`, `{"mcpServers":{"new":{"type":"stdio","command":"x"}}}`],
    [
      `{"mcpServers":{"a":{"command":"a"}}}`,
      `{"mcpServers":{"a":{"command":"a"},"new":{"type":"stdio","command":"x"}}}`,
    ],
    [
      `{\n\t"mcpServers": {}\n}`,
      `{\n\t"mcpServers": {\n\t\t"new": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "x"\n\t\t}\n\t}\n}`,
    ],
    [
      `{\r\n  "a": 1\r\n}\r\n`,
      `{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "new": {\r\n      "type": "stdio",\r\n      "command": "x"\r\n    }\r\n  }\r\n}\r\n`,
    ],
    [
      `{\n  "mcpServers": null\n}`,
      `{\n  "mcpServers": {\n    "new": {\n      "type": "stdio",\n      "command": "x"\n    }\n  }\n}`,
    ],
    [
      `\uFEFF{\n  "mcpServers": {\n    "a": {},\n  },\n}`,
      `\uFEFF{\n  "mcpServers": {\n    "a": {},\n    "new": {\n      "type": "stdio",\n      "command": "x"\n    },\n  },\n}`,
    ],
  ])("adds a server to %j", async (before, after) => {
    expect(await edit(before, file, "new", entry({ command: "x" }))).toBe(after);
  });

  test("removes or replaces all servers with a duplicate name", async () => {
    const twice = `{\n  "mcpServers": {\n    "a": {"command":"1"},\n    "b": {"command":"b"},\n    "a": {"command":"2"}\n  }\n}`;
    expect(await edit(twice, file, "a", undefined)).toBe(`{\n  "mcpServers": {\n    "b": {"command":"b"}\n  }\n}`);
    expect(await namesIn(await edit(twice, file, "a", added), file)).toEqual(["b", "a"]);
    const endless = `{"mcpServers":{${Array(1_000).fill('"a":{}').join()}}}`;
    await expect(edit(endless, file, "a", undefined)).rejects.toMatchObject({ code: "limit-reached" });
  });

  test.each(["__proto__", "constructor", "a.b", "", 'ü "quoted" \\', "\u2028"])(
    "adds and removes a server named %j",
    async (name) => {
      const edited = await edit(`{\n  "mcpServers": {\n    "a": {}\n  }\n}`, file, name, added);
      expect(await namesIn(edited, file)).toEqual(["a", name]);
      expect(await namesIn(await edit(edited, file, name, undefined), file)).toEqual(["a"]);
    },
  );

  test("changes nothing if the server to remove does not exist", async () => {
    expect(await edit(text, file, "nobody", undefined)).toBe(text);
  });

  const space = fc.constantFrom("", " ", "  ", "\n", "\n\n    ", "\t");
  const remark = fc.constantFrom("", "", ' // remark, with { " and }\n', "/* block , */", "\n/* two\nlines */\n");
  const gap = fc.tuple(space, remark, space).map((parts) => parts.join(""));
  const documents = fc
    .record({
      head: gap,
      members: fc.uniqueArray(
        fc.record({ name: fc.stringMatching(/^[a-z]{1,3}$/), before: gap, after: gap, inner: gap }),
        {
          minLength: 1,
          maxLength: 5,
          selector: ({ name }) => name,
        },
      ),
      hasTrailingComma: fc.boolean(),
      tail: gap,
      eol: fc.constantFrom("\n", "\r\n"),
    })
    .map(({ head, members, hasTrailingComma, tail, eol }) => {
      const own = members.map(({ name, inner }) => `${JSON.stringify(name)}:${inner}{"command": "of ${name}"}`);
      const list = members.map(({ before, after }, index) => {
        const isLast = index === members.length - 1;
        return `${before}${own[index]}${after}${isLast && !hasTrailingComma ? "" : ","}`;
      });
      const lines = `${head}{"first": [1,  2], "mcpServers": {${list.join("")}${tail}}, "last": true }${tail}\n`;
      const fix = (part: string) => part.replaceAll("\n", eol);
      return { text: fix(lines), names: members.map(({ name }) => name), own: own.map(fix) };
    });

  test("restores the same bytes when an added server is removed", async () => {
    await fc.assert(
      fc.asyncProperty(documents, async ({ text: before }) => {
        const longer = await edit(before, file, "new one", added);
        expect(await parseConfig(longer, { file })).toMatchObject({ product: "claude-code" });
        expect(await edit(longer, file, "new one", undefined)).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  test("keeps the bytes and order of all other servers for any edit", async () => {
    const action = fc.constantFrom(added, undefined);
    await fc.assert(
      fc.asyncProperty(documents, fc.nat(4), action, async ({ text: before, names, own }, index, value) => {
        const target = names[index % names.length]!;
        const edited = await edit(before, file, target, value);
        const others = own.filter((_, at) => names[at] !== target);
        let from = 0;
        for (const other of others) {
          const found = edited.indexOf(other, from);
          expect(found).toBeGreaterThanOrEqual(from);
          from = found + other.length;
        }
        const start = before.indexOf(`"mcpServers": {`);
        expect(edited.slice(0, start)).toBe(before.slice(0, start));
        const tail = before.slice(before.lastIndexOf(`}, "last"`));
        expect(edited.endsWith(tail)).toBe(true);
        expect(await namesIn(edited, file)).toEqual(value ? names : names.filter((name) => name !== target));
      }),
      { numRuns: 300 },
    );
  });
});

describe("YAML", () => {
  const file = "/home/ada/.config/goose/config.yaml";
  const text = `# head
GOOSE_PROVIDER:   anthropic   # kept as it is

extensions:
    # about a
    a:
        cmd: a   # inside a
        type: stdio
        args:
        - "1"   # one
        - '2'
        enabled: true
    # about b
    b: {cmd: b, type: stdio, enabled: true}   # after b
    # at the end
last: [ 1,2 ]
`;
  const goose = entry({ command: "npx", args: ["x: y", "# no", "true"], env: { KEY: "v" } });

  test("adds a server at the end with the indentation of the file, and changes nothing else", async () => {
    expect(await edit(text, file, "new", goose)).toBe(
      text.replace(
        "enabled: true}   # after b\n",
        `enabled: true}   # after b
    new:
        type: stdio
        cmd: npx
        args:
            - "x: y"
            - "# no"
            - "true"
        envs:
            KEY: v
        enabled: true
`,
      ),
    );
  });

  test("removes the lines of a server", async () => {
    const [start, end] = [text.indexOf("    a:\n"), text.indexOf("    # about b")];
    expect(await edit(text, file, "a", undefined)).toBe(text.slice(0, start) + text.slice(end));
    expect(await edit(text, file, "b", undefined)).toBe(text.replace(/ {4}b: .*\n/, ""));
  });

  test("replaces a server in its place", async () => {
    const edited = await edit(text, file, "a", goose);
    expect(await namesIn(edited, file)).toEqual(["a", "b"]);
    expect(edited).toContain(
      "    # about b\n    b: {cmd: b, type: stdio, enabled: true}   # after b\n    # at the end\nlast: [ 1,2 ]\n",
    );
    expect(edited.startsWith(text.slice(0, text.indexOf("    a:\n")))).toBe(true);
  });

  test.each([
    ["", "extensions:\n  new:\n    type: stdio\n    cmd: x\n    enabled: true\n"],
    ["a: 1", "a: 1\nextensions:\n  new:\n    type: stdio\n    cmd: x\n    enabled: true"],
    ["extensions:\nb: 2\n", "extensions:\n  new:\n    type: stdio\n    cmd: x\n    enabled: true\nb: 2\n"],
    ["extensions: {}\n", `extensions: {"new": {"type":"stdio","cmd":"x","enabled":true}}\n`],
    ["extensions: {a: {}}\n", `extensions: {a: {}, "new": {"type":"stdio","cmd":"x","enabled":true}}\n`],
    [
      "a: 1\r\nextensions:\r\n  a: {}\r\n",
      "a: 1\r\nextensions:\r\n  a: {}\r\n  new:\r\n    type: stdio\r\n    cmd: x\r\n    enabled: true\r\n",
    ],
  ])("adds a server to %j", async (before, after) => {
    expect(await edit(before, file, "new", entry({ command: "x" }))).toBe(after);
  });

  test("does not remove an anchor that other servers refer to", async () => {
    const anchored = "extensions:\n  a: &a\n    cmd: x\n  b: *a\n";
    await expect(edit(anchored, file, "a", undefined)).rejects.toThrow("edit it by hand");
    expect(await edit(anchored, file, "b", undefined)).toBe("extensions:\n  a: &a\n    cmd: x\n");
  });

  test("edits a list of servers by their names", async () => {
    const list = "name: Local\nmcpServers:\n  - name: a\n    command: a\n  - name: b   # b\n    command: b\n# tail\n";
    const of = "/home/ada/.continue/config.yaml";
    expect(await edit(list, of, "a", undefined)).toBe(
      "name: Local\nmcpServers:\n  - name: b   # b\n    command: b\n# tail\n",
    );
    expect(await edit(list, of, "new", entry({ command: "x" }))).toBe(
      list.replace("    command: b\n", "    command: b\n  - name: new\n    command: x\n"),
    );
  });

  test("restores the same bytes when an added server is removed", async () => {
    const scalar = fc.constantFrom(
      "x",
      '"quoted: # not a remark"',
      "'it''s'",
      "[1, {a: b}]",
      "{cmd: x}",
      "|\n      block\n      text",
      "",
    );
    const remark = fc.constantFrom("", "  # remark", "\n    # own line", "\n");
    const documents = fc
      .tuple(
        fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,3}$/), scalar, remark), {
          minLength: 1,
          maxLength: 5,
          selector: ([name]) => name,
        }),
        fc.constantFrom("\n", "\r\n"),
      )
      .map(([members, eol]) => {
        const lines = members.map(([name, value, after]) => {
          const isPlain = !value.startsWith("|");
          return `  ${name}:\n    cmd: ${isPlain ? "x" : "y"}\n    more: ${value}${isPlain ? after : ""}\n`;
        });
        return `# head\nfirst:   1\nextensions:\n${lines.join("")}# tail\nlast: [ 1 ]\n`.replaceAll("\n", eol);
      });
    await fc.assert(
      fc.asyncProperty(documents, async (before) => {
        const longer = await edit(before, file, "new one", goose);
        expect(await namesIn(longer, file)).toContain("new one");
        expect(await edit(longer, file, "new one", undefined)).toBe(before);
      }),
      { numRuns: 200 },
    );
  });
});

describe("TOML", () => {
  const file = "/home/ada/.codex/config.toml";
  const text = `# head
model = "o4"   # kept

[mcp_servers.a]
command = "a"
args = [
  "[mcp_servers.fake]", # not a table
]
note = """
[mcp_servers.fake]
"""

[mcp_servers.a.env]
K = 'v' # last of a

# about b
[mcp_servers."b.c"]
command = "b"

# about profiles
[profiles.fast]
model   =   "x"
`;
  const start = text.indexOf("[mcp_servers.a]");
  const end = text.indexOf("# about b");

  test("adds a table after the last server, and changes nothing else", async () => {
    expect(await edit(text, file, "new", entry({ command: "npx", args: ["-y"], env: { K: "v" } }))).toBe(
      text.replace(
        `[mcp_servers."b.c"]\ncommand = "b"\n`,
        `[mcp_servers."b.c"]
command = "b"

[mcp_servers.new]
command = "npx"
args = [ "-y" ]

[mcp_servers.new.env]
K = "v"
`,
      ),
    );
  });

  test("removes all tables of a server", async () => {
    expect(await edit(text, file, "a", undefined)).toBe(text.slice(0, start) + text.slice(end));
    expect(await edit(text, file, "b.c", undefined)).toBe(text.replace(`[mcp_servers."b.c"]\ncommand = "b"\n\n`, ""));
  });

  test("replaces a server in its place and keeps unknown members", async () => {
    expect(
      await edit(
        text,
        file,
        "b.c",
        entry({ url: "https://x/mcp", headers: { Authorization: "Bearer ${env:T}", X: "${env:Y}" } }),
      ),
    ).toBe(
      text.replace(
        `command = "b"\n`,
        `url = "https://x/mcp"\nbearer_token_env_var = "T"\n\n[mcp_servers."b.c".env_http_headers]\nX = "Y"\n`,
      ),
    );
    const replaced = await edit(text, file, "a", entry({ command: "z" }));
    expect(replaced.startsWith(text.slice(0, start))).toBe(true);
    expect(replaced.endsWith(text.slice(end))).toBe(true);
    expect(await namesIn(replaced, file)).toEqual(["a", "b.c"]);
  });

  test("finds tables of one server in different places", async () => {
    const apart = `[mcp_servers.a]\ncommand = "a"\n\n[other]\nx = 1\n\n[mcp_servers.a.env]\nK = "v"\n\n[last]\ny = 2\n`;
    expect(await edit(apart, file, "a", undefined)).toBe("[other]\nx = 1\n\n[last]\ny = 2\n");
  });

  test.each([
    `mcp_servers = { a = { command = "a" } }\n`,
    `[mcp_servers]\na = { command = "a" }\n`,
    `mcp_servers.a.command = "a"\n`,
  ])("refuses to edit a server without its own table: %j", async (inline) => {
    await expect(edit(inline, file, "a", added)).rejects.toThrow("edit it by hand");
    await expect(edit(inline, file, "a", undefined)).rejects.toThrow("edit it by hand");
  });

  test("restores the same bytes when an added server is removed", async () => {
    const value = fc.constantFrom(
      `"x"`,
      `'[mcp_servers."new one"]'`,
      `[\n  1, # ]\n  2,\n]`,
      `"""\n[mcp_servers.x]\n"""`,
      `'''\n#'''`,
      `{ a = "}" }`,
      `"\\"#"`,
    );
    const remark = fc.constantFrom("", " # remark", "\n# own line", "\n");
    const documents = fc
      .tuple(
        fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,3}$/), value, remark), {
          minLength: 1,
          maxLength: 5,
          selector: ([name]) => name,
        }),
        fc.constantFrom("\n", "\r\n"),
        fc.constantFrom("", "\n[last]\nx = 1\n"),
      )
      .map(([members, eol, tail]) => {
        const tables = members.map(
          ([name, one, after]) => `[mcp_servers.${name}]\ncommand = "x"\nmore = ${one}${after}\n`,
        );
        return `# head\n${tables.join("\n")}${tail}`.replaceAll("\n", eol);
      });
    await fc.assert(
      fc.asyncProperty(documents, async (before) => {
        const longer = await edit(before, file, "new one", entry({ command: "x", env: { A: "b" } }));
        expect(await namesIn(longer, file)).toContain("new one");
        expect(await edit(longer, file, "new one", undefined)).toBe(before);
      }),
      { numRuns: 200 },
    );
  });
});

describe("editConfig", () => {
  const moved = async (from: object, product: string, to: string) => {
    const at = { vscode: "servers", opencode: "mcp" }[product] ?? "mcpServers";
    const { servers } = await parseConfig(JSON.stringify({ [at]: { s: from }, inputs: [{ id: "i" }] }), {
      file: "/a/x.json",
      product,
    });
    const expanded = await expandEntry(servers[0]!, {
      env: { TOKEN: "hunter2" },
      userHome: "/h",
      workspaceFolder: "/w",
      inputs: { i: "hunter2" },
    });
    const text = await editConfig("", { file: to }, "s", expanded);
    expect(text).not.toContain("hunter2");
    return text;
  };
  const { parse } = JSON;

  test("writes placeholders, never their values", async () => {
    const text = await moved(
      { url: "https://x/${TOKEN}", headers: { A: "Bearer ${TOKEN}" } },
      "claude-code",
      "/b/.mcp.json",
    );
    expect(parse(text)).toEqual({
      mcpServers: { s: { type: "http", url: "https://x/${TOKEN}", headers: { A: "Bearer ${TOKEN}" } } },
    });
  });

  test("writes the member names and placeholders of the product", async () => {
    const command = { command: "x", args: ["a"], env: { K: "${env:TOKEN}" }, disabled: true };
    expect(parse(await moved(command, "vscode", "/b/.mcp.json")).mcpServers.s).toEqual({
      type: "stdio",
      command: "x",
      args: ["a"],
      env: { K: "${TOKEN}" },
      disabled: true,
    });
    expect(parse(await moved(command, "vscode", "/b/opencode.json")).mcp.s).toEqual({
      type: "local",
      command: ["x", "a"],
      environment: { K: "{env:TOKEN}" },
      enabled: false,
    });
    const remote = { type: "remote", url: "https://x", headers: { A: "{env:TOKEN}" } };
    expect(parse(await moved(remote, "opencode", "/b/.codeium/windsurf/mcp_config.json")).mcpServers.s).toEqual({
      serverUrl: "https://x",
      headers: { A: "${env:TOKEN}" },
    });
    const client = { url: "https://x", oauth: { clientId: "c", clientSecret: "${TOKEN}", callbackPort: 1 } };
    expect(parse(await moved(client, "claude-code", "/b/.cursor/mcp.json")).mcpServers.s).toEqual({
      url: "https://x",
      auth: { CLIENT_ID: "c", CLIENT_SECRET: "${env:TOKEN}", callbackPort: 1 },
    });
    const sse = { type: "sse", url: "https://x" };
    expect(parse(await moved(sse, "claude-code", "/b/.gemini/settings.json")).mcpServers.s).toEqual({
      url: "https://x",
    });
    expect(parse(await moved(sse, "claude-code", "/b/.cursor/mcp.json")).mcpServers.s).toEqual({
      type: "sse",
      url: "https://x",
    });
  });

  test.each([
    [
      "a variable for a product without placeholders",
      { command: "${TOKEN}" },
      "claude-code",
      "/b/claude_desktop_config.json",
      "claude-desktop has no notation for ${TOKEN}",
    ],
    [
      "a default for a product without defaults",
      { command: "${TOKEN:-hunter2}" },
      "claude-code",
      "/b/.cursor/mcp.json",
      "cursor has no notation for ${TOKEN}",
    ],
    [
      "an input for a product without inputs",
      { command: "${input:i}" },
      "vscode",
      "/b/.gemini/settings.json",
      "gemini has no notation for ${input:i}",
    ],
    [
      "text that the product would read as a variable",
      { command: "$TOKEN" },
      "claude-code",
      "/b/.gemini/settings.json",
      "would read part of its text as a placeholder",
    ],
    [
      "a selection of tools for a product without one",
      { command: "x", excludeTools: ["a"] },
      "gemini",
      "/h/.config/goose/config.yaml",
      "no member for the hidden tools",
    ],
  ])("refuses to write %s", async (_, from, product, to, message) => {
    await expect(moved(from, product, to)).rejects.toThrow(message);
  });

  test("refuses a server whose transport is opened by code", async () => {
    const open = entry({ open: () => Promise.reject(new Error("never")) });
    await expect(edit("", "/b/.mcp.json", "s", open)).rejects.toThrow("its transport is opened by code");
  });

  test("refuses to edit the description of a package", async () => {
    const manifest = '{"manifest_version":"0.3","name":"x","server":{"mcp_config":{"command":"x"}}}';
    await expect(edit(manifest, "/b/manifest.json", "s", added)).rejects.toThrow("describes a package");
  });

  test("refuses to edit a file with invalid syntax", async () => {
    await expect(edit("{", "/b/.mcp.json", "s", added)).rejects.toThrow("/b/.mcp.json:1:2");
  });
});
