import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandEntry } from "./expand.ts";
import { type ParseOptions, parseConfig } from "./parse.ts";
import { describeForTrust, trustDigest } from "./trust.ts";

const base = {
  command: "npx",
  args: ["-y", "server", "--flag"],
  cwd: "/srv",
  env: { KEY: "${env:KEY}", MODE: "fast" },
};
const http = {
  type: "http",
  url: "https://example.com/mcp",
  headers: { Authorization: "Bearer ${env:KEY}", "X-Team": "a" },
};
const place: ParseOptions = { file: "/repo/.vscode/mcp.json", scope: "project" };

async function entryOf(
  server: unknown,
  { inputs = [] as unknown[], name = "s", options = place, env = { KEY: "k" }, envText = "A=1" } = {},
) {
  const { servers } = await parseConfig(JSON.stringify({ servers: { [name]: server }, inputs }), {
    ...options,
    product: "vscode",
  });
  return await expandEntry(servers[0]!, {
    env,
    workspaceFolder: "/repo",
    readFile: async () => envText,
    inputs: { p: "x" },
  });
}
const digestOf = async (...given: Parameters<typeof entryOf>) => trustDigest(await entryOf(...given));

describe("the trust digest", () => {
  test.each([
    ["the command", { ...base, command: "npX" }],
    ["an argument", { ...base, args: ["-y", "server", "--flah"] }],
    ["the order of arguments", { ...base, args: ["server", "-y", "--flag"] }],
    ["one argument instead of two", { ...base, args: ["-y server", "--flag"] }],
    ["one argument less", { ...base, args: ["-y", "server"] }],
    ["an empty argument more", { ...base, args: [...base.args, ""] }],
    ["the folder", { ...base, cwd: "/srv2" }],
    ["no folder", { command: base.command, args: base.args, env: base.env }],
    ["the name of a variable", { ...base, env: { KEY: "${env:KEY}", Mode: "fast" } }],
    ["the configured value of a variable", { ...base, env: { ...base.env, MODE: "slow" } }],
    ["a variable more", { ...base, env: { ...base.env, NODE_OPTIONS: "--require ./evil.js" } }],
    ["an environment file", { ...base, envFile: ".env" }],
  ])("changes with %s", async (_, changed) => {
    expect(await digestOf(changed)).not.toBe(await digestOf(base));
  });

  test.each([
    ["the URL", { ...http, url: "https://example.com/mcq" }],
    ["the name of a header", { ...http, headers: { authorization: "Bearer ${env:KEY}", "X-Team": "a" } }],
    ["the configured value of a header", { ...http, headers: { ...http.headers, "X-Team": "b" } }],
    ["its kind", { ...http, type: "sse" }],
  ])("of an HTTP server changes with %s", async (_, changed) => {
    expect(await digestOf(changed)).not.toBe(await digestOf(http));
  });

  test.each([
    ["file", { ...place, file: "/other/.vscode/mcp.json" }],
    ["scope", { ...place, scope: "user" as const }],
  ])("changes with its %s", async (_, options) => {
    expect(await digestOf(base, { options })).not.toBe(await digestOf(base));
  });

  test("changes with the name", async () => {
    expect(await digestOf(base, { name: "t" })).not.toBe(await digestOf(base));
  });

  test("changes with the content of the environment file", async () => {
    const server = { ...base, envFile: ".env" };
    expect(await digestOf(server, { envText: "A=2" })).not.toBe(await digestOf(server, { envText: "A=1" }));
  });

  test("changes with the options of an input, because one becomes part of the command", async () => {
    const server = { ...base, args: ["${input:p}"] };
    const ask = (standard: string) => ({ inputs: [{ id: "p", default: standard }] });
    expect(await digestOf(server, ask("evil"))).not.toBe(await digestOf(server, ask("good")));
  });

  test("does not depend on the values of environment variables or the order of members", async () => {
    expect((await entryOf(base, { env: { KEY: "rotated" } })).target).toMatchObject({ env: { KEY: "rotated" } });
    expect(await digestOf(base, { env: { KEY: "rotated" } })).toBe(await digestOf(base));
    const reordered = {
      env: { MODE: "fast", KEY: "${env:KEY}" },
      cwd: base.cwd,
      args: base.args,
      command: base.command,
    };
    expect(await digestOf(reordered)).toBe(await digestOf(base));
  });

  test("changes with every character of any string", async () => {
    const before = await digestOf(base);
    const strings = [["command"], ["args", 0], ["args", 1], ["args", 2], ["cwd"], ["env", "MODE"]] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...strings),
        fc.nat(20),
        fc.string({ unit: "binary-ascii", minLength: 1 }),
        async (path, at, added) => {
          const changed = structuredClone(base) as unknown as { [name: string]: { [key: string]: string } };
          const holder = path.length === 1 ? (changed as unknown as { [key: string]: string }) : changed[path[0]]!;
          const key = String(path.at(-1));
          const text = holder[key]!;
          holder[key] = text.slice(0, at) + added + text.slice(at);
          expect(await digestOf(changed)).not.toBe(before);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("describeForTrust", () => {
  test("shows the complete configured entry, however long or unusual", async () => {
    const long = "x".repeat(5_000);
    const odd = "\u202Egpj.exe\n\u001B[2K";
    const entry = await entryOf({ ...base, command: "sh", args: ["-c", odd, long], envFile: ".env" });
    const { lines } = describeForTrust(entry);
    expect(lines).toEqual([
      { label: "Command", value: "sh" },
      { label: "Argument 1", value: "-c" },
      { label: "Argument 2", value: odd },
      { label: "Argument 3", value: long },
      { label: "Folder", value: "/srv" },
      { label: "Variable", value: "KEY (hidden: it has the name of a secret)" },
      { label: "Variable", value: "MODE=fast" },
      { label: "Variables from", value: ".env" },
      { label: "Variable", value: "A=1" },
      { label: "Takes your variable", value: "KEY" },
      { label: "File", value: "/repo/.vscode/mcp.json" },
      { label: "Place", value: "servers.s" },
      { label: "Written for", value: "vscode" },
    ]);
  });

  const variablesOf = async (...given: Parameters<typeof entryOf>) =>
    describeForTrust(await entryOf(...given))
      .lines.filter(({ label }) => label === "Variable")
      .map(({ value }) => value);

  test("shows the values of all variables, because any of them may decide what runs", async () => {
    const env = {
      PATH: "./bin",
      NODE_OPTIONS: "--require ./evil.js",
      HOME: "./home",
      XDG_CONFIG_HOME: "./x",
      MODE: "x",
    };
    const server = { command: "node", env, envFile: ".env" };
    expect(await variablesOf(server, { envText: "LD_PRELOAD=./evil.so\nUSERPROFILE=./home" })).toEqual([
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      "LD_PRELOAD=./evil.so",
      "USERPROFILE=./home",
    ]);
  });

  test("hides secrets by their names and forms, and says so", async () => {
    const env = {
      NODE_AUTH_TOKEN: "hunter2",
      DATABASE: "postgres://ada:hunter2@db/x",
      HEADER: "Bearer hunter2hunter2",
    };
    expect(await variablesOf({ command: "x", env, envFile: ".env" }, { envText: "MY_KEY=hunter2" })).toEqual([
      "NODE_AUTH_TOKEN (hidden: it has the name of a secret)",
      "DATABASE=postgres://[redacted]@db/x (hidden in part: it looks like a secret)",
      "HEADER=Bearer [redacted] (hidden in part: it looks like a secret)",
      "MY_KEY (hidden: it has the name of a secret)",
    ]);
  });

  test("shows a placeholder, never its expansion, also where an environment file has the same name", async () => {
    const server = { command: "x", env: { A: "${env:MINE}/x" }, envFile: ".env" };
    expect(await variablesOf(server, { env: { KEY: "k", MINE: "hunter2" } as never, envText: "A=1\nB=2" })).toEqual([
      "A=${env:MINE}/x",
      "B=2",
    ]);
  });

  test("cuts long values in the middle, with their length", async () => {
    const long = `begin${"\u{1F600}".repeat(5_000)}end`;
    const [line = ""] = await variablesOf({ command: "x", env: { A: long } });
    expect(line).toMatch(/^A=begin.*\(… 10008 characters in all …\) .*end$/u);
    expect(line.length).toBeLessThan(1_100);
    // No half of a character is left.
    expect(line).not.toMatch(/[\uD800-\uDFFF]/u);
  });

  test("shows the project folder if no folder is configured", async () => {
    const { lines } = describeForTrust(await entryOf({ command: "x" }));
    expect(lines).toContainEqual({ label: "Folder", value: "/repo" });
  });

  test("shows the URL and the names of headers, without their values", async () => {
    const entry = await entryOf(http, { env: { KEY: "hunter2" } });
    const { lines } = describeForTrust(entry);
    expect(lines.slice(0, 3)).toEqual([
      { label: "Address", value: "https://example.com/mcp" },
      { label: "Header", value: "Authorization" },
      { label: "Header", value: "X-Team" },
    ]);
    expect(JSON.stringify(describeForTrust(entry))).not.toContain("hunter2");
  });

  test("shows every environment variable of the user that the server receives", async () => {
    const takes = async (server: unknown) => {
      const { lines } = describeForTrust(await entryOf(server));
      return lines.filter(({ label }) => label === "Takes your variable").map(({ value }) => value);
    };
    const headers = { "X-A": "${env:AWS_SECRET}", "X-B": "${env:AWS_SECRET} ${env:OTHER}" };
    expect(await takes({ url: "https://x/${env:IN_URL}", headers })).toEqual(["IN_URL", "AWS_SECRET", "OTHER"]);
    const command = {
      command: "x",
      args: ["${env:ONE}"],
      cwd: "${env:TWO}",
      env: { K: "${env:THREE}" },
      envFile: "${env:FOUR}",
    };
    expect(await takes(command)).toEqual(["ONE", "TWO", "THREE", "FOUR"]);
  });

  test("shows the inputs", async () => {
    const entry = await entryOf({ command: "x", args: ["${input:p}"] }, { inputs: [{ id: "p" }] });
    expect(describeForTrust(entry).lines).toContainEqual({ label: "Asks for", value: "p" });
  });

  test("supports servers of the application", async () => {
    const entry = {
      name: "own",
      target: { command: "x" },
      configured: { command: "x" },
      settings: {},
      source: { kind: "code" },
    } as const;
    expect(await trustDigest(entry)).toMatch(/^[\w-]{43}$/);
    expect(describeForTrust(entry).lines).toEqual([{ label: "Command", value: "x" }]);
  });
});
