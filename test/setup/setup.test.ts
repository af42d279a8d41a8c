import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { missingFor } from "../../scripts/programs.mjs";
import { openTerminal } from "../cli/pseudo-terminal.ts";
import { pathTo } from "../examples/example.ts";

/** Creates a small clone with the scripts of the set-up, and a folder of programs that is its PATH. */
function makeClone(): { root: string; bin: string } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "portolan-setup-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const scripts = [
    "setup.mjs",
    "programs.mjs",
    "build-stamp.mjs",
    "build.mjs",
    "bundle-command.mjs",
    "command-loader.mjs",
    "bundle-console.mjs",
    "swap-in.mjs",
  ];
  for (const name of scripts) {
    cpSync(pathTo(`scripts/${name}`), join(root, "scripts", name));
  }
  for (const folder of ["packages/portolan/src", "packages/portolan/dist", "packages/servers", "bin"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  writeFileSync(join(root, "packages/portolan/src/index.ts"), "export {};");
  writeFileSync(join(root, "packages/portolan/dist/index.js"), "export {};");
  writeFileSync(join(root, "package.json"), '{ "type": "module" }');
  writeFileSync(join(root, "package-lock.json"), "{}");
  symlinkSync(process.execPath, join(root, "bin/node"));
  // An npm that installs as soon as the test allows it.
  const npm =
    "#!/bin/sh\nwhile [ ! -e go ]; do /bin/sleep 0.02; done\n/bin/mkdir -p node_modules\necho > node_modules/.package-lock.json\n";
  writeFileSync(join(root, "bin/npm"), npm);
  chmodSync(join(root, "bin/npm"), 0o755);
  return { root, bin: join(root, "bin") };
}

function setUp(
  { root, bin }: { root: string; bin: string },
  flags: readonly string[],
  env: { [name: string]: string } = {},
) {
  const child = spawn(process.execPath, ["scripts/setup.mjs", "--once", ...flags], {
    cwd: root,
    env: { PATH: bin, ...env },
  });
  let stdout = "";
  let stderr = "";
  let heard: () => void = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    heard();
  });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stdout, stderr })),
  );
  const first = new Promise<string>((resolve) => {
    heard = () => resolve(stderr);
  });
  return { first, ended };
}

test("says what it installs before the installation ends, and how long it took", async () => {
  const clone = makeClone();
  const { first, ended } = setUp(clone, []);
  expect(await first).toBe("installing packages\n");
  writeFileSync(join(clone.root, "go"), "");
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^installing packages\ninstalling packages: done in \d+ s\n$/);
});

test("shows in a terminal what it does, on one line with the elapsed time", async () => {
  const { root, bin } = makeClone();
  const program = [process.execPath, "scripts/setup.mjs", "--once"];
  const terminal = openTerminal([], { cwd: root, program, columns: 60, env: { PATH: `${bin}:/usr/bin:/bin` } });
  await terminal.see(/^installing packages: npm install into node_modules, \d+ s$/);
  writeFileSync(join(root, "go"), "");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/^installing packages: done in \d+ s$/);
});

test("installs nothing a second time, and is silent", async () => {
  const clone = makeClone();
  writeFileSync(join(clone.root, "go"), "");
  await setUp(clone, []).ended;
  expect(await setUp(clone, []).ended).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("names a missing program with its install command, and fails on it in CI", async () => {
  const clone = makeClone();
  writeFileSync(join(clone.root, "go"), "");
  await setUp(clone, []).ended;
  const { code, stderr } = await setUp(clone, ["--shells", "--check"]).ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(/^zsh is missing\. Install it: \S.* install zsh \(until then, its tests are skipped/m);
  expect(stderr).toMatch(/^fish is missing\. /m);
  const inCi = await setUp(clone, ["--shells", "--check"], { CI: "true" }).ended;
  expect(inCi).toMatchObject({ code: 1, stdout: "0 passed, 1 failed\n" });
  expect(inCi.stderr).toMatch(/^setup: zsh is missing\. /);
  for (const shell of ["zsh", "fish"]) symlinkSync(process.execPath, join(clone.bin, shell));
  expect(await setUp(clone, ["--shells"], { CI: "true" }).ended).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("a build is needed when a source or a built file has changed, and only then", async () => {
  const { root } = makeClone();
  const { isBuilt, rememberBuild } = await import(pathToFileURL(join(root, "scripts/build-stamp.mjs")).href);
  expect(isBuilt()).toBe(false);
  rememberBuild();
  expect(isBuilt()).toBe(true);
  utimesSync(join(root, "packages/portolan/src/index.ts"), 1, 1);
  expect(isBuilt()).toBe(false);
  rememberBuild();
  writeFileSync(join(root, "packages/portolan/src/index.test.ts"), "");
  expect(isBuilt()).toBe(true);
  rmSync(join(root, "packages/portolan/dist/index.js"));
  expect(isBuilt()).toBe(false);
});

test("a program that is built again is never missing, is whole at each moment, and stays executable", async () => {
  const { root } = makeClone();
  const folder = join(root, "packages/portolan/dist");
  const program = join(folder, "main.js");
  writeFileSync(program, "0".repeat(100_000), { mode: 0o755 });
  const swaps = `
    const { writeFileSync } = await import("node:fs");
    const { swapIn } = await import("./scripts/swap-in.mjs");
    for (let n = 1; n <= 9; n += 1) {
      for (let again = 0; again < 30; again += 1) {
        await swapIn("packages/portolan/dist", { root: ".", order: (file) => Number(file === "main.js"), isStale: () => true }, async (next) => {
          writeFileSync(next + "/main.js", String(n).repeat(100_000));
          writeFileSync(next + "/part-" + n + ".js", "");
        });
      }
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", swaps], { cwd: root, stdio: "inherit" });
  const ended = new Promise((resolve) => child.on("close", resolve));
  let reads = 0;
  while (child.exitCode === null) {
    const text = readFileSync(program, "utf8");
    expect(text.length).toBe(100_000);
    expect(text).toBe((text[0] ?? "").repeat(100_000));
    expect(statSync(program).mode & 0o777).toBe(0o755);
    reads += 1;
    await new Promise(setImmediate);
  }
  expect(await ended).toBe(0);
  expect(reads).toBeGreaterThan(1);
  expect(readdirSync(folder).sort()).toEqual(["main.js", "part-9.js"]);
});

test("a build that fails leaves the earlier program", async () => {
  const { root } = makeClone();
  const folder = join(root, "packages/portolan/dist");
  const { swapIn } = await import(pathToFileURL(join(root, "scripts/swap-in.mjs")).href);
  const failing = swapIn(folder, { root, order: () => 0, isStale: () => true }, async (next: string) => {
    writeFileSync(join(next, "index.js"), "half");
    throw new Error("the disk is full");
  });
  await expect(failing).rejects.toThrow("the disk is full");
  expect(readFileSync(join(folder, "index.js"), "utf8")).toBe("export {};");
  expect(readdirSync(join(root, "node_modules/.cache/portolan"))).toEqual([]);
});

test.each([
  ["test/net/tls.test.ts", ["openssl"]],
  ["test/servers/git/program.test.ts", ["git"]],
  ["test/documents.test.ts", []],
])("knows which programs %s needs", (file, names) => {
  expect(missingFor(pathTo(file), { PATH: "" }).map(({ name }) => name)).toEqual(names);
});

test("a test that needs a missing program is skipped by name, with the reason and the install command", async () => {
  const { root, bin } = makeClone();
  const config = {
    globals: true,
    runner: pathTo("test/kit/runner.ts"),
    reporters: [pathTo("scripts/closing-line.mjs")],
  };
  writeFileSync(join(root, "vitest.config.mjs"), `export default { test: ${JSON.stringify(config)} };`);
  writeFileSync(
    join(root, "a.test.ts"),
    'beforeAll(() => execFileSync("openssl"));\ntest("makes a certificate", () => {});\n',
  );
  writeFileSync(join(root, "b.test.ts"), 'test("adds", () => expect(1 + 1).toBe(2));\n');
  const args = [pathTo("node_modules/vitest/vitest.mjs"), "run", "--root", root];
  const child = spawn(process.execPath, args, { cwd: root, env: { PATH: bin, HOME: root } });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(stdout).toMatch(
    /^skipped: a\.test\.ts > makes a certificate \(openssl is missing; \S.* install openssl\)\n1 passed, 0 failed, 1 skipped\n$/,
  );
  expect(code).toBe(0);
});
