import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import { canonicalJson } from "portolan/storage";
import type { ServerEntry, ServerSettings } from "../options.ts";
import { type ConfigFormat, type ConfiguredOAuth, isConfigured } from "./configured.ts";
import { type Convention, conventionOf, portableProduct } from "./conventions.ts";
import { editJson } from "./json.ts";
import { findConvention, formatOf, guessConvention, readContent, withoutByteOrderMark } from "./parse.ts";
import { printParts, readParts, type Syntax } from "./placeholders.ts";
import type { Names, Shape } from "./shapes.ts";
import { editToml } from "./toml.ts";
import { isTable, type Path, printPath, type Table, toTable, valueAt } from "./value.ts";
import { editYaml } from "./yaml.ts";

/** Facts about the text that is edited. */
export interface EditOptions {
  /** The name of the file. Usually it determines the product. */
  readonly file: string;
  /** The format of the file. Default: determined from its name. */
  readonly format?: ConfigFormat;
  /** The product whose convention the file follows. Default: determined from its name. */
  readonly product?: string;
}

const editOptionNames: OptionNames<EditOptions> = { file: 1, format: 1, product: 1 };
const editors = { json: editJson, toml: editToml, yaml: editYaml };

/**
 * Adds, replaces or removes one server in the text of a configuration file. Keeps comments, order and layout of the
 * rest.
 */
export async function editConfig(
  text: string,
  options: EditOptions,
  name: string,
  entry: ServerEntry | undefined,
): Promise<string> {
  checkOptions(options, editOptionNames, "editConfig");
  const { file } = options;
  const named = findConvention(options)?.convention;
  const format = options.format ?? formatOf(file) ?? named?.format ?? "json";
  const plain = withoutByteOrderMark(text);
  const before = await readTable(plain, format, file);
  const convention = named ?? guessConvention(before, file) ?? conventionOf(portableProduct);
  if (!convention || convention.describes) throw uneditable(file, "it describes a package and does not list servers");
  const at = convention.at[0] ?? [];
  const place = placeOf(before, at, convention, name);
  const old = place && valueAt(before, place);
  if (!entry && !place) return text;
  const value = entry && toMembers(entry, convention, isTable(old) ? old : undefined);
  const edited = await editors[format](plain, at.map(String), name, value, file, convention.isList === true);
  await check(edited, before, { at, name, value, format, file, convention });
  return text.slice(0, text.length - plain.length) + edited;
}

async function readTable(text: string, format: ConfigFormat, file: string): Promise<Table> {
  const { value } = await readContent(text, format, file);
  if (!isTable(value)) throw uneditable(file, "expected an object");
  return value;
}

/** Returns the path of the server with this name. */
function placeOf(content: Table, at: Path, convention: Convention, name: string): Path | undefined {
  const servers = valueAt(content, at);
  if (convention.isList) {
    const index = Array.isArray(servers) ? servers.findIndex((one) => isTable(one) && one["name"] === name) : -1;
    return index === -1 ? undefined : [...at, index];
  }
  return isTable(servers) && servers[name] !== undefined ? [...at, name] : undefined;
}

interface Edit {
  readonly at: Path;
  readonly name: string;
  readonly value: Table | undefined;
  readonly format: ConfigFormat;
  readonly file: string;
  readonly convention: Convention;
}

/**
 * Parses the result and throws unless only this server has changed. Files can use notations that the editor does not
 * expect.
 */
async function check(
  edited: string,
  before: Table,
  { at, name, value, format, file, convention }: Edit,
): Promise<void> {
  const after = await readTable(edited, format, file).catch((cause: unknown) => {
    throw uneditable(file, "the edited file would not be valid", cause);
  });
  const place = placeOf(after, at, convention, name);
  const found = place && valueAt(after, place);
  const wanted = value && convention.isList ? toTable([["name", name], ...Object.entries(value)]) : value;
  const isWritten = canonicalJson(found ?? null) === canonicalJson(wanted ?? null);
  const rest = (content: Table) => canonicalJson(without(content, at, name));
  if (!isWritten || rest(before) !== rest(after)) {
    throw uneditable(file, `${printPath([...at, name])} cannot be changed without changing other parts of the file`);
  }
}

/** Returns the content without one server. An empty list of servers counts as no list. */
function without(content: unknown, at: Path, name: string): object | null {
  const [next, ...rest] = at;
  if (next === undefined) {
    if (Array.isArray(content)) return content.filter((one) => !(isTable(one) && one["name"] === name));
    if (!isTable(content)) return null;
    const others = Object.entries(content).filter(([one]) => one !== name);
    return others.length > 0 ? toTable(others) : null;
  }
  if (!isTable(content)) return null;
  const inner = without(content[next], rest, name);
  const members = Object.entries(content).filter(([one]) => one !== next);
  const isEmpty = inner === null || Object.keys(inner).length === 0;
  return toTable(isEmpty ? members : [...members, [String(next), inner]]);
}

function uneditable(file: string, reason: string, cause?: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${file}: ${reason}; edit it by hand`, { cause });
}

/** Returns the members of an entry in the convention of a product. Unknown members of the old entry stay. */
function toMembers(entry: ServerEntry, convention: Convention, old: Table | undefined): Table {
  const { shape } = convention;
  const fresh = new Map([...targetMembers(entry, convention), ...settingMembers(entry, convention)]);
  const owned = ownedNames(shape);
  const kept = Object.entries(old ?? {}).flatMap(([name, value]): [string, unknown][] => {
    if (!owned.has(name)) return [[name, value]];
    // Members keep their order, so that a diff shows only the change.
    return fresh.has(name) ? [[name, fresh.get(name)]] : [];
  });
  return toTable([...kept, ...fresh]);
}

function targetMembers(entry: ServerEntry, convention: Convention): [string, unknown][] {
  const { shape } = convention;
  const { configured } = entry;
  const { print, variableIn } = translator(entry, convention);
  if ("open" in configured) throw unwritable(entry, "its transport is opened by code");
  const type = typeMember(shape, "command" in configured ? "command" : configured.legacySse ? "sse" : "http");
  if ("url" in configured) {
    const isSse = configured.legacySse === true && shape.sseUrl !== undefined;
    return [
      ...type,
      ...named(isSse ? shape.sseUrl : shape.url, print(configured.url)),
      ...headerMembers(entry, convention),
    ];
  }
  const args = (configured.args ?? []).map(print);
  const command = print(configured.command);
  const variables = Object.entries(configured.env ?? {});
  const passed = shape.forwardedEnv ? variables.filter(([name, value]) => variableIn(value) === name) : [];
  const env = variables.filter((pair) => !passed.includes(pair)).map(([name, value]) => [name, print(value)] as const);
  return [
    ...type,
    ...named(shape.command, shape.commandIsList ? [command, ...args] : command),
    ...(args.length > 0 && !shape.commandIsList ? named(shape.args, args) : []),
    ...(env.length > 0 ? named(shape.env, toTable(env)) : []),
    ...(passed.length > 0
      ? named(
          shape.forwardedEnv,
          passed.map(([name]) => name),
        )
      : []),
    ...(configured.cwd === undefined ? [] : named(shape.cwd, print(configured.cwd))),
  ];
}

function headerMembers(entry: ServerEntry, convention: Convention): [string, unknown][] {
  const { shape } = convention;
  const { print, variableIn } = translator(entry, convention);
  const plain: [string, string][] = [];
  const fromVariables: [string, string][] = [];
  let bearer: string | undefined;
  for (const [name, value] of Object.entries("url" in entry.configured ? (entry.configured.headers ?? {}) : {})) {
    const variable = shape.headerVariables && variableIn(value);
    const token = shape.bearerVariable && name === "Authorization" ? variableIn(value, "Bearer ") : undefined;
    if (token !== undefined) bearer = token;
    else if (variable !== undefined) fromVariables.push([name, variable]);
    else plain.push([name, print(value)]);
  }
  const lines = plain.map(([name, value]) => `${name}: ${value}`);
  return [
    ...(plain.length > 0 ? named(shape.headers, shape.headersAreLines ? lines : toTable(plain)) : []),
    ...(fromVariables.length > 0 ? named(shape.headerVariables, toTable(fromVariables)) : []),
    ...(bearer === undefined ? [] : named(shape.bearerVariable, bearer)),
  ];
}

function settingMembers(entry: ServerEntry, convention: Convention): [string, unknown][] {
  const { shape } = convention;
  const { print } = translator(entry, convention);
  const { only, except, connectMs, idleMs, era, keepAlive } = entry.settings;
  const { envFile, oauth, roots } = isConfigured(entry) ? entry.raw : {};
  return [
    ...switchMember(entry.settings, shape),
    ...(only ? required(entry, shape.only, only, "the visible tools") : []),
    ...(except ? required(entry, shape.except, except, "the hidden tools") : []),
    ...(connectMs === undefined ? [] : named(shape.connectMs?.names, connectMs / (shape.connectMs?.unitMs ?? 1))),
    ...(idleMs === undefined ? [] : named(shape.idleMs?.names, idleMs / (shape.idleMs?.unitMs ?? 1))),
    ...(era === undefined ? [] : named(shape.era, era)),
    ...(keepAlive === undefined ? [] : named(shape.keepAlive, keepAlive)),
    ...(envFile === undefined ? [] : required(entry, shape.envFile, print(envFile), "an environment file")),
    ...(oauth ? named(shape.oauth, oauthMembers(oauth, shape, print)) : []),
    ...(roots ? named(shape.roots, roots) : []),
  ];
}

function switchMember({ disabled = false }: ServerSettings, shape: Shape): [string, unknown][] {
  if (shape.writesEnabled) return named(shape.enabled, !disabled);
  if (!disabled) return [];
  return shape.disabled?.length ? named(shape.disabled, true) : named(shape.enabled, false);
}

function oauthMembers(oauth: ConfiguredOAuth, { oauthNames }: Shape, print: Translator["print"]): Table {
  const members = Object.entries(oauth);
  return toTable(
    members.map(([name, value]) => [oauthNames?.[name] ?? name, typeof value === "string" ? print(value) : value]),
  );
}

function typeMember(shape: Shape, kind: "command" | "http" | "sse"): [string, unknown][] {
  const [value] = shape.type[kind];
  const isNeeded = shape.writesType || (kind === "sse" && !shape.sseUrl);
  return isNeeded && value !== undefined ? named(shape.type.member, value) : [];
}

function named(names: Names | undefined, value: unknown): [string, unknown][] {
  const name = names?.[0];
  return name === undefined ? [] : [[name, value]];
}

/**
 * Returns a member that restricts the server. Throws if the product has no name for it, because it must not get lost.
 */
function required(entry: ServerEntry, names: Names | undefined, value: unknown, what: string): [string, unknown][] {
  if (!names?.length) throw unwritable(entry, `files of this product have no member for ${what}`);
  return named(names, value);
}

interface Translator {
  /** Converts a string to the notation of the other product. Throws if that has no notation for a placeholder. */
  readonly print: (text: string) => string;
  /** Returns the environment variable that is the whole string after `start`. */
  readonly variableIn: (text: string, start?: string) => string | undefined;
}

function translator(entry: ServerEntry, convention: Convention): Translator {
  const { source } = entry;
  const isOwn = source.kind === "code" || source.product === convention.product;
  const from: Syntax = (source.kind === "code" ? convention : conventionOf(source.product))?.syntax ?? [];
  const to = convention.writes ?? convention.syntax;
  const print = (text: string) => {
    const parts = readParts(text, from);
    const printed = printParts(parts, to);
    if ("unsupported" in printed)
      throw unwritable(entry, `${convention.product} has no notation for ${printed.unsupported}`);
    const isSame = countPlaceholders(readParts(printed.text, to)) === countPlaceholders(parts);
    if (!isSame) throw unwritable(entry, `${convention.product} would read part of its text as a placeholder`);
    return printed.text;
  };
  const variableIn = (text: string, start = "") => {
    const [variable, ...others] = text.startsWith(start) ? readParts(text.slice(start.length), from) : [];
    const isAlone = variable && !("text" in variable) && others.length === 0;
    const placeholder = isAlone ? variable.placeholder : undefined;
    return placeholder?.kind === "env" && placeholder.fallback === undefined ? placeholder.name : undefined;
  };
  return { print: isOwn ? (text) => text : print, variableIn };
}

function countPlaceholders(parts: ReturnType<typeof readParts>): number {
  return parts.filter((part) => !("text" in part)).length;
}

function ownedNames(shape: Shape): ReadonlySet<string> {
  const { type, connectMs, idleMs, command, args, env, cwd, envFile, url, sseUrl, headers, disabled, enabled } = shape;
  const { only, except, era, keepAlive, oauth, roots, forwardedEnv, headerVariables, bearerVariable, nestedIn } = shape;
  const names = [type.member, connectMs?.names, idleMs?.names, command, args, env, cwd, envFile, url, sseUrl, headers];
  const more = [
    disabled,
    enabled,
    only,
    except,
    era,
    keepAlive,
    oauth,
    roots,
    forwardedEnv,
    headerVariables,
    bearerVariable,
    nestedIn,
  ];
  return new Set([...names, ...more].flatMap((one) => one ?? []));
}

function unwritable(entry: ServerEntry, reason: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `server ${JSON.stringify(entry.name)} cannot be written to this file: ${reason}`,
  );
}
