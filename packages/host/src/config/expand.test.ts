import { describe, expect, test } from "vitest";
import type { ConfiguredServer } from "./configured.ts";
import { type ExpandOptions, expandEntry } from "./expand.ts";
import { parseConfig } from "./parse.ts";

const known: ExpandOptions = {
  env: {
    HOME: "/home/ada",
    EMPTY: "",
    TOKEN: "hunter2",
    "ProgramFiles(x86)": "C:\\x",
    NESTED: "${TOKEN}",
    A: "${B}",
    B: "b",
  },
  userHome: "/home/ada",
  workspaceFolder: "/projects/atlas",
  inputs: { id: "answer" },
};

async function expand(
  entry: object,
  more: Partial<ExpandOptions> = {},
  product = "claude-code",
): Promise<ConfiguredServer> {
  const at =
    { "claude-code": "mcpServers", vscode: "servers", opencode: "mcp", gemini: "mcpServers" }[product] ?? "mcpServers";
  const text = JSON.stringify({ [at]: { db: entry }, inputs: [{ id: "id" }, { id: "pw", password: true }] });
  const { servers } = await parseConfig(text, { file: "/repo/.mcp.json", product });
  return await expandEntry(servers[0]!, { ...known, ...more });
}

const expandArg = async (arg: string, product?: string, more?: Partial<ExpandOptions>) => {
  const { target: way, problem } = await expand({ command: "x", args: [arg] }, more, product);
  return problem ?? ("command" in way ? way.args?.[0] : undefined);
};

describe("placeholders", () => {
  test.each([
    ["${TOKEN}", "hunter2"],
    ["a-${TOKEN}-${HOME}-b", "a-hunter2-/home/ada-b"],
    ["${MISSING:-default}", "default"],
    ["${MISSING:-}", ""],
    ["${EMPTY:-default}", "default"],
    ["${EMPTY}", ""],
    ["${TOKEN:-default}", "hunter2"],
    ["${MISSING:-http://x:1/a-b}", "http://x:1/a-b"],
    ["${env:TOKEN}", "hunter2"],
    ["${env:ProgramFiles(x86)}", "C:\\x"],
    ["${env:-x}", "x"],
    ["${env://TOKEN}", "hunter2"],
    ["${env://MISSING:-default}", "default"],
    ["${input:id}", "answer"],
    ["${userHome}", "/home/ada"],
    ["${workspaceFolder}", "/projects/atlas"],
    ["${workspaceFolderBasename}", "atlas"],
    ["${pathSeparator}", "/"],
    ["${/}", "/"],
    ["$TOKEN $5 $ {a} {{b}} $$", "$TOKEN $5 $ {a} {{b}} $$"],
    ["%APPDATA%", "%APPDATA%"],
    ["", ""],
  ])("expands %s in .mcp.json to %s", async (written, value) => {
    expect(await expandArg(written)).toBe(value);
  });

  test.each([
    ["vscode", "${env:TOKEN}", "hunter2"],
    ["gemini", "$TOKEN", "hunter2"],
    ["gemini", "${TOKEN}$5", "hunter2$5"],
    ["mcphost", "${env://TOKEN:-x}", "hunter2"],
    ["kiro", "${TOKEN}${env:TOKEN}", "hunter2hunter2"],
    ["windsurf", "${env:TOKEN}", "hunter2"],
    ["claude-desktop", "$TOKEN {env:TOKEN}", "$TOKEN {env:TOKEN}"],
  ])("for %s: expands %s to %s", async (product, written, value) => {
    expect(await expandArg(written, product)).toBe(value);
  });

  test.each([
    [
      "claude-code",
      "${MISSING}",
      "missing ${MISSING} (mcpServers.db.args[0] in /repo/.mcp.json): set the environment variable MISSING, or write the value into the file",
    ],
    ["claude-code", "${env:MISSING}", "missing ${env:MISSING}"],
    [
      "claude-code",
      "${input:other}",
      "missing ${input:other} (mcpServers.db.args[0] in /repo/.mcp.json): the user must enter it",
    ],
    [
      "claude-code",
      "${a.b}",
      "unknown ${a.b} (mcpServers.db.args[0] in /repo/.mcp.json): files of claude-code support",
    ],
    ["claude-code", "${A:=x}", "unknown ${A:=x}"],
    ["claude-code", "${", "unknown ${ ("],
    ["claude-code", "${MISSING:-${TOKEN}}", "unknown"],
    ["claude-code", "${command:pick}", "cannot replace ${command:pick}"],
    ["claude-code", "${constructor}", "missing ${constructor}"],
    ["claude-code", "${__proto__}", "missing ${__proto__}"],
    ["vscode", "${TOKEN}", "unknown ${TOKEN} (servers.db.args[0]"],
    ["vscode", "${command:x}", "commands in configuration files are not run"],
    ["vscode", "${config:x}", "the settings of an editor are not read"],
    ["windsurf", "${file:/etc/passwd}", "values are not read from other files"],
    ["claude-desktop", "${HOME}", "claude-desktop supports no placeholders; write the value instead"],
    ["gemini", "$MISSING", "missing $MISSING"],
    ["zed", "${HOME}", "unknown ${HOME}"],
  ])("for %s: reports %s as a problem", async (product, written, problem) => {
    const at = { vscode: "servers", zed: "context_servers" }[product] ?? "mcpServers";
    const text = JSON.stringify({ [at]: { db: { command: "x", args: [written] } } });
    const { servers } = await parseConfig(text, { file: "/repo/.mcp.json", product });
    const entry = await expandEntry(servers[0]!, known);
    expect(entry.problem).toContain(problem);
    expect(entry.target).toEqual({ command: "" });
  });

  test("are expanded in the command, arguments, variables, folder, URL and headers", async () => {
    const command = { command: "${TOKEN}", args: ["${TOKEN}"], env: { K: "${TOKEN}" }, cwd: "/${TOKEN}" };
    expect((await expand(command)).target).toEqual({
      command: "hunter2",
      args: ["hunter2"],
      env: { K: "hunter2" },
      cwd: "/hunter2",
    });
    const http = { url: "https://${TOKEN}.example.com", headers: { "X-Key": "${TOKEN}" } };
    expect((await expand(http)).target).toEqual({
      url: "https://hunter2.example.com",
      headers: { "X-Key": "hunter2" },
    });
  });

  test("inside a value stay text", async () => {
    expect(await expandArg("${NESTED}")).toBe("${TOKEN}");
    expect(await expandArg("${A}")).toBe("${B}");
    expect(await expandArg("${input:id}", "claude-code", { inputs: { id: "${TOKEN}" } })).toBe("${TOKEN}");
  });

  test("that are missing are named, and secrets among them are marked", async () => {
    const { missing } = await expand({ command: "x", args: ["${ONE}", "${input:other}"], env: { A: "${API_TOKEN}" } });
    expect(missing).toEqual([
      { kind: "variable", name: "ONE", isSecret: false },
      { kind: "input", name: "other", isSecret: false },
      { kind: "variable", name: "API_TOKEN", isSecret: true },
    ]);
    expect(await expand({ command: "x", args: ["${ONE:-1}"] })).not.toHaveProperty("missing");
  });

  test("that are missing are all reported, with their paths", async () => {
    const { problem } = await expand({ command: "x", args: ["${ONE}"], env: { PGURL: "${TWO}" } });
    expect(problem).toContain(
      "missing ${ONE} (mcpServers.db.args[0] in /repo/.mcp.json): set the environment variable ONE",
    );
    expect(problem).toContain(
      "missing ${TWO} (mcpServers.db.env.PGURL in /repo/.mcp.json): set the environment variable TWO",
    );
  });

  test("cannot exceed the limit of characters", async () => {
    const env = { BIG: "x".repeat(100_000) };
    expect(await expandArg("${BIG}${BIG}", "claude-code", { env })).toContain("expected at most 131072 characters");
    const many = await expand({ command: "x", args: Array(20).fill("${BIG}") }, { env });
    expect(many.problem).toContain("after placeholders are replaced, got more");
  });

  test("stay in the configured entry", async () => {
    const entry = await expand({ command: "x", env: { K: "${TOKEN}" } });
    expect(entry.configured).toEqual({ command: "x", env: { K: "${TOKEN}" } });
  });
});

describe("secrets", () => {
  test.each([
    [{ url: "ftp://${TOKEN}@x" }],
    [{ url: "not an address ${TOKEN}" }],
    [{ url: "https://x", headers: { "X-Key": "${TOKEN}\n" } }],
    [{ command: "x", args: ["${MISSING}", "${TOKEN}"] }],
    [{ command: "x", args: ["${bad token:-hunter2}"] }],
    [{ command: "x", env: { "A=B": "${TOKEN}" } }],
  ])("do not appear in the problem of %j", async (entry) => {
    const { problem, target: way } = await expand(entry);
    expect(problem).toEqual(expect.any(String));
    expect(JSON.stringify({ problem, way })).not.toContain("hunter2");
  });
});

describe("reports a target that no system accepts", () => {
  test.each([
    [{ command: "${EMPTY}" }, "expected a command, got an empty string"],
    [{ command: "x", env: { "A=B": "c" } }, "expected names of environment variables without ="],
    [{ url: "/relative" }, "expected a complete URL"],
    [{ url: "file:///etc/passwd" }, 'got "file:"'],
    [{ url: "https://x", headers: { "X Y": "a" } }, 'expected a valid header name, got "X Y"'],
    [{ url: "https://x", headers: { X: "a\r\nEvil: 1" } }, "without line breaks"],
    [{ url: "https://x", headers: { X: "\u{1F600}" } }, "above U+00FF"],
  ])("%j", async (entry, problem) => {
    expect((await expand(entry)).problem).toContain(problem);
  });
});

describe("inputs", () => {
  const withInput = { command: "x", args: ["${input:pw}"], env: { AGAIN: "${input:pw}" } };

  test("are requested once per entry, with the description of the file", async () => {
    const asked: unknown[] = [];
    const input = async (request: unknown) => {
      asked.push(request);
      return "given";
    };
    const { target: way } = await expand(withInput, { input }, "vscode");
    expect(way).toMatchObject({ args: ["given"], env: { AGAIN: "given" } });
    expect(asked).toEqual([{ id: "pw", password: true }]);
  });

  test("without an answer are a problem, and the entry can be expanded again later", async () => {
    const entry = await expand(withInput, { input: async () => undefined }, "vscode");
    expect(entry).toMatchObject({ target: { command: "" }, problem: expect.stringContaining("missing ${input:pw}") });
    const later = await expandEntry(entry.raw, { ...known, inputs: { pw: "given" } });
    expect(later.target).toMatchObject({ args: ["given"] });
    expect(later).not.toHaveProperty("problem");
  });

  test("of a disabled or invalid entry are not requested", async () => {
    const input = () => Promise.reject(new Error("asked"));
    await expand({ ...withInput, disabled: true }, { input }, "vscode");
    await expand({ ...withInput, timeout: "x" }, { input }, "vscode");
    await expect(expand(withInput, { input }, "vscode")).rejects.toThrow("asked");
  });

  test("must have a value that is one of their options", async () => {
    const text = '{"servers":{"a":{"command":"x","args":["${input:m}"]}},"inputs":[{"id":"m","options":["r","w"]}]}';
    const { servers } = await parseConfig(text, { file: "/repo/.vscode/mcp.json" });
    const entry = await expandEntry(servers[0]!, { env: {}, inputs: {}, input: async () => "evil" });
    expect(entry.problem).toContain("the answer is not one of the options");
  });
});

describe("an environment file", () => {
  const text =
    "\uFEFF# ours\r\nexport ONE=1\nTWO = 'two # two'\nTHREE=\"a\\nb\" # three\nFOUR=four # 4\n\nnonsense\nK=file\nFIVE=$(id)${TOKEN}\n";
  const readFile = async (path: string) => (path === "/repo/sub/.env" ? text : undefined);

  test("adds its variables unchanged; variables of the entry win", async () => {
    const entry = await expand({ command: "x", envFile: "sub/.env", env: { K: "entry" } }, { readFile });
    expect(entry.target).toMatchObject({
      env: { ONE: "1", TWO: "two # two", THREE: "a\nb", FOUR: "four", K: "entry", FIVE: "$(id)${TOKEN}" },
    });
    expect(entry.configured).toEqual({ command: "x", env: { K: "entry" } });
    expect(entry.envFile).toMatchObject({ path: "sub/.env", names: ["ONE", "TWO", "THREE", "FOUR", "K", "FIVE"] });
  });

  test("that is missing, too large or unreadable is a problem", async () => {
    const problemOf = async (more: Partial<ExpandOptions>) =>
      (await expand({ command: "x", envFile: "sub/.env" }, more)).problem;
    expect(await problemOf({ readFile: async () => undefined })).toContain("the environment file does not exist");
    expect(await problemOf({ readFile: async () => "A=1\n".repeat(300_000) })).toContain("is too large");
    expect(await problemOf({})).toContain("cannot be read here");
  });
});

describe("on Windows", () => {
  const windows = { userHome: "C:\\Users\\Ada", workspaceFolder: "C:\\work\\atlas" };

  test("uses the separators and folders of Windows", async () => {
    const text = JSON.stringify({
      mcpServers: { a: { command: "${userHome}${/}a.exe", args: ["${workspaceFolderBasename}"], cwd: "tools" } },
    });
    const { servers } = await parseConfig(text, { file: "C:\\work\\atlas\\.mcp.json" });
    const { target: way } = await expandEntry(servers[0]!, { env: {}, ...windows });
    expect(way).toEqual({ command: "C:\\Users\\Ada\\a.exe", args: ["atlas"], cwd: "C:\\work\\atlas\\tools" });
  });

  test("treats a path with a drive as absolute", async () => {
    const { target: way } = await expand({ command: "x", cwd: "D:\\tools" }, windows);
    expect(way).toMatchObject({ cwd: "D:\\tools" });
  });
});

test("runs a project's server in the project folder, and a user's server in the folder of the host", async () => {
  const text = '{"mcpServers":{"a":{"command":"./serve"}}}';
  const cwdOf = async (scope: "project" | "user") => {
    const { servers } = await parseConfig(text, { file: "/repo/.mcp.json", scope });
    return (await expandEntry(servers[0]!, known)).target;
  };
  expect(await cwdOf("project")).toEqual({ command: "./serve", cwd: "/projects/atlas" });
  expect(await cwdOf("user")).toEqual({ command: "./serve" });
});

describe("secrets of an entry", () => {
  test("are the values of placeholders with the name or form of a secret, and hidden answers", async () => {
    const env = { TOKEN: "hunter2", MY_KEY: "swordfish", HOME: "/home/ada", OPAQUE: "0123456789abcdef0123" };
    const args = ["${env:TOKEN}", "x-${env:MY_KEY}", "${env:HOME}", "${env:OPAQUE}", "${input:pw}", "${input:id}"];
    const { secrets } = await expand({ command: "x", args }, { env, inputs: { id: "shown", pw: "typed" } }, "vscode");
    expect(secrets).toEqual(["hunter2", "swordfish", "0123456789abcdef0123", "typed"]);
  });

  test("are no literal values, which stand in the file", async () => {
    expect(await expand({ command: "x", env: { TOKEN: "literal" } })).not.toHaveProperty("secrets");
  });
});
