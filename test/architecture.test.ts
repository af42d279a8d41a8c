import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
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
// An entry may name another one without taking anything from it, so that a compiler finds the names of types there.
const imports = (file: string) =>
  [
    ...read(file)
      .replace(/^export type \{\} from .*$/gm, "")
      .matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g),
  ].map((match) => match[1]!);
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

test("OpenTelemetry is an optional peer, which only otel imports", () => {
  const { peerDependencies, peerDependenciesMeta } = manifest("portolan");
  expect(peerDependencies).toEqual({ "@opentelemetry/api": "^1.9.0" });
  expect(peerDependenciesMeta).toEqual({ "@opentelemetry/api": { optional: true } });
  for (const file of files) if (!file.startsWith("otel/")) expect(imports(file)).not.toContain("@opentelemetry/api");
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

/** A module and what it imports and exports, by plain text: the formatter keeps the forms few. */
interface Module {
  readonly file: string;
  readonly text: string;
}

const packages = [
  "portolan",
  "host",
  "cli",
  "authority",
  "check",
  "console",
  ...readdirSync(join(root, "packages/servers"))
    .filter((name) => !name.includes("."))
    .map((name) => `servers/${name}`),
];

const modulesOf = (name: string): Module[] => {
  const folder = join(root, "packages", name, "src");
  return sourcesIn(folder).map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));
};

describe.each(packages)("the package %s", (name) => {
  const modules = modulesOf(name);

  test("exports each type under a name of its own", () => {
    const declared = new Map<string, string[]>();
    for (const { file, text } of modules) {
      for (const [, type = ""] of text.matchAll(
        /^export (?:declare )?(?:abstract )?(?:interface|type|class) ([A-Z]\w*)/gm,
      )) {
        declared.set(type, [...(declared.get(type) ?? []), file]);
      }
    }
    expect([...declared].filter(([, where]) => where.length > 1)).toEqual([]);
  });

  test("has no cycle of value imports", () => {
    expect(findCycle(modules)).toBeUndefined();
  });

  test("has a README in each folder with more than eight files, of at most 30 lines below the package's own", () => {
    const folder = join(root, "packages", name, "src");
    const counts = new Map<string, number>();
    for (const { file } of modules) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    const missing = [...counts].filter(([inner, count]) => {
      if (count <= 8) return false;
      const readme = join(folder, inner, "README.md");
      if (!existsSync(readme)) return inner !== "." || !existsSync(join(folder, "../README.md"));
      return readFileSync(readme, "utf8").trimEnd().split("\n").length > 30;
    });
    expect(missing).toEqual([]);
  });

  test("has READMEs that name each folder beside them", () => {
    const folder = join(root, "packages", name, "src");
    const unnamed = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => basename(file) === "README.md")
      .flatMap((readme) => {
        const text = readFileSync(join(folder, readme), "utf8");
        return readdirSync(join(folder, dirname(readme)), { withFileTypes: true })
          .filter((entry) => entry.isDirectory() && !text.includes(`${entry.name}/`))
          .map((entry) => join(dirname(readme), entry.name));
      });
    expect(unnamed).toEqual([]);
  });
});

/** The first cycle among modules that import each other's values when they are loaded. */
function findCycle(modules: readonly Module[]): string[] | undefined {
  const targets = new Map(
    modules.map(({ file, text }) => [
      file,
      [...text.matchAll(/^(?:import|export)\s+(?!type\b)([^;]*?)from\s+"(\.[^"]+)"/gm)]
        .filter(([, names = ""]) => !/^\{(?:\s*type\s[^,}]+,?)+\s*\}\s*$/.test(names.trim()))
        .map(([, , target = ""]) => join(dirname(file), target).split(sep).join("/")),
    ]),
  );
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const target of targets.get(file) ?? []) {
      const found = visit(target, [...path, file]);
      if (found) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const { file } of modules) {
    const found = visit(file, []);
    if (found) return found;
  }
  return undefined;
}

describe.each(["portolan", "host"])("the public entries of %s", (name) => {
  test("export no name with two meanings", async () => {
    const folder = join(root, "packages", name);
    const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const origins = new Map<string, Set<string>>();
    for (const [entry, { default: file }] of Object.entries<{ default?: string }>(exports)) {
      if (file === undefined || entry === "./internal") continue;
      const source = file.replace("./dist/", "").replace(/\.js$/, ".ts");
      for (const [exported, origin] of exportsOf(join(folder, "src"), source)) {
        origins.set(exported, (origins.get(exported) ?? new Set()).add(origin));
      }
    }
    expect(origins.size).toBeGreaterThan(50);
    expect(
      [...origins]
        .filter(([exported, from]) => from.size > 1 && !halves.includes(exported))
        .map(([exported, from]) => [exported, ...from]),
    ).toEqual([]);
  });
});

/** The two halves of an extension have its name, one for servers and one for clients. */
const halves: readonly string[] = ["skills", "tasks"];

/** The names that a module exports, and the file and name where each is declared. */
function exportsOf(folder: string, file: string): Map<string, string> {
  const text = readFileSync(join(folder, file), "utf8");
  const found = new Map<string, string>();
  const declaration =
    /^export (?:declare )?(?:abstract |async )?(?:interface|type|class|function\*?|const|let) (\w+)/gm;
  for (const [, exported = ""] of text.matchAll(declaration)) found.set(exported, `${file}#${exported}`);
  for (const [, names = "", target] of text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from "([^"]+)")?/gm)) {
    for (const part of names.split(",")) {
      const [local = "", exported = local] = part
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      if (local === "") continue;
      found.set(exported, originOf(folder, file, text, local, target));
    }
  }
  for (const [, target = ""] of text.matchAll(/^export (?:type )?\* from "(\.[^"]+)"/gm)) {
    for (const [exported, origin] of exportsOf(folder, join(dirname(file), target))) found.set(exported, origin);
  }
  return found;
}

function originOf(folder: string, file: string, text: string, local: string, target: string | undefined): string {
  const imported = new RegExp(`^import (?:type )?\\{[^}]*\\b${local}\\b[^}]*\\} from "([^"]+)"`, "m").exec(text)?.[1];
  const from = target ?? imported;
  if (from === undefined) return `${file}#${local}`;
  if (!from.startsWith(".")) return `${from}#${local}`;
  return exportsOf(folder, join(dirname(file), from)).get(local) ?? `${from}#${local}`;
}

test("numeric JSON-RPC error codes stand in protocol/ and jsonrpc/ only", () => {
  const found = ["portolan", "host", "cli", "authority"]
    .flatMap((name) => modulesOf(name).map(({ file, text }) => ({ file: `${name}/${file}`, text })))
    .filter(({ file }) => !/^portolan\/(protocol|jsonrpc)\//.test(file))
    .filter(({ text }) => /(?<![\w.])-3[12]_?\d{3}\b/.test(withoutComments(text)));
  expect(found.map(({ file }) => file)).toEqual([]);
});
