import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const packages = join(import.meta.dirname, "../packages");

/** Where a name is declared. */
interface Declared {
  readonly file: string;
  readonly name: string;
}

const texts = new Map<string, string>();
function read(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, "utf8");
  texts.set(file, text);
  return text;
}

const keywords = "(?:declare )?(?:abstract |async )?(?:interface|type|class|function\\*?|const|let)";

/** Returns what a declaration file exports, and where it is declared. Names of other packages are left out. */
function exportsOf(file: string): Map<string, Declared> {
  const found = new Map<string, Declared>();
  const at = (specifier: string) => exportsOf(join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts")));
  const text = read(file);
  for (const [, name = ""] of text.matchAll(new RegExp(`^export ${keywords} (\\w+)`, "gm"))) {
    found.set(name, { file, name });
  }
  for (const [, names = "", from] of text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from "([^"]+)")?/gm)) {
    const source = from?.startsWith(".") ? at(from) : undefined;
    for (const part of names.split(",")) {
      const [name = "", exported = name] = part
        .trim()
        .replace(/^type /, "")
        .split(" as ");
      const declared = source ? source.get(name) : { file, name };
      if (name !== "" && declared && (source || from === undefined)) found.set(exported, declared);
    }
  }
  for (const [, from = ""] of text.matchAll(/^export (?:type )?\* from "(\.[^"]+)"/gm)) {
    for (const [name, declared] of at(from)) found.set(name, declared);
  }
  return found;
}

/** Returns the text of a declaration, and what stands before it; undefined for a name that the file only imports. */
function declarationOf({ file, name }: Declared): { before: string; text: string } | undefined {
  const text = read(file);
  const start = text.search(new RegExp(`^(?:export )?${keywords} ${name}\\b`, "m"));
  if (start < 0) return undefined;
  const rest = text.slice(start);
  return { before: text.slice(0, start).trimEnd(), text: rest.slice(0, rest.search(/^\}/m) + 1) };
}

/** Returns the exports of all public entries of a package, each once. */
function publicOf(name: string): Declared[] {
  const { exports } = JSON.parse(read(join(packages, name, "package.json"))) as {
    exports: { [entry: string]: { types: string } | string };
  };
  const declared = new Map<string, Declared>();
  for (const target of Object.values(exports)) {
    if (typeof target === "string") continue;
    const file = join(packages, name, target.types);
    expect(existsSync(file)).toBe(true);
    for (const found of exportsOf(file).values()) declared.set(`${found.file}#${found.name}`, found);
  }
  return [...declared.values()];
}

test.each(["portolan", "host", "authority"])("every public export of %s has a comment, which editors show", (name) => {
  const all = publicOf(name);
  expect(all.length).toBeGreaterThan(20);
  const known = all.filter((declared) => declarationOf(declared) !== undefined);
  expect(known.length).toBeGreaterThan(all.length - 5);
  expect(known.filter((declared) => !declarationOf(declared)?.before.endsWith("*/"))).toEqual([]);
});

// What people write: options of each function, and members that they call.
test.each(["portolan", "host", "authority"])("every option of %s has a comment", (name) => {
  const bare = publicOf(name)
    .filter((declared) => /^(Client|Server|Host|Rule|Principal|Exchange|\w+Options|\w+Definition)$/.test(declared.name))
    .flatMap((declared) => {
      const { text = "" } = declarationOf(declared) ?? {};
      const lines = /^(?:export )?(?:declare )?(?:interface|type) /.test(text) ? text.split("\n") : [];
      return lines
        .filter((line, index) => {
          // The first of several forms of a function has the comment for all.
          const [, member] = /^ {4}(?:readonly )?(\w+)\??[:(<]/.exec(line) ?? [];
          const isFirst =
            lines.findIndex((other) => new RegExp(`^ {4}(?:readonly )?${member}\\b`).test(other)) === index;
          return member !== undefined && isFirst && lines[index - 1]?.trim().endsWith("*/") !== true;
        })
        .map((line) => `${declared.name}: ${line.trim()}`);
    });
  expect(bare).toEqual([]);
});
