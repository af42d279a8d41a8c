import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import type { ConfigInput, ConfiguredServer, RawEntry } from "../../config/configured.ts";
import { recognise } from "../../config/conventions.ts";
import { type ExpandOptions, expandEntry } from "../../config/expand.ts";
import { maxFileBytes } from "../../config/limits.ts";
import { mergeEntries, type ShadowedEntry } from "../../config/merge.ts";
import { parseConfig } from "../../config/parse.ts";
import { skeletonOf } from "../../display/suspicious.ts";
import { type ConfigFile, type Machine, machineOf, managedFiles, userFiles } from "./find.ts";

/** The values for placeholders. Default: from this machine. */
export interface ReadOptions extends Partial<Machine> {
  /** Known values of inputs by id. Default: none. */
  readonly inputs?: ExpandOptions["inputs"];
  /** Asks the user for a value, once per file and id. Without it, entries that need a value have a problem. */
  readonly input?: (request: ConfigInput, entry: RawEntry) => Promise<string | undefined>;
  /** The folder of the project. Default: the project folder of each file. */
  readonly workspaceFolder?: string;
}

/** The merged servers of several files. */
export interface ReadConfigs {
  readonly entries: readonly ConfiguredServer[];
  /** Entries that another file overrides. */
  readonly shadowed: readonly ShadowedEntry[];
  /** One error for each file that could not be read. */
  readonly errors: readonly PortolanError[];
  /** Parts of the files that have no effect here, one sentence each. */
  readonly notes: readonly string[];
}

const readOptionNames: OptionNames<ReadOptions> = {
  home: 1,
  platform: 1,
  env: 1,
  inputs: 1,
  input: 1,
  workspaceFolder: 1,
};

/** Reads configuration files and replaces their placeholders. An invalid file or entry does not affect the others. */
export async function readConfigs(
  files: readonly ConfigFile[] | string,
  options: ReadOptions = {},
): Promise<ReadConfigs> {
  checkOptions(options, readOptionNames, "readConfigs");
  const machine = machineOf(options);
  const expand = expander(options, machine);
  const lists: ConfiguredServer[][] = [];
  const errors: PortolanError[] = [];
  const notes: string[] = [];
  for (const config of typeof files === "string" ? [describe(files, machine)] : files) {
    try {
      const { workspaceFolder, ...known } = config;
      const parsed = await parseConfig(await read(config.file), known);
      const list: ConfiguredServer[] = [];
      // In sequence, because each can ask the user.
      for (const raw of parsed.servers) list.push(await expand(raw, options.workspaceFolder ?? workspaceFolder));
      lists.push(list);
      notes.push(...parsed.notes, ...parsed.servers.flatMap((raw) => raw.notes));
    } catch (error) {
      if (!(error instanceof PortolanError)) throw error;
      errors.push(error);
    }
  }
  const { entries, shadowed } = mergeEntries(lists);
  return { entries: compare(entries, shadowed), shadowed, errors, notes };
}

/** Adds `hides` and `resembles` to entries. */
function compare(entries: readonly ConfiguredServer[], shadowed: readonly ShadowedEntry[]): ConfiguredServer[] {
  const alike = new Map<string, string[]>();
  for (const { name } of entries) {
    const look = skeletonOf(name);
    alike.set(look, [...(alike.get(look) ?? []), name]);
  }
  return entries.map((entry) => {
    const hides = shadowed.filter(({ used }) => used === entry).map(({ shadowed: { source } }) => source);
    const resembles = alike.get(skeletonOf(entry.name))?.find((name) => name !== entry.name);
    if (hides.length === 0 && resembles === undefined) return entry;
    return { ...entry, ...(hides.length > 0 && { hides }), ...(resembles !== undefined && { resembles }) };
  });
}

async function read(file: string): Promise<string> {
  const found = await readTextFile(file);
  if (!found) throw new PortolanError("invalid-argument", `${file}: the file does not exist; check the path`);
  return found.text;
}

/** Derives owner and product from the path of a file. It is a user file only at a known path of a user file. */
function describe(path: string, machine: Machine): ConfigFile {
  const file = resolve(path);
  const managed = managedFiles(machine).find((known) => known.file === file);
  const own = managed ?? userFiles(machine).find((known) => known.file === file);
  const recognised = recognise(file);
  const below = recognised?.place?.folder === "project" ? recognised.place.path.split("/").length : 1;
  const workspaceFolder = resolve(file, ...Array<string>(below).fill(".."));
  const product = own?.convention.product ?? recognised?.convention.product;
  const scope = managed ? "managed" : own ? "user" : "project";
  return { file, scope, workspaceFolder, ...(product === undefined ? {} : { product }) };
}

function expander(
  { inputs, input }: ReadOptions,
  { env, home }: Machine,
): (raw: RawEntry, workspaceFolder: string) => Promise<ConfiguredServer> {
  const answers = new Map<string, string | undefined>();
  const askOnce = async (request: ConfigInput, raw: RawEntry) => {
    const key = JSON.stringify([raw.source.file, request.id]);
    if (!answers.has(key)) answers.set(key, await input?.(request, raw));
    return answers.get(key);
  };
  const readFile = async (path: string) => (await readTextFile(path))?.text;
  const known = { env, userHome: home, readFile, ...(inputs ? { inputs } : {}), ...(input ? { input: askOnce } : {}) };
  return (raw, workspaceFolder) => expandEntry(raw, { ...known, workspaceFolder });
}

/** The text of a file and its permissions. */
export interface TextFile {
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Reads a file that a stranger can have created: no pipes, no devices, at most `maxFileBytes`. Returns undefined if it
 * does not exist.
 */
export async function readTextFile(path: string): Promise<TextFile | undefined> {
  // O_NONBLOCK, because opening a pipe waits for a writer.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw unreadable(path, "the file cannot be opened; check its permissions", error);
  });
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    const { mode, uid, gid } = found;
    if (!found.isFile()) throw unreadable(path, "expected a file, got a folder, pipe or device", undefined);
    return { text: decode(await readBytes(handle, path), path), mode: mode & 0o7777, uid, gid };
  } finally {
    await handle.close();
  }
}

type Handle = Awaited<ReturnType<typeof open>>;

/** Counts bytes while reading, because the size of a file can change and some files report none. */
async function readBytes(handle: Handle, path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024);
    if (bytesRead === 0) return Buffer.concat(chunks);
    length += bytesRead;
    if (length > maxFileBytes) throw tooLarge(path);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Decodes strictly and keeps the byte order mark, so that writing gives the same bytes. */
function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw unreadable(path, "expected UTF-8; save the file as UTF-8", error);
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

function tooLarge(path: string): PortolanError {
  return new PortolanError("limit-reached", `${path}: expected at most ${maxFileBytes} bytes, got more`);
}

function unreadable(path: string, reason: string, cause: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${path}: ${reason}`, { cause });
}
