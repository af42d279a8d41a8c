import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { expect, test } from "vitest";
import { drawLayers, layers } from "./layers.ts";

const root = join(import.meta.dirname, "..");
const source = join(root, "packages/portolan/src");
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .map((file) => file.split(sep).join("/"))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
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
  const allowed = [layer, "errors", "async", ...layers[layer]!];
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

test("the library depends on what authorization, configuration and the command are built on, and on nothing else", () => {
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, "packages/portolan/package.json"), "utf8"));
  expect(Object.keys(dependencies)).toEqual(["jiti", "jose", "jsonc-parser", "oauth4webapi", "smol-toml", "yaml"]);
  for (const file of files) {
    if (!file.startsWith("auth/")) expect(read(file)).not.toMatch(/from "(jose|oauth4webapi)"/);
    if (!file.startsWith("host/config/")) expect(read(file)).not.toMatch(/"(jsonc-parser|smol-toml|yaml)"/);
    expect(read(file)).not.toMatch(/"jiti"/);
  }
});

test("the readers of configuration files are loaded only with the first file that needs them", () => {
  for (const file of files) expect(read(file)).not.toMatch(/^import (?!type\b).*"(jsonc-parser|smol-toml|yaml)"/m);
});
