import { PortolanError } from "portolan";
import type { ConfigFormat, ConfigLevel, ConfigScope, ParsedConfig, RawEntry } from "./configured.ts";
import { type Convention, conventionOf, conventions, portableProduct, recognise } from "./conventions.ts";
import { type EntryOrigin, readEntry } from "./entries.ts";
import { readInputs } from "./inputs.ts";
import { readJson } from "./json.ts";
import { limits } from "./limits.ts";
import { readBundle, readPackage } from "./packages.ts";
import { malformedAt, tooMuch } from "./text.ts";
import { readToml } from "./toml.ts";
import { type Content, isTable, kindOf, type Path, printPath, type Table, toTable, valueAt } from "./value.ts";
import { readYaml } from "./yaml.ts";

/** What is known of a text beside itself. */
export interface ParseOptions {
  /** Its file, as it is to be named in messages and trust decisions; mostly says whose convention it follows. */
  readonly file: string;
  readonly format?: ConfigFormat;
  /** Whose convention it follows, where its name does not say so. */
  readonly product?: string;
  /** Whose file it is; a project's unless said, since anybody may give a file a name. */
  readonly scope?: ConfigScope;
  /** Folders whose own servers are wanted, from a file that keeps them for many; the first wins. */
  readonly projectPath?: string | readonly string[];
}

/** Every server of a text in any convention; a text that cannot be read at all is one error that says where. */
export async function parseConfig(text: string, options: ParseOptions): Promise<ParsedConfig> {
  const { file } = options;
  const named = nameConvention(options);
  const format = options.format ?? formatOf(file) ?? named?.convention.format ?? "json";
  const content = await readContent(text, format, file);
  const { value } = content;
  if (!isTable(value)) throw malformedAt(file, 1, 1, `expected an object, got ${kindOf(value)}`);
  const convention = named?.convention ?? guess(value, file);
  const level = options.scope ?? "project";
  const parsed = { file, product: convention?.product ?? portableProduct, format };
  if (!convention) return { ...parsed, servers: [], notes: [] };
  const servers = [
    ...readProjects(content, convention, options),
    ...readServers(content, value, convention, file, level),
  ];
  const notes = servers.length === 0 ? hintAt(value, convention, file) : [];
  return { ...parsed, servers, notes };
}

/** The convention that a product or the name of a file says. */
export function nameConvention({
  product,
  file,
}: Pick<ParseOptions, "product" | "file">): ReturnType<typeof recognise> {
  const recognised = recognise(file);
  if (product === undefined) return recognised;
  const convention = conventionOf(product);
  if (!convention) {
    const known = conventions.map((one) => one.product).join(", ");
    throw new PortolanError("invalid-argument", `product: expected one of ${known}, got ${JSON.stringify(product)}`);
  }
  return recognised?.convention === convention ? recognised : { convention };
}

const extensions: { readonly [extension: string]: ConfigFormat } = {
  json: "json",
  jsonc: "json",
  toml: "toml",
  yaml: "yaml",
  yml: "yaml",
};

/** What a file is written in by its name. */
export function formatOf(file: string): ConfigFormat | undefined {
  return extensions[file.split(".").at(-1)?.toLowerCase() ?? ""];
}

/** Whose convention this is by what is in it; an empty file is nobody's. */
export function guess(content: Table, file: string): Convention | undefined {
  const found = conventions.find((convention) => convention.isLike?.(content));
  if (found || Object.keys(content).length === 0) return found;
  throw new PortolanError("invalid-argument", `${file}: expected servers, for example below "mcpServers", got none`);
}

/** The servers that a user's file keeps for single projects. */
function readProjects(content: Content, convention: Convention, options: ParseOptions): readonly RawEntry[] {
  const { projectsAt } = convention;
  const projects = projectsAt && valueAt(content.value, projectsAt.projects);
  if (!projectsAt || !isTable(projects)) return [];
  return [options.projectPath ?? []].flat().flatMap((wanted) => {
    const name = Object.keys(projects).find((path) => comparable(path) === comparable(wanted));
    if (name === undefined) return [];
    const at = [...projectsAt.projects, name, ...projectsAt.servers];
    return readAt(content, at, convention, {
      file: options.file,
      scope: scopeOf(options.scope ?? "project"),
      level: "local",
    });
  });
}

/** Windows knows a folder by several spellings. */
function comparable(path: string): string {
  const plain = path.replaceAll("\\", "/").replace(/(?<=.)\/+$/, "");
  return /^[A-Za-z]:/.test(plain) ? plain.toLowerCase() : plain;
}

function readServers(
  content: Content,
  value: Table,
  convention: Convention,
  file: string,
  level: ConfigScope,
): readonly RawEntry[] {
  const whose: Whose = { file, scope: scopeOf(level), level };
  const nobody = { name: "", path: [], convention, inputs: new Map(), ...whose };
  if (convention.describes === "bundle") return [readBundle(value, nobody)];
  if (convention.describes === "package") {
    checkCount(convention.at.flatMap((at) => valueAt(value, at) ?? []).length, file);
    return readPackage(value, nobody);
  }
  return convention.at.flatMap((at) => readAt(content, at, convention, whose));
}

/** Whether a project brings it along: an administrator's file is as much a user's as their own. */
function scopeOf(level: ConfigScope): "project" | "user" {
  return level === "project" ? "project" : "user";
}

interface Whose {
  readonly file: string;
  readonly scope: "project" | "user";
  readonly level: ConfigLevel;
}

function readAt(content: Content, at: Path, convention: Convention, whose: Whose): readonly RawEntry[] {
  const found = valueAt(content.value, at);
  if (found === undefined || found === null) return [];
  const items = convention.isList ? listed(found) : tabled(found);
  if (!items) {
    const expected = convention.isList ? "a list" : "an object";
    const reason = `${printPath(at)}: expected ${expected} of servers, got ${kindOf(found)}`;
    throw new PortolanError("invalid-argument", `${whose.file}: ${reason}; correct the file`);
  }
  checkCount(items.length, whose.file);
  const inputs = readInputs(content.value, convention.inputsAt, whose.file);
  return items.map(({ name, key, value }) => {
    const path = [...at, key];
    const repeated = content.repeated.find((one) => startsWith(one, path) || startsWith(path, one));
    const origin: EntryOrigin = { name, path, convention, inputs, ...whose, ...(repeated ? { repeated } : {}) };
    return readEntry(value, origin);
  });
}

function checkCount(count: number, file: string): void {
  if (count > limits.servers) throw tooMuch(file, `expected at most ${limits.servers} servers, got ${count}`);
}

interface Item {
  readonly name: string;
  readonly key: string | number;
  readonly value: unknown;
}

function tabled(found: unknown): readonly Item[] | undefined {
  if (!isTable(found)) return undefined;
  return Object.entries(found).map(([name, value]) => ({ name, key: name, value }));
}

function listed(found: unknown): readonly Item[] | undefined {
  if (!Array.isArray(found)) return undefined;
  return found.map((value, key) => {
    const name = isTable(value) && typeof value["name"] === "string" ? value["name"] : "";
    return { name, key, value };
  });
}

function startsWith(path: Path, start: Path): boolean {
  return start.length <= path.length && start.every((name, index) => path[index] === name);
}

/** For a file without servers where its product looks, but with some where another does. */
function hintAt(content: Table, convention: Convention, file: string): readonly string[] {
  const isHere = convention.at.some((at) => valueAt(content, at) !== undefined);
  const other = ["mcpServers", "servers"].find((name) => isTable(content[name]));
  if (isHere || other === undefined) return [];
  const expected = printPath(convention.at[0] ?? []);
  return [`${file}: has "${other}", but ${convention.product} reads its servers from "${expected}"`];
}

const readers = { json: readJson, toml: readToml, yaml: readYaml };

/** Reads a text; nothing at all is an empty object, as every product takes it. */
export async function readContent(text: string, format: ConfigFormat, file: string): Promise<Content> {
  if (text.length > limits.fileBytes) throw tooMuch(file, `expected at most ${limits.fileBytes} bytes`);
  const plain = withoutMark(text);
  if (plain.trim() === "") return { value: toTable([]), repeated: [] };
  return await readers[format](plain, file);
}

/** A text without the mark of byte order that some editors begin it with. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
