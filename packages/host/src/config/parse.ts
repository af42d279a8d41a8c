import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import type { ConfigFormat, ConfigLevel, ConfigScope, ParsedConfig, RawEntry } from "./configured.ts";
import { type Convention, conventionOf, conventions, portableProduct, recognise } from "./conventions.ts";
import { type EntryOrigin, readEntry } from "./entries.ts";
import { readInputs } from "./inputs.ts";
import { readJson } from "./json.ts";
import { maxFileBytes, maxServers } from "./limits.ts";
import { readBundle, readPackage } from "./packages.ts";
import { limitReached, malformedAt } from "./text.ts";
import { readToml } from "./toml.ts";
import { type Content, isTable, kindOf, type Path, printPath, type Table, toTable, valueAt } from "./value.ts";
import { readYaml } from "./yaml.ts";

/** Facts about a text that the text itself does not have. */
export interface ParseOptions {
  /** The file name in messages and trust decisions. Usually it also determines the product. */
  readonly file: string;
  /** The format of the file. Default: determined from its name. */
  readonly format?: ConfigFormat;
  /** The product whose convention the file follows. Default: determined from the file name, then from the content. */
  readonly product?: string;
  /** Default: "project", the least trusted, because a file name proves nothing. */
  readonly scope?: ConfigScope;
  /** Project folders whose servers are read from a user file that has servers per project. The first one wins. */
  readonly projectPath?: string | readonly string[];
}

const parseOptionNames: OptionNames<ParseOptions> = { file: 1, format: 1, product: 1, scope: 1, projectPath: 1 };

/**
 * Parses the servers of a configuration file of any known product. Rejects with the position if the syntax is invalid.
 */
export async function parseConfig(text: string, options: ParseOptions): Promise<ParsedConfig> {
  checkOptions(options, parseOptionNames, "parseConfig");
  const { file } = options;
  const named = findConvention(options);
  const format = options.format ?? formatOf(file) ?? named?.convention.format ?? "json";
  const content = await readContent(text, format, file);
  const { value } = content;
  if (!isTable(value)) throw malformedAt(file, 1, 1, `expected an object, got ${kindOf(value)}`);
  const convention = named?.convention ?? guessConvention(value, file);
  const level = options.scope ?? "project";
  const parsed = { file, product: convention?.product ?? portableProduct, format };
  if (!convention) return { ...parsed, servers: [], notes: [] };
  const servers = [
    ...readProjects(content, convention, options),
    ...readServers(content, value, convention, file, level),
  ];
  const notes = servers.length === 0 ? hintAtOtherMember(value, convention, file) : [];
  return { ...parsed, servers, notes };
}

/** Returns the convention of the given product, or else the one that the file name belongs to. */
export function findConvention({
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

/** Returns the format that a file name implies. */
export function formatOf(file: string): ConfigFormat | undefined {
  return extensions[file.split(".").at(-1)?.toLowerCase() ?? ""];
}

/** Returns the convention that the content matches; undefined for an empty file. */
export function guessConvention(content: Table, file: string): Convention | undefined {
  const found = conventions.find((convention) => convention.matches?.(content));
  if (found || Object.keys(content).length === 0) return found;
  throw new PortolanError(
    "invalid-argument",
    `${file}: expected servers, for example below "mcpServers", got none; add a server or name another file`,
  );
}

/** Reads the servers that a user's file has for single projects. */
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

/** Normalizes a path, because Windows accepts several spellings of one folder. */
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
  const from: FileOrigin = { file, scope: scopeOf(level), level };
  const fileOrigin = { name: "", path: [], convention, inputs: new Map(), ...from };
  if (convention.describes === "bundle") return [readBundle(value, fileOrigin)];
  if (convention.describes === "package") {
    checkCount(convention.at.flatMap((at) => valueAt(value, at) ?? []).length, file);
    return readPackage(value, fileOrigin);
  }
  return convention.at.flatMap((at) => readAt(content, at, convention, from));
}

/** Returns the scope for trust decisions. A managed file is trusted like the user's own. */
function scopeOf(level: ConfigScope): "project" | "user" {
  return level === "project" ? "project" : "user";
}

interface FileOrigin {
  readonly file: string;
  readonly scope: "project" | "user";
  readonly level: ConfigLevel;
}

function readAt(content: Content, at: Path, convention: Convention, from: FileOrigin): readonly RawEntry[] {
  const found = valueAt(content.value, at);
  if (found === undefined || found === null) return [];
  const items = convention.isList ? itemsOfList(found) : itemsOfTable(found);
  if (!items) {
    const expected = convention.isList ? "a list" : "an object";
    const reason = `${printPath(at)}: expected ${expected} of servers, got ${kindOf(found)}`;
    throw new PortolanError("invalid-argument", `${from.file}: ${reason}; correct the file`);
  }
  checkCount(items.length, from.file);
  const inputs = readInputs(content.value, convention.inputsAt, from.file);
  return items.map(({ name, key, value }) => {
    const path = [...at, key];
    const duplicates = content.duplicates.find((one) => startsWith(one, path) || startsWith(path, one));
    const origin: EntryOrigin = { name, path, convention, inputs, ...from, ...(duplicates ? { duplicates } : {}) };
    return readEntry(value, origin);
  });
}

function checkCount(count: number, file: string): void {
  if (count > maxServers) throw limitReached(file, `expected at most ${maxServers} servers, got ${count}`);
}

interface Item {
  readonly name: string;
  readonly key: string | number;
  readonly value: unknown;
}

function itemsOfTable(found: unknown): readonly Item[] | undefined {
  if (!isTable(found)) return undefined;
  return Object.entries(found).map(([name, value]) => ({ name, key: name, value }));
}

function itemsOfList(found: unknown): readonly Item[] | undefined {
  if (!Array.isArray(found)) return undefined;
  return found.map((value, key) => {
    const name = isTable(value) && typeof value["name"] === "string" ? value["name"] : "";
    return { name, key, value };
  });
}

function startsWith(path: Path, start: Path): boolean {
  return start.length <= path.length && start.every((name, index) => path[index] === name);
}

/** Returns a note if the servers are below a member that another product uses. */
function hintAtOtherMember(content: Table, convention: Convention, file: string): readonly string[] {
  const isHere = convention.at.some((at) => valueAt(content, at) !== undefined);
  const other = ["mcpServers", "servers"].find((name) => isTable(content[name]));
  if (isHere || other === undefined) return [];
  const expected = printPath(convention.at[0] ?? []);
  return [`${file}: has "${other}", but ${convention.product} reads its servers from "${expected}"; rename the member`];
}

const readers = { json: readJson, toml: readToml, yaml: readYaml };

/** Parses a text. An empty text is an empty object, as in every product. */
export async function readContent(text: string, format: ConfigFormat, file: string): Promise<Content> {
  if (text.length > maxFileBytes) throw limitReached(file, `expected at most ${maxFileBytes} bytes, got more`);
  const plain = withoutByteOrderMark(text);
  if (plain.trim() === "") return { value: toTable([]), duplicates: [] };
  return await readers[format](plain, file);
}

/** Removes the byte order mark that some editors write. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
