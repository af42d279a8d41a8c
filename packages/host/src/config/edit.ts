import { PortolanError } from "portolan";
import { canonicalJson } from "portolan/storage";
import type { ServerEntry, ServerSettings } from "../options.ts";
import { type ConfigFormat, type ConfiguredOAuth, isConfigured } from "./configured.ts";
import { type Convention, conventionOf, portableProduct } from "./conventions.ts";
import { editJson } from "./json.ts";
import { formatOf, guess, nameConvention, readContent, withoutMark } from "./parse.ts";
import { printParts, readParts, type Syntax } from "./placeholders.ts";
import type { Names, Shape } from "./shapes.ts";
import { editToml } from "./toml.ts";
import { isTable, type Path, printPath, type Table, toTable, valueAt } from "./value.ts";
import { editYaml } from "./yaml.ts";

/** What is known of the text that is edited. */
export interface EditOptions {
  readonly file: string;
  readonly format?: ConfigFormat;
  readonly product?: string;
}

const editors = { json: editJson, toml: editToml, yaml: editYaml };

/** The text with this server as it is written in the entry, or without it; comments, order and layout of the rest stay. */
export async function editConfig(
  text: string,
  options: EditOptions,
  name: string,
  entry: ServerEntry | undefined,
): Promise<string> {
  const { file } = options;
  const named = nameConvention(options)?.convention;
  const format = options.format ?? formatOf(file) ?? named?.format ?? "json";
  const plain = withoutMark(text);
  const before = await readTable(plain, format, file);
  const convention = named ?? guess(before, file) ?? conventionOf(portableProduct);
  if (!convention || convention.describes) throw uneditable(file, "it describes a server instead of listing some");
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
  if (!isTable(value)) throw uneditable(file, "expected an object in it");
  return value;
}

/** Where the server of this name stands. */
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

/** Reads again what was written: other people's files can be written in ways nobody thought of. */
async function check(
  edited: string,
  before: Table,
  { at, name, value, format, file, convention }: Edit,
): Promise<void> {
  const after = await readTable(edited, format, file).catch((cause: unknown) => {
    throw uneditable(file, "the result could not be read", cause);
  });
  const place = placeOf(after, at, convention, name);
  const found = place && valueAt(after, place);
  const wanted = value && convention.isList ? toTable([["name", name], ...Object.entries(value)]) : value;
  const isThere = canonicalJson(found ?? null) === canonicalJson(wanted ?? null);
  const rest = (content: Table) => canonicalJson(without(content, at, name));
  if (!isThere || rest(before) !== rest(after)) {
    throw uneditable(file, `${printPath([...at, name])} is written in a way that cannot be changed alone`);
  }
}

/** The content without one server; no servers are the same as none mentioned. */
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

/** What a file of this convention says of an entry; members of the old one that mean nothing to us are kept. */
export function toMembers(entry: ServerEntry, convention: Convention, old: Table | undefined): Table {
  const { shape } = convention;
  const written = new Map([...wayMembers(entry, convention), ...settingMembers(entry, convention)]);
  const owned = ownedNames(shape);
  const kept = Object.entries(old ?? {}).flatMap(([name, value]): [string, unknown][] => {
    if (!owned.has(name)) return [[name, value]];
    // In its old place, so that a reader sees what has changed.
    return written.has(name) ? [[name, written.get(name)]] : [];
  });
  return toTable([...kept, ...written]);
}

function wayMembers(entry: ServerEntry, convention: Convention): [string, unknown][] {
  const { shape } = convention;
  const { configured: written } = entry;
  const { print, variableIn } = translator(entry, convention);
  if ("open" in written) throw unwritable(entry, "it is opened by a program");
  const type = typeMember(shape, "command" in written ? "command" : written.legacySse ? "sse" : "http");
  if ("url" in written) {
    const isSse = written.legacySse === true && shape.sseUrl !== undefined;
    return [
      ...type,
      ...named(isSse ? shape.sseUrl : shape.url, print(written.url)),
      ...headerMembers(entry, convention),
    ];
  }
  const args = (written.args ?? []).map(print);
  const command = print(written.command);
  const variables = Object.entries(written.env ?? {});
  const passed = shape.passedOn ? variables.filter(([name, value]) => variableIn(value) === name) : [];
  const env = variables.filter((pair) => !passed.includes(pair)).map(([name, value]) => [name, print(value)] as const);
  return [
    ...type,
    ...named(shape.command, shape.commandIsList ? [command, ...args] : command),
    ...(args.length > 0 && !shape.commandIsList ? named(shape.args, args) : []),
    ...(env.length > 0 ? named(shape.env, toTable(env)) : []),
    ...(passed.length > 0
      ? named(
          shape.passedOn,
          passed.map(([name]) => name),
        )
      : []),
    ...(written.cwd === undefined ? [] : named(shape.cwd, print(written.cwd))),
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
  const { only, except, connectMs, idleMs, era } = entry.settings;
  const { envFile, oauth, roots } = isConfigured(entry) ? entry.raw : {};
  return [
    ...switchMember(entry.settings, shape),
    ...(only ? required(entry, shape.only, only, "which tools are visible") : []),
    ...(except ? required(entry, shape.except, except, "which tools are hidden") : []),
    ...(connectMs === undefined ? [] : named(shape.connectMs?.names, connectMs / (shape.connectMs?.unitMs ?? 1))),
    ...(idleMs === undefined ? [] : named(shape.idleMs?.names, idleMs / (shape.idleMs?.unitMs ?? 1))),
    ...(era === undefined ? [] : named(shape.era, era)),
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

/** What a file has no word for may not get lost when it keeps something from happening. */
function required(entry: ServerEntry, names: Names | undefined, value: unknown, what: string): [string, unknown][] {
  if (!names?.length) throw unwritable(entry, `its file has no member that says ${what}`);
  return named(names, value);
}

interface Translator {
  /** A string in the way of the other product; one that it has no way for cannot be written. */
  readonly print: (text: string) => string;
  /** The variable that a string is, but for how it begins. */
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
    if ("no" in printed) throw unwritable(entry, `${convention.product} has no way to write ${printed.no}`);
    const isSame = countPlaceholders(readParts(printed.text, to)) === countPlaceholders(parts);
    if (!isSame) throw unwritable(entry, `${convention.product} would take some of its text for a variable`);
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
  const { only, except, era, oauth, roots, passedOn, headerVariables, bearerVariable, inside } = shape;
  const names = [type.member, connectMs?.names, idleMs?.names, command, args, env, cwd, envFile, url, sseUrl, headers];
  const more = [disabled, enabled, only, except, era, oauth, roots, passedOn, headerVariables, bearerVariable, inside];
  return new Set([...names, ...more].flatMap((one) => one ?? []));
}

function unwritable(entry: ServerEntry, reason: string): PortolanError {
  return new PortolanError("invalid-argument", `${JSON.stringify(entry.name)} cannot be written there: ${reason}`);
}
