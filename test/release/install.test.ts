// Releases the real packages to a registry on loopback, then uses them on an empty machine.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release } from "../../scripts/release/release.mjs";
import { problemsOfServerJson } from "../../scripts/release/server-json-rules.mjs";
import { decided, emptyMachine, makeFolder, root, run, startUntil, writeFiles } from "./kit.ts";
import { startRegistry, type TestRegistry } from "./registry.ts";

const servers = readdirSync(join(root, "packages/servers"))
  .filter((name) => existsSync(join(root, "packages/servers", name, "package.json")))
  .map((name) => `portolan-${name}`);
const libraries = ["portolan", "portolan-authority", "portolan-host"];
const names = [...libraries, ...servers];

let registry: TestRegistry;
let released: { code: number; output: string };
const out = makeFolder();

beforeAll(async () => {
  registry = await startRegistry(join(root, "node_modules"));
  const place = makeFolder();
  writeFiles(place, { "release.json": decided, "CHANGELOG.md": `## ${version()}\n` });
  const printed: string[] = [];
  const code = await release(root, {
    out,
    valuesFile: join(place, "release.json"),
    changelogFile: join(place, "CHANGELOG.md"),
    env: emptyMachine(registry),
    print: (text) => printed.push(text),
  });
  released = { code, output: printed.join("\n") };
}, 180_000);

afterAll(() => registry.close());

function version(): string {
  return JSON.parse(readFileSync(join(root, "packages/portolan/package.json"), "utf8")).version;
}

test("publishes every package after those that it depends on", () => {
  expect(released).toMatchObject({ code: 0 });
  expect([...registry.published].sort()).toEqual([...names].sort());
  expect(registry.published[0]).toBe("portolan");
});

test.each(servers)("has an entry of %s for the MCP registry that follows its rules", (name) => {
  const entry = JSON.parse(readFileSync(join(out, name, "server.json"), "utf8"));
  expect(problemsOfServerJson(entry)).toEqual([]);
  const manifest = JSON.parse(readFileSync(join(out, name, "package/package.json"), "utf8"));
  expect(manifest.mcpName).toBe(`io.github.ada/${name}`);
  expect(entry).toMatchObject({
    name: manifest.mcpName,
    packages: [{ registryType: "npm", identifier: name, version: version(), transport: { type: "stdio" } }],
  });
});

test("the entries have the arguments and environment variables of the servers", () => {
  const inputsOf = (name: string) => {
    const [{ packageArguments, environmentVariables }] = JSON.parse(
      readFileSync(join(out, name, "server.json"), "utf8"),
    ).packages;
    return { packageArguments, environmentVariables };
  };
  expect(inputsOf("portolan-files")).toEqual({
    packageArguments: [expect.objectContaining({ valueHint: "folder", isRequired: true, isRepeated: true })],
  });
  expect(inputsOf("portolan-memory")).toEqual({
    environmentVariables: [expect.objectContaining({ name: "PORTOLAN_MEMORY_FILE", isSecret: false })],
  });
  expect(inputsOf("portolan-database").environmentVariables).toEqual([
    expect.objectContaining({ name: "PORTOLAN_DATABASE_URL", isSecret: true }),
    expect.objectContaining({ name: "PGPASSWORD", isSecret: true }),
  ]);
  expect(inputsOf("portolan-github").environmentVariables).toEqual([
    expect.objectContaining({ name: "GITHUB_TOKEN", isSecret: true }),
    expect.objectContaining({ name: "GITHUB_API_URL", isSecret: false }),
  ]);
  expect(inputsOf("portolan-time")).toEqual({});
});

test("passes on the licences of what is bundled into the command", () => {
  const bundled = readFileSync(join(out, "portolan/package/dist/cli/licenses.txt"), "utf8");
  const named = [...bundled.matchAll(/^(\S+) \d+\.\d+\.\d+ \(\S+\)$/gm)].map(([, name]) => name);
  const { dependencies } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  // Only a copy of jiti is beside the bundle, with its licence.
  const others = Object.keys(dependencies).filter((name) => name !== "jiti" && !name.startsWith("portolan"));
  expect(named).toEqual(expect.arrayContaining([...others, "jose", "oauth4webapi", "yaml"]));
  expect(bundled.match(/^Copyright|^.*\(c\) |©/gim)?.length).toBeGreaterThanOrEqual(named.length);
});

describe("on an empty machine", () => {
  test("npx portolan --version works", async () => {
    const ran = await run(["npx", "--yes", "portolan", "--version"], makeFolder(), emptyMachine(registry));
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining(version()) });
  });

  test("a new server installs, passes its test, and answers under npm run dev", async () => {
    const [parent, env] = [makeFolder(), emptyMachine(registry)];
    const folder = join(parent, "weather");
    const done = async (command: string, cwd = folder) => {
      const ran = await run(command.split(" "), cwd, env);
      expect({ command, ...ran }).toMatchObject({ command, code: 0 });
      return ran.stdout;
    };
    await done("npx --yes portolan new weather", parent);
    await done("npm install");
    expect(await done("npm test")).toMatch(/fail 0/);
    const dev = await startUntil(["npm", "run", "dev", "--", "--http", "0"], folder, env, /"url":"([^"]+)"/);
    const client = await connect(dev.match[1] ?? "");
    const { structuredContent } = await client.callTool("count", { text: "two words" });
    expect(structuredContent).toEqual({ characters: 9, words: 2, lines: 1 });
    await client.close();
    await dev.stop();
  });

  test("npx portolan-files shows its help, and answers a call over stdio", async () => {
    const [folder, env] = [makeFolder(), emptyMachine(registry)];
    writeFiles(folder, { "note.txt": "milk" });
    const help = await run(["npx", "--yes", "portolan-files", "--help"], folder, env);
    expect(help).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Usage: portolan-files [flags] <folder>..."),
    });
    const client = await connect({ command: "npx", args: ["--yes", "portolan-files", "."], cwd: folder, env });
    const { structuredContent } = await client.callTool("read", { path: "note.txt" });
    expect(structuredContent).toMatchObject({ text: "milk" });
    await client.close();
  });

  test("a new server in JavaScript installs and passes its test with every template", async () => {
    const [parent, env] = [makeFolder(), emptyMachine(registry)];
    for (const template of ["tools", "resources", "everything"]) {
      const folder = join(parent, template);
      for (const [command, cwd] of [
        [`npx --yes portolan new ${template} --js --template ${template}`, parent],
        ["npm install", folder],
        ["npm test", folder],
      ] as const) {
        expect({ command, ...(await run(command.split(" "), cwd, env)) }).toMatchObject({ command, code: 0 });
      }
    }
  });
});

describe("a program that uses all packages", () => {
  let folder = "";
  let env: { [name: string]: string } = {};
  /** Each entry of each package but `portolan/internal`, which has no users. */
  const specifiers: string[] = [];

  beforeAll(async () => {
    [folder, env] = [makeFolder(), emptyMachine(registry)];
    const compiler = { typescript: ">=5.8", "@types/node": "^20.19.0" };
    const optionalPeers = { "@opentelemetry/api": "^1.9.0" };
    const versions = Object.fromEntries(names.map((name) => [name, version()]));
    writeFiles(folder, {
      "package.json": { private: true, dependencies: { ...versions, ...optionalPeers, ...compiler } },
    });
    const installed = await run(["npm", "install"], folder, env);
    expect(installed).toMatchObject({ code: 0 });
    for (const name of names) {
      const { exports } = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
      const entries = Object.keys(exports).filter((entry) => entry !== "./package.json" && entry !== "./internal");
      specifiers.push(...entries.map((entry) => `${name}${entry.slice(1)}`));
    }
    expect(specifiers.length).toBeGreaterThan(25);
    await run(["git", "init", "-q"], folder, env);
    const list = JSON.stringify(specifiers);
    writeFiles(folder, {
      // An empty file is an empty database.
      "shop.db": "",
      "orders.yaml": readFileSync(join(root, "examples/openapi/orders.yaml"), "utf8"),
      "imports.mjs": `
        const counts = {};
        for (const name of ${list}) counts[name] = Object.keys(await import(name)).length;
        console.log(JSON.stringify(counts));
      `,
      "requires.cjs": `
        const counts = {};
        for (const name of ${list}) counts[name] = Object.keys(require(name)).filter((key) => key !== "__esModule").length;
        console.log(JSON.stringify(counts));
      `,
    });
  }, 120_000);

  const runtimes = [
    { label: `Node ${process.versions.node}, which runs the tests`, program: process.execPath },
    { label: "Node 22", program: join(root, "test/release/runtime/node_modules/node22/bin/node") },
    { label: "Node 24", program: join(root, "test/conformance/runtime/node_modules/node/bin/node") },
  ].map(({ label, program }) => {
    const isThere = existsSync(program);
    return { program, isThere, label: isThere ? label : `${label} (skipped: not installed, npm test installs it)` };
  });

  describe.each(runtimes)("on $label", ({ program, isThere }) => {
    test.skipIf(!isThere).each(["imports.mjs", "requires.cjs"])("loads every entry: %s", async (file) => {
      const { code, stdout, stderr } = await run([program, file], folder, env);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const counts = JSON.parse(stdout);
      expect(Object.keys(counts)).toEqual(specifiers);
      expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
    });
  });

  test("type-checks, the declarations of the packages too", async () => {
    const lines = specifiers.map((name, at) => `import * as entry${at} from "${name}";\nexport { entry${at} };`);
    writeFiles(folder, {
      "types.mts": lines.join("\n"),
      "tsconfig.json": {
        compilerOptions: {
          ...{ target: "es2023", module: "nodenext", strict: true, noEmit: true, types: ["node"] },
          ...{ lib: ["es2023", "esnext.disposable", "dom"], skipLibCheck: false },
        },
        files: ["types.mts"],
      },
    });
    expect(await run(["npx", "tsc"], folder, env)).toMatchObject({ code: 0, stdout: "" });
  });

  test.concurrent.each(servers)("the first command in the README of %s works as written", async (name) => {
    const readme = readFileSync(join(folder, "node_modules", name, "README.md"), "utf8");
    const command = /```text\n(npx portolan .+)\n```/.exec(readme)?.[1] ?? "";
    expect(command).toContain(name);
    expect(await run(command.split(" "), folder, env)).toMatchObject({ code: 0, stderr: "" });
  });
});
