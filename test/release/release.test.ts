// What a release refuses, says and repeats, with small packages. test/release/install.test.ts releases the real ones.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { release } from "../../scripts/release/release.mjs";
import { decided, emptyMachine, makeFolder, root, run, writeFiles } from "./kit.ts";
import { startRegistry, type TestRegistry } from "./registry.ts";

let registry: TestRegistry;
beforeAll(async () => {
  registry = await startRegistry(join(root, "node_modules"));
});
afterAll(() => registry.close());

/** The files of a package that nothing is wrong with. */
function packageFiles(name: string, more: object = {}): { [path: string]: unknown } {
  const folder = `packages/${name}`;
  return {
    [`${folder}/package.json`]: {
      name,
      version: "1.2.3",
      description: `The package ${name}`,
      keywords: ["test"],
      license: "MIT",
      type: "module",
      sideEffects: false,
      engines: { node: ">=20.19" },
      exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
      files: ["dist"],
      devDependencies: { vitest: "*" },
      scripts: { prepack: "exit 1" },
      ...more,
    },
    [`${folder}/README.md`]:
      "See [the guide](../../docs/guide.md#start), [the site](https://example.com) and [below](#end).",
    [`${folder}/LICENSE`]: "MIT",
    [`${folder}/src/index.ts`]: 'export const version = "1.2.3";',
    [`${folder}/dist/index.js`]: 'export const version = "1.2.3";',
    [`${folder}/dist/index.d.ts`]: 'export declare const version = "1.2.3";',
  };
}

/** Creates a repository in which nothing stops a release, then changes it. */
function makeRepository(files: { readonly [path: string]: unknown } = {}): string {
  const folder = makeFolder();
  writeFiles(folder, {
    "release.json": decided,
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-11-16)\n\nAll new.\n",
    "packages/servers/README.md": "No servers",
    ...packageFiles("test-first"),
    ...files,
  });
  return folder;
}

async function releaseIn(repository: string, options: object = {}) {
  const printed: string[] = [];
  const code = await release(repository, {
    env: emptyMachine(registry),
    print: (text: string) => printed.push(text),
    ...options,
  });
  return { code, output: printed.join("\n") };
}

test("publishes the copy with the values of release.json, and leaves the manifest in the repository alone", async () => {
  const repository = makeRepository();
  const before = readFileSync(join(repository, "packages/test-first/package.json"), "utf8");
  expect(await releaseIn(repository)).toMatchObject({
    code: 0,
    output: expect.stringContaining("published test-first 1.2.3"),
  });
  expect(readFileSync(join(repository, "packages/test-first/package.json"), "utf8")).toBe(before);

  const user = makeFolder();
  expect(await run(["npm", "install", "test-first"], user, emptyMachine(registry))).toMatchObject({ code: 0 });
  const installed = join(user, "node_modules/test-first");
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect(manifest).toMatchObject({
    author: "Ada Lovelace",
    homepage: "https://example.com/portolan",
    bugs: { url: "https://github.com/ada/portolan/issues" },
    repository: { type: "git", url: "git+https://github.com/ada/portolan.git", directory: "packages/test-first" },
  });
  expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["scripts"]));
  expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["devDependencies"]));
  expect(readFileSync(join(installed, "README.md"), "utf8")).toBe(
    "See [the guide](https://github.com/ada/portolan/blob/HEAD/docs/guide.md#start), [the site](https://example.com) and [below](#end).",
  );
});

test("publishes the declarations that an entry reaches, and no others", async () => {
  const dist = "packages/test-declared/dist";
  const repository = makeRepository({
    ...packageFiles("test-declared"),
    [`${dist}/index.d.ts`]: 'export type { Size } from "./sizes/index.ts";\nexport declare const version = "1.2.3";',
    [`${dist}/sizes/index.d.ts`]: 'export type Size = import("../unit.js").Unit[];',
    [`${dist}/unit.d.ts`]: "export type Unit = number;",
    // Shared code is bundled, and is no dependency.
    [`${dist}/inner.d.ts`]: 'export type { Shared } from "never-published";',
    ...packageFiles("test-first", { private: true }),
  });
  expect(await releaseIn(repository, { dryRun: true })).toMatchObject({ code: 0 });
  const published = readdirSync(join(repository, "dist/release/test-declared/package/dist"), { recursive: true });
  expect(published.filter((file) => String(file).endsWith(".ts")).sort()).toEqual([
    "index.d.ts",
    "sizes/index.d.ts",
    "unit.d.ts",
  ]);
});

describe("a release that stops in the middle", () => {
  const files = {
    ...packageFiles("test-c", { dependencies: { "test-b": "1.2.3" } }),
    ...packageFiles("test-b", { peerDependencies: { "test-a": "1.2.3" } }),
    ...packageFiles("test-a"),
    ...packageFiles("test-first", { private: true }),
  };

  test("says why and what was not tried, and the next run publishes the rest", async () => {
    const repository = makeRepository(files);
    const already = registry.published.length;
    registry.refuse("test-b");
    const stopped = await releaseIn(repository);
    expect(stopped.code).toBe(1);
    expect(stopped.output).toMatch(
      /published test-a 1\.2\.3\n+test-b was not published: .*403[\s\S]*Not tried: test-c\./,
    );
    expect(registry.published.slice(already)).toEqual(["test-a"]);

    registry.accept("test-b");
    const again = await releaseIn(repository);
    expect(again.output).toContain("test-a 1.2.3 was already published with this content");
    expect(again.code).toBe(0);
    expect(registry.published.slice(already)).toEqual(["test-a", "test-b", "test-c"]);
  });

  test("never passes over a version that was published with other content", async () => {
    const changed = { "packages/test-a/dist/index.js": 'export const version = "1.2.3";\nexport const more = 1;' };
    const { code, output } = await releaseIn(makeRepository({ ...files, ...changed }));
    expect(code).toBe(1);
    expect(output).toContain("test-a 1.2.3 is already published with other content. Raise the version");
  });
});

test("--provenance reaches npm, which refuses it outside a job that may sign", async () => {
  const files = { ...packageFiles("test-signed"), ...packageFiles("test-first", { private: true }) };
  const [repository, already] = [makeRepository(files), registry.published.length];
  const { code, output } = await releaseIn(repository, { provenance: true });
  expect(code).toBe(1);
  expect(output).toMatch(/test-signed was not published: .*provenance/);
  expect(registry.published).toHaveLength(already);
});

describe("without a decision", () => {
  const empty = Object.fromEntries(Object.keys(decided).map((name) => [name, ""]));
  const files = { "release.json": { ...empty, homepage: "http://example.com" }, "CHANGELOG.md": "## Unreleased\n" };
  const undecided = [
    "release.json: repository is empty",
    'release.json: homepage: expected the address of the documentation, https://…, got "http://example.com"',
    "release.json: bugs is empty",
    "release.json: author is empty",
    "release.json: mcpNamespace is empty",
    "CHANGELOG.md has no section for 1.2.3",
  ];

  test("a release builds and publishes nothing, and names each", async () => {
    const already = registry.published.length;
    let builds = 0;
    const build = async () => {
      builds += 1;
    };
    const { code, output } = await releaseIn(makeRepository(files), { build });
    expect({ code, builds, published: registry.published.length }).toEqual({ code: 1, builds: 0, published: already });
    expect(output).toMatch(/^Nothing was published\.\n/);
    for (const one of undecided) expect(output).toContain(one);
  });

  test("a dry run succeeds, lists what would be published, names what is undecided, and writes none of it", async () => {
    const repository = makeRepository(files);
    const { code, output } = await releaseIn(repository, { dryRun: true });
    expect(code).toBe(0);
    expect(output).toMatch(/^test-first +1\.2\.3 +5 +\d+ KB +\d+ KB$/m);
    for (const one of undecided) expect(output).toContain(one);
    const staged = readFileSync(join(repository, "dist/release/test-first/package/package.json"), "utf8");
    expect(Object.keys(JSON.parse(staged)).filter((name) => name in decided)).toEqual([]);
  });
});

describe("a dry run fails because of a package", () => {
  const withManifest = (more: object) => (name: string) => packageFiles(name, more);
  const withFile = (path: string, content: unknown) => (name: string) => ({
    ...packageFiles(name),
    [`packages/${name}/${path}`]: content,
  });
  const without = (path: string) => (name: string) => {
    const { [`packages/${name}/${path}`]: removed, ...rest } = packageFiles(name);
    return rest;
  };
  const entries = { ".": { types: "./dist/index.d.ts", default: "./dist/none.js" } };
  const map = { version: 3, sources: ["../src/index.ts"], mappings: "" };

  const faults: [string, (name: string) => { [path: string]: unknown }, string][] = [
    ["without a README", without("README.md"), "README.md is missing in the tarball"],
    ["without a licence", without("LICENSE"), "LICENSE is missing in the tarball"],
    ["without keywords", withManifest({ keywords: [] }), "package.json has no keywords"],
    ["with build state", withFile("dist/.tsbuildinfo", "{}"), "dist/.tsbuildinfo does not belong in the tarball"],
    ["with tests", withFile("dist/a.test.js", ""), "dist/a.test.js does not belong in the tarball"],
    [
      "with a map of missing sources",
      withFile("dist/a.js.map", map),
      "dist/a.js.map refers to sources that are not in",
    ],
    ["of another version", withManifest({ version: "1.2.4" }), "its version is 1.2.4, that of others is 1.2.3"],
    ["with a range of our own", withManifest({ dependencies: { "test-first": "^1.2.3" } }), "test-first is ^1.2.3"],
    ["with any version of another", withManifest({ dependencies: { jose: "*" } }), "its dependency jose is *"],
    ["with an undeclared import", withFile("dist/index.js", 'import "jose";'), "dist/index.js imports jose"],
    ["with an entry that is not there", withManifest({ exports: entries }), "publint: "],
    ["without types", without("dist/index.d.ts"), "types: "],
  ];
  const oldSource = withFile("src/index.ts", 'export const version = "1.2.2";')("test-x-old");
  const program = (code: string) => ({ "dist/main.js": `#!/usr/bin/env node\n${code}` });
  const serverFiles = (name: string, files: { [path: string]: string }) => {
    const all = { ...packageFiles(name, { bin: { [name]: "./dist/main.js" } }) };
    for (const [path, content] of Object.entries(files)) all[`packages/${name}/${path}`] = content;
    return Object.fromEntries(Object.entries(all).map(([path, content]) => [path.replace("/", "/servers/"), content]));
  };
  const runMain = 'import { runMain } from "portolan/server/main";\n';
  const brokenServers = {
    ...serverFiles("test-throws", program('throw new Error("no start");')),
    ...serverFiles("test-silent", program("")),
    ...serverFiles("test-other", program(`${runMain}runMain({ version: "9.9.9", arguments: "<thing>" });`)),
    ...serverFiles("test-stale", program(`${runMain}runMain({ version: "9.9.9" });`)),
  };
  let ran: { code: number; output: string };

  beforeAll(async () => {
    const broken = faults.map(([, filesOf], at) => filesOf(`test-x${at}`));
    ran = await releaseIn(makeRepository(Object.assign({}, ...broken, oldSource, brokenServers)), { dryRun: true });
  });

  test.each(faults.map(([title, , problem], at) => [title, `test-x${at}`, problem] as const))(
    "%s",
    (_, name, problem) => {
      const problems = ran.output.split("\n").filter((line) => line.startsWith(`  - ${name}: `));
      expect(problems).toEqual(expect.arrayContaining([expect.stringContaining(problem)]));
    },
  );

  test("whose source names an old version", () => {
    expect(ran.output).toContain("packages/test-x-old/src/index.ts names the version 1.2.2; expected 1.2.3");
  });

  test.each([
    ["test-throws", /its command line cannot be read: \S+main\.js failed: Error: no start$/m],
    ["test-silent", /its command line cannot be read: \S+main\.js does not call runMain of portolan\/server\/main$/m],
    ["test-other", /its command line cannot be read: scripts\/\S+ does not know the argument <thing>$/m],
    ["test-stale", /its program says that its version is 9\.9\.9$/m],
  ])("that is a server: %s", (name, problem) => {
    const problems = ran.output.split("\n").filter((line) => line.startsWith(`  - ${name}: `));
    expect(problems.join("\n")).toMatch(problem);
  });

  test("and names no other package", () => {
    expect(ran.code).toBe(1);
    expect(ran.output).not.toMatch(/- test-first: /);
  });
});

test("a failed build publishes nothing, and its reason is shown", async () => {
  const build = async () => "index.ts(1,1): error";
  const { code, output } = await releaseIn(makeRepository(), { build });
  expect({ code, output }).toEqual({
    code: 1,
    output: "Nothing was published: the build failed.\nindex.ts(1,1): error",
  });
});

// Once release.json is complete, the program would build and publish.
const isDecided = !Object.values(JSON.parse(readFileSync(join(root, "release.json"), "utf8"))).includes("");
test.skipIf(isDecided)(
  "npm run release publishes nothing while a value of release.json is empty (skipped when none is)",
  async () => {
    const { code, stdout } = await run([process.execPath, "scripts/release.mjs"], root, emptyMachine(registry));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Nothing was published\.\n[\s\S]*release\.json: \w+ is empty/);
  },
);
