// Tables and lists of the documents, compared with the code.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

describe("docs/errors.md", () => {
  const union = read("packages/portolan/src/errors.ts").match(/export type PortolanErrorCode =([^;]+);/)?.[1] ?? "";
  const codes = [...union.matchAll(/"([a-z-]+)"/g)].map(([, code = ""]) => code);
  const sections = new Map(
    read("docs/errors.md")
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.match(/^`([^`]+)`/)?.[1] ?? "", section]),
  );

  test("has a section for each code, and no other", () => {
    expect(codes.length).toBeGreaterThan(20);
    expect([...sections.keys()]).toEqual(codes);
  });

  test.each(codes)("explains %s with its cause, an example and a fix", (code) => {
    const [, cause = "", ...rest] = (sections.get(code) ?? "").split("\n\n");
    expect(cause.length).toBeGreaterThan(30);
    expect(rest.join("\n")).toMatch(/^- \*\*Example:\*\* .{10,}[\s\S]*^- \*\*Fix:\*\* .{10,}/m);
  });

  const sources = ["portolan", "host"].flatMap((name) => {
    const folder = `packages/${name}/src`;
    const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    return files
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .map((file) => `${folder}/${file}`);
  });
  const code = sources.map(read).join("\n");
  const examples = [...sections].flatMap(([name, section]) => {
    const [, example] = /- \*\*Example:\*\* `([^`]+)`/.exec(section) ?? [];
    return example === undefined ? [] : [[name, example.replace(/\n\s*/g, " ")] as const];
  });

  test("has an example of the message for nearly every code", () => {
    expect(examples.length).toBeGreaterThanOrEqual(codes.length - 2);
  });

  test.each(examples)("quotes a message of the code for %s", (_, example) => {
    // Names, addresses and numbers differ from call to call: of the words between them, most pairs must stand in the code.
    const runs = example.split(/"[^"]*"|\S*[\d/]\S*/).map((run) => run.split(" ").filter((word) => /\w/.test(word)));
    const pairs = runs.flatMap((words) => words.slice(1).map((word, at) => `${words[at]} ${word}`));
    const groups = pairs.length > 0 ? pairs : runs.flat();
    expect(groups.length).toBeGreaterThan(0);
    const unknown = groups.filter((group) => !code.includes(group));
    expect(unknown.length, `not in the code: ${unknown.join(" · ")}`).toBeLessThanOrEqual(groups.length / 3);
  });
});

test("the glossary has at most forty terms, each once, in alphabetical order", () => {
  const terms = [...read("docs/glossary.md").matchAll(/^\| \*\*([^*]+)\*\*/gm)].map(([, term = ""]) => term);
  expect(terms.length).toBeGreaterThan(20);
  expect(terms.length).toBeLessThanOrEqual(40);
  expect(terms).toEqual([...new Set(terms)].sort());
});

describe("the table of changes in CONTRIBUTING.md", () => {
  const table = read("CONTRIBUTING.md").split("| change")[1]?.split("\n\n")[0] ?? "";
  const rows = table.split("\n").slice(2);
  const changes = rows.map((row) => {
    const [, change = "", files = ""] = row.split("|").map((cell) => cell.trim());
    return [change, [...files.matchAll(/`([^`]*[/.][^`]*)`/g)].map(([, file = ""]) => file)] as const;
  });

  test("has the twelve changes that newcomers make", () => {
    expect(changes.map(([change]) => change).filter((change) => change !== "")).toHaveLength(12);
  });

  test.each(changes.filter(([change]) => change !== ""))("names files for %s that exist", (_, files) => {
    expect(files.length).toBeGreaterThan(0);
    const places = (file: string) => [file, `packages/portolan/src/${file}`];
    expect(files.filter((file) => !places(file).some((place) => existsSync(join(root, place))))).toEqual([]);
  });
});

describe("files that ARCHITECTURE.md names", () => {
  const page = read("ARCHITECTURE.md");
  const named = [...page.matchAll(/`((?:test\/)?[a-z0-9#/-]+(?:\.ts|\/)|test\/[a-z-]+)`/g)].map(
    ([, file = ""]) => file,
  );

  test.each([...new Set(named)])("%s exists", (file) => {
    const places = [`packages/portolan/src/${file}`, `packages/host/src/${file.replace(/^host\//, "")}`, file];
    // A name without a folder stands for a file of the folder that the sentence is about.
    if (!file.includes("/")) return expect(findByName(file)).toBe(true);
    expect(places.some((place) => existsSync(join(root, place)))).toBe(true);
  });
});

describe("SECURITY.md", () => {
  const files = ["packages", "packages/servers"]
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}/src`))
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
    )
    .filter((file) => file.endsWith("/limits.ts"));
  const tables = new Map(
    read("SECURITY.md")
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.match(/^Source: `([^`]+)`$/m)?.[1] ?? section, section]),
  );

  test("has a table for each limits.ts, and no other", () => {
    expect(files.length).toBeGreaterThan(5);
    expect([...tables.keys()].sort()).toEqual(files.sort());
  });

  test.each(files)("lists every constant of %s with its value, and no other", async (file) => {
    const rows = (tables.get(file) ?? "").matchAll(/^\| `([^`]+)` *\| *([\d.]+) *\|/gm);
    const listed = [...rows].map(([, name, value]) => [name, Number(value)]);
    expect(new Map(listed as [string, number][])).toEqual(new Map(numbersIn(await import(join(root, file)))));
  });
});

/** Returns the numbers that a module exports, also those in objects, by name. */
function numbersIn(exported: object): [string, number][] {
  return Object.entries(exported).flatMap(([name, value]): [string, number][] => {
    if (typeof value === "number") return [[name, value]];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return numbersIn(value).map(([member, number]) => [`${name}.${member}`, number]);
  });
}

function findByName(name: string): boolean {
  return ["packages/portolan/src", "packages/host/src", "packages/cli/src"].some((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).some(
      (file) => file === name || file.endsWith(`/${name}`),
    ),
  );
}
