import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const library = join(root, "packages/portolan");
const bin = (name: string) => join(root, "node_modules/.bin", name);
const run = (command: string, args: string[], cwd: string) => {
  try {
    return { status: 0, output: execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" }) };
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
    return { status, output: `${stdout}${stderr}` };
  }
};

describe("the published package", () => {
  let folder = "";
  let tarball = "";

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "portolan-package-"));
    const { output } = run("npm", ["pack", "--silent", "--pack-destination", folder], library);
    tarball = join(folder, output.trim().split("\n").at(-1)!);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("passes publint", () => {
    expect(run(bin("publint"), ["run", tarball, "--strict"], root)).toMatchObject({ status: 0 });
  });

  test("has types that resolve for ES modules", () => {
    const { status, output } = run(bin("attw"), [tarball, "--profile", "esm-only", "--no-emoji"], root);
    expect({ status, output }).toMatchObject({ status: 0 });
  });

  test("contains no tests and no sources", () => {
    const { output } = run("tar", ["-tzf", tarball], root);
    expect(output).toContain("package/dist/server/index.js");
    expect(output.split("\n").filter((file) => /\.test\.|\/src\//.test(file))).toEqual([]);
  });

  test("installs on its own, and Node imports every entry", () => {
    const user = join(folder, "user");
    mkdirSync(user);
    writeFileSync(join(user, "package.json"), JSON.stringify({ type: "module" }));
    const installed = run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball], user);
    expect(installed).toMatchObject({ status: 0 });
    const { exports } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
    const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));
    expect(entries.length).toBeGreaterThan(3);
    for (const entry of entries) {
      const specifier = `portolan${entry.slice(1)}`;
      const program = `console.log(Object.keys(await import("${specifier}")).join(" "))`;
      const { status, output } = run(process.execPath, ["--input-type=module", "-e", program], user);
      expect({ specifier, status }).toEqual({ specifier, status: 0 });
      // The declarations are what the documents describe; a bundler may add names of its own to an entry.
      const file = exports[entry].types.replace("./", "");
      const declared = readFileSync(join(user, "node_modules/portolan", file), "utf8");
      const isDeclared = (name: string) =>
        new RegExp(`(?:export (?:declare )?(?:async )?(?:function|const|class) |[{,] ?)${name}\\b`).test(declared);
      expect({
        specifier,
        undeclared: output
          .trim()
          .split(" ")
          .filter((name) => !isDeclared(name)),
      }).toEqual({ specifier, undeclared: [] });
    }
  });
});

test("the project has no unused files, exports or dependencies", () => {
  const { status, output } = run(bin("knip"), ["--no-progress"], root);
  expect({ status, output }).toEqual({ status: 0, output: expect.any(String) });
});

test("lock files name no registry host", () => {
  for (const folder of ["", "test/peers", "test/conformance/runtime"]) {
    expect(readFileSync(join(root, folder, "package-lock.json"), "utf8")).not.toMatch(/"resolved": "http/);
  }
});

test("npm runs scripts with the same Node that started it", () => {
  const { output } = run("npm", ["exec", "--offline", "--", "node", "-p", "process.execPath"], root);
  expect(output.trim().split("\n").at(-1)).toBe(process.execPath);
});
