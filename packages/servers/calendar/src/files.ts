import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolError } from "portolan/server";
import { type CalendarEvent, parseIcs } from "./ics.ts";

const megabyte = 1024 * 1024;

/** At most this many files in a folder. */
const maxFiles = 10_000;
/** Bytes of all files in a folder together, beyond which none is added. */
const maxFolderBytes = 16 * megabyte;
/** Bytes that one authenticated caller adds to a folder while the server runs: the others can add some, too. */
const maxBytesPerCaller = maxFolderBytes / 2;
/** Bytes of the events in one result, as JSON. */
export const maxResultBytes: number = megabyte;
/** Bytes of files of any program that one result is made from. */
const maxReadBytes = 64 * megabyte;
const maxFileBytes = megabyte;

/** Writes a file completely or not at all, readable by its owner only. */
async function writeWhole(folder: string, name: string, content: string | Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  await writeFile(`${path}.part`, content, { mode: 0o600, flag: "wx" });
  await rename(`${path}.part`, path);
  return path;
}

/** Returns the names of the files with an ending, sorted. A folder that does not exist is empty. */
async function namesIn(folder: string, ending: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => name.endsWith(ending) && !name.startsWith(".")).sort();
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw reason;
  }
}

/** Returns a file of a folder as text. Returns undefined if there is none of that name, or if it is too large. */
export async function readIn(folder: string, name: string): Promise<string | undefined> {
  // Only names without separators, and without a dot at their beginning, are files of this folder.
  if (!/^[^./\\][^/\\]*\.(ics|eml)$/.test(name)) return undefined;
  const path = join(folder, name);
  try {
    const { size } = await stat(path);
    return size > maxFileBytes ? undefined : await readFile(path, "utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw reason;
  }
}

/** The words for a folder in messages: `calendar` and `events`, or `outbox` and `messages`, for example. */
export interface FolderWords {
  readonly folder: string;
  readonly files: string;
}

/** A folder whose files are counted, in all and for each caller. Add files one after the other. */
export class LimitedFolder {
  readonly path: string;
  readonly #ending: string;
  readonly #words: FolderWords;
  /** A file that was written does not change. */
  readonly #sizes = new Map<string, number>();
  readonly #bytesByCaller = new Map<string, number>();

  constructor(path: string, ending: string, words: FolderWords) {
    this.path = path;
    this.#ending = ending;
    this.#words = words;
  }

  names(): Promise<string[]> {
    return namesIn(this.path, this.#ending);
  }

  /** Writes a file. Returns its path. Throws a `ToolError` if the folder has no room for it. */
  async add(file: string, content: string | Uint8Array, caller: string | undefined): Promise<string> {
    const size = Buffer.byteLength(content);
    await this.requireRoom(size, caller);
    const path = await writeWhole(this.path, file, content);
    this.#sizes.set(file, size);
    this.#count(caller, size);
    return path;
  }

  /** Throws a `ToolError` if the folder has no room for a file of this size. */
  async requireRoom(size: number, caller: string | undefined): Promise<void> {
    const names = await this.names();
    const { folder, files } = this.#words;
    if (names.length >= maxFiles || (await this.#bytesOf(names)) + size > maxFolderBytes) {
      throw new ToolError(
        `The ${folder} is full: it has at most ${maxFiles} ${files} and ${maxFolderBytes} bytes. Ask the user to remove files from ${this.path}`,
      );
    }
    if (caller !== undefined && (this.#bytesByCaller.get(caller) ?? 0) + size > maxBytesPerCaller) {
      throw new ToolError(`This caller has added ${maxBytesPerCaller} bytes of ${files}, the most that one caller may`);
    }
  }

  /** Moves a file of a caller to another folder, where it counts from now on, even if there is no room any more. */
  async move(file: string, caller: string | undefined, target: LimitedFolder): Promise<void> {
    const size = this.#sizes.get(file) ?? 0;
    await mkdir(target.path, { recursive: true, mode: 0o700 });
    await rename(join(this.path, file), join(target.path, file));
    this.#count(caller, -size);
    this.#sizes.delete(file);
    target.#sizes.set(file, size);
    target.#count(caller, size);
  }

  #count(caller: string | undefined, bytes: number): void {
    if (caller === undefined) return;
    const sum = (this.#bytesByCaller.get(caller) ?? 0) + bytes;
    if (sum > 0) this.#bytesByCaller.set(caller, sum);
    else this.#bytesByCaller.delete(caller);
  }

  async #bytesOf(names: readonly string[]): Promise<number> {
    const present = new Set(names);
    for (const name of this.#sizes.keys()) if (!present.has(name)) this.#sizes.delete(name);
    let bytes = 0;
    for (const name of names) {
      let size = this.#sizes.get(name);
      if (size === undefined) {
        size = await stat(join(this.path, name)).then(
          (stats) => stats.size,
          () => 0,
        );
        this.#sizes.set(name, size);
      }
      bytes += size;
    }
    return bytes;
  }
}

/** Events for one result. */
export interface FoundEvents {
  /** Sorted by start. */
  readonly events: readonly CalendarEvent[];
  /** Says which events are left out, and what to do. Absent if all are here. */
  readonly note?: string;
}

/**
 * Returns the events of all calendar files that overlap the days from the first to the last one, as many as fit into a
 * result. `see` gets all of them.
 */
export async function eventsBetween(
  folder: string,
  first: string,
  last: string,
  see: (event: CalendarEvent) => void = () => {},
): Promise<FoundEvents> {
  const page = new EventPage();
  const names = await namesIn(folder, ".ics");
  let read = 0;
  let bytes = 0;
  for (const name of names.slice(0, maxFiles)) {
    const text = await readIn(folder, name);
    if (text === undefined) continue;
    bytes += text.length;
    if (bytes > maxReadBytes) break;
    read += 1;
    for (const event of parseIcs(text)) {
      if (event.startDate.slice(0, 10) > last || event.endDate < first) continue;
      see(event);
      page.add(event);
    }
  }
  const { events, omitted } = page.end();
  const notes = [
    ...(omitted === 0 ? [] : [`${omitted} events do not fit into this result; read a shorter time`]),
    ...(read === names.length
      ? []
      : [`${names.length - read} calendar files were not read, because they are too large or too many`]),
  ];
  return { events, ...(notes.length > 0 && { note: `Incomplete: ${notes.join(". ")}.` }) };
}

/** Keeps the earliest events that fit into a result, and at most about twice as much while it is filled. */
class EventPage {
  #kept: { event: CalendarEvent; bytes: number }[] = [];
  #bytes = 0;
  #omitted = 0;

  add(event: CalendarEvent): void {
    const bytes = Buffer.byteLength(JSON.stringify(event)) + 1;
    this.#kept.push({ event, bytes });
    this.#bytes += bytes;
    if (this.#bytes > 2 * maxResultBytes) this.#cut();
  }

  end(): { events: CalendarEvent[]; omitted: number } {
    this.#cut();
    return { events: this.#kept.map(({ event }) => event), omitted: this.#omitted };
  }

  #cut(): void {
    this.#kept.sort((a, b) => compare(a.event.startDate, b.event.startDate));
    let sum = 0;
    const fitting = this.#kept.filter(({ bytes }) => {
      if (sum + bytes > maxResultBytes) return false;
      sum += bytes;
      return true;
    });
    this.#omitted += this.#kept.length - fitting.length;
    this.#kept = fitting;
    this.#bytes = fitting.reduce((all, { bytes }) => all + bytes, 0);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
