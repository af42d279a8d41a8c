import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { PortolanError } from "portolan";
import type { ConfigInput, ConfiguredServer, RawEntry } from "../../config/configured.ts";
import { recognise } from "../../config/conventions.ts";
import { type ExpandOptions, expandEntry } from "../../config/expand.ts";
import { limits } from "../../config/limits.ts";
import { mergeEntries, type Shadowed } from "../../config/merge.ts";
import { parseConfig } from "../../config/parse.ts";
import { skeletonOf } from "../../display/suspicious.ts";
import { type ConfigFile, type Machine, machineOf, managedFiles, userFiles } from "./find.ts";

/** What is put in for placeholders, from this machine unless said. */
export interface ReadOptions extends Partial<Machine> {
  readonly inputs?: ExpandOptions["inputs"];
  /** Asks the user for a value, once for each file and id; without it the entries that need one have a problem. */
  readonly input?: (request: ConfigInput, entry: RawEntry) => Promise<string | undefined>;
  /** The folder of the project; that of each file unless said. */
  readonly workspaceFolder?: string;
}

/** The servers of several files as one list. */
export interface ReadConfigs {
  readonly entries: readonly ConfiguredServer[];
  /** Entries whose name a nearer file has too. */
  readonly shadowed: readonly Shadowed[];
  /** Files that could not be read at all; they say why. */
  readonly errors: readonly PortolanError[];
  /** What the files say that is not done, each a sentence. */
  readonly notes: readonly string[];
}

/** Reads files that were found, or the one at a path, and puts in their variables; one bad file or entry hides no other. */
export async function readConfigs(
  files: readonly ConfigFile[] | string,
  options: ReadOptions = {},
): Promise<ReadConfigs> {
  const machine = machineOf(options);
  const expand = expander(options, machine);
  const lists: ConfiguredServer[][] = [];
  const errors: PortolanError[] = [];
  const notes: string[] = [];
  for (const config of typeof files === "string" ? [describe(files, machine)] : files) {
    try {
      const parsed = await parseConfig(await read(config.file), config);
      const list: ConfiguredServer[] = [];
      // One after another: each may ask the user.
      for (const raw of parsed.servers) list.push(await expand(raw, options.workspaceFolder ?? config.workspaceFolder));
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

/** The entries, with what they could be taken for. */
function compare(entries: readonly ConfiguredServer[], shadowed: readonly Shadowed[]): ConfiguredServer[] {
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
  if (!found) throw new PortolanError("invalid-argument", `${file}: expected a file with servers, got none`);
  return found.text;
}

/** What is known of a file by its path: it is a user's only where that user's products keep theirs. */
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

/** The text of a file and how it may be accessed; undefined where there is none. */
export interface TextFile {
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Reads a file that others may have put there: never a pipe or a device, never more than the bound. */
export async function readTextFile(path: string): Promise<TextFile | undefined> {
  // Opening a pipe would wait for somebody who writes to it.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw unreadable(path, "it could not be opened", error);
  });
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    const { mode, uid, gid } = found;
    if (!found.isFile()) throw unreadable(path, "expected a file", undefined);
    return { text: decode(await readBytes(handle, path), path), mode: mode & 0o7777, uid, gid };
  } finally {
    await handle.close();
  }
}

type Handle = Awaited<ReturnType<typeof open>>;

/** Counted while it is read: its size may change, and some files have none. */
async function readBytes(handle: Handle, path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024);
    if (bytesRead === 0) return Buffer.concat(chunks);
    length += bytesRead;
    if (length > limits.fileBytes) throw tooLarge(path);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Strictly, and with its mark of byte order: what is written back has to be what was read. */
function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw unreadable(path, "expected UTF-8; save it as that", error);
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

function tooLarge(path: string): PortolanError {
  return new PortolanError("limit-reached", `${path}: expected at most ${limits.fileBytes} bytes, got more`);
}

function unreadable(path: string, reason: string, cause: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${path}: ${reason}`, { cause });
}
