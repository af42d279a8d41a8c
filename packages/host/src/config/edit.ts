import { PortolanError } from "portolan";
import { canonicalJson } from "portolan/storage";
import type { ServerEntry } from "../options.ts";
import type { ConfigFormat } from "./configured.ts";
import { readContent, withoutMark } from "./content.ts";
import { type Convention, conventionOf, portableProduct } from "./conventions.ts";
import { editJson } from "./json.ts";
import { formatOf, guess, nameConvention } from "./parse.ts";
import { toMembers } from "./to-members.ts";
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
