import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { drawLayers, layers } from "./layers.ts";

const root = join(import.meta.dirname, "..");
const source = join(root, "packages/portolan/src");
const sourcesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
const files = sourcesIn(source);
const manifest = (name: string) => JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), "utf8"));
const read = (file: string) => readFileSync(join(source, file), "utf8");
const imports = (file: string) =>
  [...read(file).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]!);
const layerOf = (file: string) => (file.includes("/") ? file.split("/")[0]! : file.replace(/\.ts$/, ""));
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*/g, "");

test("the source was found", () => {
  expect(files.length).toBeGreaterThan(50);
  expect([...new Set(files.map(layerOf))].sort()).toEqual(Object.keys(layers).sort());
});

test.each(files)("%s imports only from the layers below it", (file) => {
  const layer = layerOf(file);
  const allowed = [layer, "errors", "async", "options", ...layers[layer]!];
  for (const target of imports(file).filter((specifier) => specifier.startsWith("."))) {
    const to = layerOf(
      relative(source, join(source, dirname(file), target))
        .split(sep)
        .join("/"),
    );
    expect(allowed, `${file} imports ${target}`).toContain(to);
  }
});

test.each(files)("%s imports node modules only where its name says so", (file) => {
  const isForNode = /(^|\/)(stdio|node|main)\.ts$/.test(file) || file.includes("/node/");
  const used = imports(file).filter((specifier) => specifier.startsWith("node:"));
  if (!isForNode) expect(used).toEqual([]);
});

test.each(files.filter((file) => !file.startsWith("protocol/revisions/")))("%s names no protocol version", (file) => {
  expect(withoutComments(read(file))).not.toMatch(/20\d\d-\d\d-\d\d/);
});

test("ARCHITECTURE.md draws the layers as they are", () => {
  expect(readFileSync(join(root, "ARCHITECTURE.md"), "utf8")).toContain(drawLayers());
});

test("the library depends on jose and oauth4webapi, which only auth imports", () => {
  const { dependencies = {} } = manifest("portolan");
  expect(Object.keys(dependencies)).toEqual(["jose", "oauth4webapi"]);
  for (const file of files) if (!file.startsWith("auth/")) expect(read(file)).not.toMatch(/from "(jose|oauth4webapi)"/);
});

describe("portolan-host", () => {
  const folder = join(root, "packages/host/src");
  const sources = sourcesIn(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")] as const);

  test("has the library as a peer of the same version", () => {
    expect(manifest("host").peerDependencies).toEqual({ portolan: manifest("portolan").version });
  });

  test.each(sources)("%s reaches the library by its entries only", (_, text) => {
    expect(text).not.toMatch(/"[./]*portolan\/src/);
  });

  test("loads the readers of configuration files with the first file that needs them", () => {
    expect(Object.keys(manifest("host").dependencies ?? {})).toEqual(["jsonc-parser", "smol-toml", "yaml"]);
    for (const [file, text] of sources) {
      if (!file.startsWith("config/")) expect(text).not.toMatch(/"(jsonc-parser|smol-toml|yaml)"/);
      expect(text).not.toMatch(/^import (?!type\b).*"(jsonc-parser|smol-toml|yaml)"/m);
    }
  });
});

test("only packages of this repository that are released with the library import portolan/internal", () => {
  const allowed = /^packages\/host\//;
  const users = ["packages", "examples", "docs", "test", "bench"].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: "utf8" })
      .map((file) => `${name}/${file.split(sep).join("/")}`)
      .filter((file) => /\.(ts|mjs|md)$/.test(file) && !/node_modules|\/dist\/|architecture\.test/.test(file))
      .filter((file) => /["']portolan\/internal["']/.test(readFileSync(join(root, file), "utf8"))),
  );
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((file) => !allowed.test(file))).toEqual([]);
});
