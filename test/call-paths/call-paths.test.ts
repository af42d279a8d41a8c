import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

/** The most files that a call may pass, without those of the validator, and the most functions that may run. */
const limits = {
  statelessHttp: { files: 18, functions: 118 },
  statefulStdio: { files: 15, functions: 89 },
  clientCall: { files: 12, functions: 53 },
  clientHttpCall: { files: 20, functions: 96 },
  elicitation: { files: 24, functions: 257 },
  hostCall: { files: 30, functions: 192 },
};

/** The first column of the table below a mark, and the files of the path that the mark includes. */
function listedFiles(path: string): string[] {
  const [, included, section = ""] =
    new RegExp(`<!-- call path: ${path}(?:, with every file of (\\w+))? -->([\\s\\S]*?)(?=\\n#|<!--)`).exec(page) ?? [];
  const listed = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, file = ""]) =>
    file.startsWith("host/") ? file.replace("host/", "packages/host/src/") : `packages/portolan/src/${file}`,
  );
  const others = included === undefined ? [] : listedFiles(included);
  return [...listed, ...others.filter((file) => !listed.includes(file))];
}

let measured: { readonly [path: string]: { readonly files: readonly string[]; readonly functions: number } } = {};

beforeAll(() => {
  const { stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", "test/call-paths/measure.mjs"], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, TSX_TSCONFIG_PATH: "tsconfig.sources.json" },
  });
  expect(stderr).toBe("");
  measured = JSON.parse(stdout);
}, 120_000);

describe.each(Object.entries(limits))("the path %s", (path, limit) => {
  test("passes the files that ARCHITECTURE.md lists, each listed once", () => {
    expect(listedFiles(path).sort()).toEqual(measured[path]?.files);
  });

  test(`passes at most ${limit.files} files outside schema/`, () => {
    const files = (measured[path]?.files ?? []).filter((file) => !file.includes("/schema/"));
    expect(files.length).toBeGreaterThan(5);
    expect(files.length).toBeLessThanOrEqual(limit.files);
  });

  test(`runs at most ${limit.functions} functions`, () => {
    expect(measured[path]?.functions).toBeLessThanOrEqual(limit.functions);
  });
});

test("tsconfig.sources.json leads every entry of the two libraries to its source", () => {
  const expected: { [name: string]: string[] } = {};
  for (const folder of ["portolan", "host"]) {
    const manifest = JSON.parse(readFileSync(join(root, `packages/${folder}/package.json`), "utf8"));
    const toSource = (file: string) =>
      `./packages/${folder}/${file.replace("./dist/", "src/").replace(/\.js$/, ".ts")}`;
    for (const [name, entry] of Object.entries<{ node?: string; default?: string }>(manifest.exports)) {
      const file = entry.node ?? entry.default;
      if (file) expected[`${manifest.name}${name.slice(1)}`] = [toSource(file)];
    }
    for (const [name, { node }] of Object.entries<{ node: string }>(manifest.imports ?? {})) {
      expected[name] = [toSource(node)];
    }
  }
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.sources.json"), "utf8"));
  expect(compilerOptions.paths).toEqual(expected);
});
