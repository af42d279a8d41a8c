import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules/.bin", name);
const run = (command: string, args: string[], cwd: string) => {
  try {
    return { status: 0, output: execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" }) };
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
    return { status, output: `${stdout}${stderr}` };
  }
};

const packages = ["portolan", "host"].map((name) => {
  const source = join(root, "packages", name);
  return { source, ...(JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Manifest) };
});

interface Manifest {
  readonly name: string;
  readonly exports: { readonly [entry: string]: { readonly types: string } | string };
}

describe("the published packages", () => {
  let folder = "";
  const tarballs = new Map<string, string>();

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "portolan-package-"));
    for (const { name, source } of packages) {
      const { output } = run("npm", ["pack", "--silent", "--pack-destination", folder], source);
      tarballs.set(name, join(folder, output.trim().split("\n").at(-1)!));
    }
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("install into an empty folder, and every entry exports what its declarations say", () => {
    const user = mkdtempSync(join(folder, "user-"));
    writeFileSync(join(user, "package.json"), JSON.stringify({ type: "module" }));
    // The optional peer of portolan/otel.
    const files = [...tarballs.values(), join(root, "node_modules/@opentelemetry/api")];
    const installed = run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...files], user);
    expect(installed).toMatchObject({ status: 0 });
    const entries = packages.flatMap(({ name, exports }) =>
      Object.entries(exports).flatMap(([entry, target]) =>
        typeof target === "string" ? [] : [{ specifier: `${name}${entry.slice(1)}`, file: join(name, target.types) }],
      ),
    );
    expect(entries.length).toBeGreaterThan(15);
    const program = `
      const names = {};
      for (const specifier of ${JSON.stringify(entries.map(({ specifier }) => specifier))}) names[specifier] = Object.keys(await import(specifier));
      console.log(JSON.stringify(names));
    `;
    const { status, output } = run(process.execPath, ["--input-type=module", "-e", program], user);
    expect({ status, output }).toMatchObject({ status: 0 });
    const exported = JSON.parse(output) as { [specifier: string]: string[] };
    for (const { specifier, file } of entries) {
      const declared = readFileSync(join(user, "node_modules", file), "utf8");
      const isDeclared = (name: string) =>
        new RegExp(`(?:export (?:declare )?(?:async )?(?:function|const|class) |[{,] ?)${name}\\b`).test(declared);
      const names = exported[specifier] ?? [];
      expect(names.length).toBeGreaterThan(0);
      expect({ specifier, undeclared: names.filter((name) => !isDeclared(name)) }).toEqual({
        specifier,
        undeclared: [],
      });
    }
  });
});

test("the project has no unused files, exports or dependencies", () => {
  const { status, output } = run(bin("knip"), ["--no-progress"], root);
  expect({ status, output }).toEqual({ status: 0, output: expect.any(String) });
});

const locks = [
  "",
  "bench/commands",
  "test/peers",
  "test/apps/peers",
  "test/services/vendors",
  "test/conformance/runtime",
  "test/interop/inspector/runtime",
  "test/release/runtime",
];
const readLock = (folder: string) => readFileSync(join(root, folder, "package-lock.json"), "utf8");

test.each(locks)("the lock file of %j names no registry host", (folder) => {
  expect(readLock(folder)).not.toMatch(/"resolved": "http/);
});

// Otherwise `npm ci` refuses the lock file, on every platform.
test.each(locks)("the lock file of %j has an entry for each dependency, also those of other platforms", (folder) => {
  const { packages } = JSON.parse(readLock(folder)) as { packages: { [path: string]: LockEntry } };
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => {
        const { version, link } = packages[placeOf(name, path, packages) ?? ""] ?? {};
        return version === undefined && link !== true;
      })
      .map((name) => `${name}, needed by ${path}`),
  );
  expect(missing).toEqual([]);
});

interface LockEntry {
  readonly version?: string;
  readonly link?: boolean;
  readonly dependencies?: { readonly [name: string]: string };
  readonly optionalDependencies?: { readonly [name: string]: string };
}

/** Returns where Node finds a package from a path: the nearest folder outwards that has it. */
function placeOf(name: string, from: string, packages: object): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf("/node_modules/"), 0))) {
    const place = `${folder}${folder === "" ? "" : "/"}node_modules/${name}`;
    if (place in packages) return place;
    if (folder === "") return undefined;
  }
}

test("npm runs scripts with the same Node that started it", () => {
  const { output } = run("npm", ["exec", "--offline", "--", "node", "-p", "process.execPath"], root);
  expect(output.trim().split("\n").at(-1)).toBe(process.execPath);
});

test("every command of a package can be executed after a build", () => {
  const servers = readdirSync(join(root, "packages/servers"), { withFileTypes: true });
  const folders = [
    "portolan",
    "authority",
    ...servers.flatMap((one) => (one.isDirectory() ? [`servers/${one.name}`] : [])),
  ];
  const commands = folders.flatMap((name) => {
    const folder = join(root, "packages", name);
    const { bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      bin?: { [name: string]: string };
    };
    return Object.values(bin).map((file) => join(folder, file));
  });
  expect(commands.length).toBeGreaterThan(10);
  const isExecutable = (file: string) =>
    (statSync(file).mode & 0o111) === 0o111 && readFileSync(file, "utf8").startsWith("#!");
  expect(commands.filter((file) => !isExecutable(file))).toEqual([]);
});
