// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { environment, makeHome, portolan, root, runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const odd = join(root, "test/cli/fixtures/odd-names.mjs");
const documented = join(root, "test/cli/fixtures/documented.mjs");

/** Creates a TypeScript project in which the library is installed. */
function makeTyped(files: { readonly [path: string]: string } = {}): string {
  const compilerOptions = {
    ...{ target: "es2023", module: "nodenext", strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...{ noUncheckedIndexedAccess: true, noUnusedLocals: true, noUnusedParameters: true, verbatimModuleSyntax: true },
    ...{ types: ["node"], outDir: "dist", rewriteRelativeImportExtensions: true },
  };
  const cwd = makeProject({
    "package.json": JSON.stringify({ type: "module" }),
    "tsconfig.json": JSON.stringify({ compilerOptions, include: ["*.ts"] }),
    ...files,
  });
  mkdirSync(join(cwd, "node_modules/@types"));
  symlinkSync(join(root, "node_modules/@types/node"), join(cwd, "node_modules/@types/node"));
  return cwd;
}

async function generate(args: readonly string[], cwd: string, env: { [name: string]: string } = {}) {
  const { code, stdout, stderr } = await runPortolan(["gen", ...args], { cwd, env });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return JSON.parse(stdout);
}

function run(program: string, args: readonly string[], cwd: string, env: { [name: string]: string } = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", env: environment(cwd, env) });
  return { status, stdout, stderr };
}

const compile = (cwd: string) => run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], cwd);

describe("a server with schemas that are hard to write as types", () => {
  const hostile = join(root, "test/cli/fixtures/hostile-schemas.mjs");
  const server = ["--", process.execPath, hostile];

  test("gen ts writes all tools, and says which have no types or are left out", async () => {
    const cwd = makeTyped();
    const { code, stdout, stderr } = await runPortolan(["gen", "ts", "--out", "client.ts", ...server], { cwd });
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ tools: 8 })]);
    expect(stderr.trim().split("\n")).toEqual([
      '! hostile-schemas: tools: "deepDefault": nested too deeply; it is left out',
      "! chain has no types for its input: its schema is too large",
      "! manyLiterals has no types for its input: its schema is too large",
    ]);
    const text = readFileSync(join(cwd, "client.ts"), "utf8");
    expect(text).toContain("readonly plain: (input: PlainInput, options?: CallOptions) => Promise<CallToolResult>;");
    expect(text).toContain("Not typed: its schema is too large.");
    expect(text).toContain("readonly chain: (input?: { [name: string]: unknown }, options?: CallOptions) =>");
    expect(text.length).toBeLessThan(2_000_000);
    expect(compile(cwd)).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("gen skill keeps a tool's name inside its heading and its block of code", async () => {
    const cwd = makeHome();
    await runPortolan(["gen", "skill", "--out", "SKILL.md", ...server], { cwd });
    const text = readFileSync(join(cwd, "SKILL.md"), "utf8");
    const at = text.indexOf("### odd");
    const block = /^(`{4,})sh\n(.*)\n\1$/m.exec(text.slice(at));
    expect(block?.[2]).toContain("'odd ``` `id` $(id) '\\''; id # */'");
  });

  test("alternatives that refer to each other are resolved once", async () => {
    const cwd = makeHome();
    const { stderr } = await runPortolan(["call", "alternatives", "a=1", ...server], { cwd });
    // The fixture answers no calls: the argument was understood and sent.
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: "no such method (-32601)" } });
  });
});

test("gen names the flags whose values it writes as they are", async () => {
  const cwd = makeHome();
  const server = { command: process.execPath, args: [odd, "-p", "hunter2", "-t", "${T}", "--token", "secret-value"] };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { it: server } }));
  const env = { T: "x" };
  await runPortolan(["trust", "it", "--yes"], { cwd, env });
  const advice = "write a variable such as ${PASSWORD} into the entry instead, and generate again";
  for (const kind of ["ts", "cli"]) {
    const { code, stderr } = await runPortolan(["gen", kind, "it"], { cwd, env });
    expect([code, stderr]).toEqual([0, `! the value of -p is written as it is; if it is a secret, ${advice}\n`]);
  }
  expect(await generate(["skill", "it"], cwd, env)).toMatchObject({ tools: expect.any(Number) });
  const typed = await runPortolan(["gen", "skill", "--", process.execPath, odd, "-p", "hunter2"], { cwd });
  expect(typed.stderr).toBe(
    "! the value of -p is written as it is; if it is a secret, portolan add --help shows how an entry names a variable instead\n",
  );
});

describe("gen ts", () => {
  test("writes a module that compiles and calls tools of any name", async () => {
    const cwd = makeTyped({
      "use.ts": `import { connectOddNames } from "./odd-names-client.ts";
await using odd = await connectOddNames();
const said: string = (await odd.tools["with-dash"]()).said;
const names = Object.keys(odd.tools) as (keyof typeof odd.tools)[];
const heard: string[] = [];
for (const name of names) {
  const result = name === "plain" ? await odd.tools.plain({ "a b": "x", tuple: ["a", 1], either: -1 }) : await odd.tools[name]();
  heard.push("content" in result ? result.content.map((block) => ("text" in block ? block.text : "")).join() : result.said);
}
console.log(JSON.stringify({ said, names, heard }));
`,
    });
    expect(await generate(["ts", "--", process.execPath, odd], cwd)).toMatchObject({
      file: join(cwd, "odd-names-client.ts"),
      tools: 17,
      next: `npm install ${join(root, "packages/portolan")}`,
    });
    expect(compile(cwd)).toEqual({ status: 0, stdout: "", stderr: "" });
    const { status, stdout, stderr } = run(process.execPath, ["dist/use.js"], cwd);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { said, names, heard } = JSON.parse(stdout);
    expect(said).toBe("with-dash");
    expect(names).toContain("__proto__");
    expect(names).toContain("then");
    expect(names).toHaveLength(17);
    expect(heard).toEqual(names);
  });

  test.each([
    ["a missing argument", "await server.tools.forecast({ city: 'Oslo' });", "is missing the following properties"],
    ["a wrong type", "await server.tools.now({ zone: 1 }, { signal: 1 });", "Type 'number' is not assignable"],
    ["an unknown tool", "await server.tools.nothing();", "Property 'nothing' does not exist"],
    [
      "a wrong output",
      "const n: number = (await server.tools.forecast(ok)).city; console.log(n);",
      "'string | undefined'",
    ],
  ])("the compiler refuses %s", async (_, line, message) => {
    const cwd = makeTyped({
      "use.ts": `import { connectDocumented, type ForecastInput } from "./documented-client.ts";
export const ok: ForecastInput = { city: "Oslo", units: "metric", start: { lat: 1, lon: 2 } };
const server = await connectDocumented();
${line}
`,
    });
    await generate(["ts", "--", process.execPath, documented], cwd);
    const { status, stdout } = compile(cwd);
    expect(status).not.toBe(0);
    expect(stdout).toContain(message);
    expect(stdout).not.toContain("documented-client.ts(");
  });

  test("a tool that fails rejects with its text", async () => {
    const cwd = makeTyped({
      "use.ts": `import { connectTime } from "./time-client.ts";
const { tools, close } = await connectTime();
console.log(await tools.convert({ time: "14:30", to: ["Atlantis"] }).catch((error: Error) => error.message));
await close();
`,
    });
    writeFileSync(
      join(cwd, ".mcp.json"),
      JSON.stringify({ mcpServers: { time: { url: await serveHttp(scriptOf("time")) } } }),
    );
    await runPortolan(["trust", "time", "--yes"], { cwd });
    await generate(["ts", "time"], cwd);
    expect(compile(cwd)).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(run(process.execPath, ["dist/use.js"], cwd).stdout).toContain('No time zone "Atlantis"');
  });

  test("secrets and variables of the entry are read from the environment, never written", async () => {
    const cwd = makeTyped();
    const env = { API_KEY: "sk-0123456789abcdef0123", MODE: "fast", URL: "${env:DB_URL}" };
    const args = [documented, "--token", "abcdef-0123456789"];
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: {} }));
    mkdirSync(join(cwd, ".cursor"));
    const servers = { weather: { command: process.execPath, args, env } };
    writeFileSync(join(cwd, ".cursor/mcp.json"), JSON.stringify({ mcpServers: servers }));
    const variables = { DB_URL: "postgres://secret-place" };
    await runPortolan(["trust", "weather", "--yes"], { cwd, env: variables });
    const shown = await generate(["ts", "weather"], cwd, variables);
    expect(shown.variables).toEqual(["WEATHER_ARGUMENT_3", "API_KEY", "DB_URL"]);
    const text = readFileSync(join(cwd, "weather-client.ts"), "utf8");
    for (const secret of ["sk-0123456789abcdef0123", "abcdef-0123456789", "secret-place"])
      expect(text).not.toContain(secret);
    expect(text).toContain('"MODE": "fast"');
    expect(compile(cwd)).toEqual({ status: 0, stdout: "", stderr: "" });
  });
});

describe("gen cli", () => {
  const server = ["--", process.execPath, documented];

  test("writes one file that needs nothing beside it, with a command for each tool", async () => {
    const cwd = makeHome();
    expect(await generate(["cli", ...server], cwd)).toMatchObject({ tools: 2, next: "./documented.mjs --help" });
    expect(statSync(join(cwd, "documented.mjs")).mode & 0o111).toBe(0o111);
    const elsewhere = makeHome();
    const file = join(elsewhere, "weather");
    copyFileSync(join(cwd, "documented.mjs"), `${file}.mjs`);
    const here = (...args: string[]) => run(`${file}.mjs`, args, elsewhere);
    expect(here()).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Usage: ./weather.mjs <tool> [arguments...]"),
    });
    expect(here("--help").stdout).toMatch(/^ {2}now {7}Tells the time$/m);
    expect(here("--version").stdout).toBe("documented 1.0.0 (portolan 0.1.0)\n");
    expect(JSON.parse(here("now").stdout)).toEqual({ content: [{ type: "text", text: "noon" }] });
    const words = ["forecast", "city=Oslo", "start.lat=1", "start.lon=2", "units=metric"];
    expect(JSON.parse(here(...words).stdout).structuredContent).toEqual({ city: "Oslo", highs: [1, 2] });
    expect(JSON.parse(here("--read", "weather://a/resource/with/a/long/address/indeed").stdout).contents[0].text).toBe(
      "text",
    );
    expect(JSON.parse(here("--prompt", "plan", "to=Rome").stdout).messages).toHaveLength(1);
    expect(JSON.parse(here("--list").stdout).tools).toHaveLength(2);
    const wrong = here("nov");
    expect([wrong.status, JSON.parse(wrong.stderr).error]).toEqual([
      2,
      { kind: "usage", message: 'documented has no tool "nov"; did you mean now?', next: "./weather.mjs --help" },
    ]);
    expect(JSON.parse(here("now", "--odd").stderr).error.next).toBe("./weather.mjs --help");
    expect(JSON.parse(here("forecast").stderr).error.message).toContain("forecast needs city=…");
  });

  test("keeps descriptions as they are, also with the characters of replacement patterns", async () => {
    const cwd = makeProject({
      "price.mjs": `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
const description = "Prices in $'s, $\`s, $& and $1";
serveStdio(createServer({ name: "price", version: "1" }).tool("now", { description, run: () => "7" }));
`,
    });
    await generate(["cli", "--out", "price-tool.mjs", "--", process.execPath, "price.mjs"], cwd);
    expect(run("./price-tool.mjs", ["--help"], cwd).stdout).toContain("Prices in $'s, $`s, $& and $1");
  });

  test.each([40, 80])("shows its help and the documentation of a tool in %i columns", async (columns) => {
    const cwd = makeHome();
    await generate(["cli", "--out", "weather.mjs", ...server], cwd);
    const show = async (...args: string[]) => {
      const terminal = openTerminal(args, { cwd, columns, rows: 100, program: [join(cwd, "weather.mjs")] });
      expect(await terminal.exited).toBe(0);
      expect(terminal.broken()).toEqual([]);
      return terminal.screen();
    };
    await expect(`${await show()}\n`).toMatchFileSnapshot(`./screens/gen-cli-${columns}.txt`);
    expect((await show("forecast", "--help")).replace(/\s+/g, " ")).toMatch(/call \.\/weather\.mjs forecast city=Oslo/);
    expect(await show("--list")).toMatch(/→ \.\/weather\.mjs forecast --help$/);
  });

  test("reads secrets from the environment, and reaches an address", async () => {
    const cwd = makeHome();
    const url = await serveHttp(scriptOf("time"));
    const headers = { Authorization: "Bearer abcdef-very-secret" };
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { time: { url, headers } } }));
    await runPortolan(["trust", "time", "--yes"], { cwd });
    expect(await generate(["cli", "time"], cwd)).toMatchObject({ variables: ["TIME_AUTHORIZATION"] });
    expect(readFileSync(join(cwd, "time.mjs"), "utf8")).not.toContain("very-secret");
    const { status, stdout } = run(join(cwd, "time.mjs"), ["now", "zones=Asia/Tokyo"], cwd, {
      TIME_AUTHORIZATION: "x",
    });
    expect([status, JSON.parse(stdout).structuredContent.times[0].zone]).toEqual([0, "Asia/Tokyo"]);
  });
});

describe("a server file", () => {
  const text = `if (!process.env.ACME_API_KEY) {
  console.error("ACME_API_KEY is missing");
  process.exit(1);
}
const { createServer } = await import("portolan/server");
const { serveStdio } = await import("portolan/server/stdio");
serveStdio(createServer({ name: "weather", version: "2" }).tool("key", { run: () => process.env.ACME_API_KEY ?? "" }));
`;
  const key = { ACME_API_KEY: "k-1" };
  /** The generated code starts the command with npx. */
  const withNpx = (cwd: string) => {
    mkdirSync(join(cwd, "node_modules/.bin"), { recursive: true });
    symlinkSync(portolan, join(cwd, "node_modules/.bin/portolan"));
  };

  test("gets the variables of --env in a generated command, which says what is missing", async () => {
    const cwd = makeProject({ "server.mjs": text });
    withNpx(cwd);
    expect(await generate(["cli", "--env", "ACME_API_KEY=other", "./server.mjs"], cwd)).toMatchObject({
      file: join(cwd, "weather.mjs"),
      variables: ["ACME_API_KEY"],
    });
    const called = run("./weather.mjs", ["key"], cwd, key);
    expect({ ...called, stdout: JSON.parse(called.stdout || "null") }).toEqual({
      status: 0,
      stdout: { content: [{ type: "text", text: "k-1" }] },
      stderr: "",
    });
    const lacks = run("./weather.mjs", ["key"], cwd);
    expect([lacks.status, JSON.parse(lacks.stderr).error]).toEqual([
      4,
      {
        kind: "unreachable",
        message: expect.stringMatching(
          /ACME_API_KEY is missing\nACME_API_KEY is not set, and this command passes it to the server$/,
        ),
        next: "set ACME_API_KEY in your shell, and try again",
      },
    ]);
    expect(lacks.stderr).not.toContain('\\"error');
  });

  test("gets the variables of --env in a typed client", async () => {
    const cwd = makeTyped({
      "server.mjs": text,
      "use.ts": `import { connectWeather } from "./weather-client.ts";
await using weather = await connectWeather();
const { content } = await weather.tools.key();
console.log(content[0]);
`,
    });
    withNpx(cwd);
    await generate(["ts", "--env", "ACME_API_KEY=other", "./server.mjs"], cwd);
    expect(compile(cwd)).toEqual({ status: 0, stdout: "", stderr: "" });
    const ran = run(process.execPath, ["dist/use.js"], cwd, key);
    expect(ran).toMatchObject({ status: 0, stdout: expect.stringContaining("k-1") });
  });

  test("has a skill that is named after the server, and works in every folder", async () => {
    const cwd = makeProject({ "server.mjs": text });
    expect(await generate(["skill", "--env", "ACME_API_KEY=other", "./server.mjs"], cwd)).toMatchObject({
      file: join(cwd, "weather/SKILL.md"),
    });
    const skill = readFileSync(join(cwd, "weather/SKILL.md"), "utf8");
    const [, words = ""] = /^portolan (call .*)$/m.exec(skill) ?? [];
    expect(words).toContain(join(cwd, "server.mjs"));
    const elsewhere = makeProject();
    expect(await runPortolan(words.split(" "), { cwd: elsewhere, env: key })).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("gen skill", () => {
  test("writes a SKILL.md whose commands work", async () => {
    const cwd = makeProject();
    await runPortolan(["add", "weather", "--", process.execPath, documented], { cwd });
    expect(await generate(["skill", "weather"], cwd)).toMatchObject({ file: join(cwd, "weather/SKILL.md"), tools: 2 });
    const text = readFileSync(join(cwd, "weather/SKILL.md"), "utf8");
    expect(text).toMatch(/^---\nname: weather\ndescription: "Use the tools of weather from the command line: /);
    const calls = [...text.matchAll(/^portolan call (.*)$/gm)].map(([, words = ""]) =>
      words.replaceAll("…", "5").split(" "),
    );
    expect(calls).toHaveLength(2);
    for (const words of calls) expect(await runPortolan(["call", ...words], { cwd })).toMatchObject({ code: 0 });
  });

  test("says how to write it again, also for a command after --", async () => {
    const cwd = makeProject();
    await generate(["skill", "--out", "SKILL.md", "--", process.execPath, documented], cwd);
    const text = readFileSync(join(cwd, "SKILL.md"), "utf8");
    expect(text).toContain(`\`\`\`sh\nportolan gen skill -- ${process.execPath} ${documented}\n\`\`\``);
    await generate(["skill", "--out", "SKILL.md", "--", process.execPath, documented], cwd);
    expect(readFileSync(join(cwd, "SKILL.md"), "utf8")).toBe(text);
  });
});

test("gen replaces its own files, and refuses to replace others without --force", async () => {
  const cwd = makeProject({ "mine.ts": "export {};\n" });
  const server = ["--", process.execPath, documented];
  await generate(["ts", "--out", "client.ts", ...server], cwd);
  await generate(["ts", "--out", "client.ts", ...server], cwd);
  const refused = await runPortolan(["gen", "ts", "--out", "mine.ts", ...server], { cwd });
  expect([refused.code, JSON.parse(refused.stderr).error.message]).toEqual([
    2,
    `${join(cwd, "mine.ts")} exists and was not generated by portolan; nothing was written. --force replaces it`,
  ]);
  expect(readFileSync(join(cwd, "mine.ts"), "utf8")).toBe("export {};\n");
  await generate(["ts", "--out", "mine.ts", "--force", ...server], cwd);
  const printed = await runPortolan(["gen", "ts", "--out", "-", ...server], { cwd });
  expect(printed.stdout).toBe(readFileSync(join(cwd, "mine.ts"), "utf8"));
  const unknown = await runPortolan(["gen", "php", ...server], { cwd });
  expect([unknown.code, JSON.parse(unknown.stderr).error]).toEqual([
    2,
    { kind: "usage", message: 'expected ts, cli or skill, got "php"', next: "portolan gen --help" },
  ]);
});

test("gen says on a terminal what it wrote, and what to do next", async () => {
  const cwd = makeProject();
  const terminal = openTerminal(["gen", "ts", "--", process.execPath, documented], { cwd, columns: 200 });
  expect(await terminal.exited).toBe(0);
  const step = `npm install ${join(root, "packages/portolan")}`;
  expect(terminal.screen()).toBe(`✓ documented-client.ts 2 tools\n  → ${step}`);
  expect(existsSync(join(cwd, "documented-client.ts"))).toBe(true);
  expect(statSync(join(cwd, "documented-client.ts")).mode & 0o111).toBe(0);
});
