import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { PortolanError } from "../../../errors.ts";

const version = 1;

/** What lies under one key; members that are not known here stay. */
export interface Entry {
  readonly value: string;
  /** Milliseconds since 1970; without it the value stays. */
  readonly expiresAt?: number;
}

/** What a file holds; members that are not known here stay. */
export interface Content {
  readonly members: { readonly [name: string]: unknown };
  readonly entries: ReadonlyMap<string, Entry>;
}

/** Takes the text of a file apart; no text is an empty file. */
export function parseContent(text: string | undefined, path: string): Content {
  if (text === undefined) return { members: { version }, entries: new Map() };
  let members: unknown;
  try {
    members = JSON.parse(text);
  } catch {
    // Without the cause, which quotes the text.
    throw damaged(path, "it is no JSON");
  }
  if (!isObject(members) || !isObject(members["entries"])) throw damaged(path, "it has no entries");
  if (members["version"] !== version) {
    const text = `fileStore: ${path}: expected version ${version}, got another; use the program that wrote it`;
    throw new PortolanError("invalid-argument", text);
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of Object.entries(members["entries"])) {
    if (!isEntry(entry)) throw damaged(path, "one of its entries has no value");
    entries.set(key, entry);
  }
  return { members, entries };
}

/** The text of the file after a change, without what has expired. */
export function withEntry(
  { members, entries }: Content,
  key: string,
  value: string | undefined,
  ttlMs: number | undefined,
): string {
  const now = Date.now();
  const changed = new Map(entries);
  changed.delete(key);
  for (const [name, { expiresAt }] of entries) {
    if (expiresAt !== undefined && expiresAt <= now) changed.delete(name);
  }
  if (value !== undefined) changed.set(key, { value, ...(ttlMs !== undefined && { expiresAt: now + ttlMs }) });
  return `${JSON.stringify({ ...members, entries: Object.fromEntries(changed) }, undefined, 2)}\n`;
}

/** Refuses a time that never ends or has ended. */
export function checkTtl(ttlMs: number | undefined): void {
  if (ttlMs === undefined || (Number.isFinite(ttlMs) && ttlMs > 0)) return;
  throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
}

function damaged(path: string, why: string): PortolanError {
  const advice = "restore it, or delete it and log in anew";
  return new PortolanError("invalid-argument", `fileStore: ${path} is damaged: ${why}; ${advice}`);
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || typeof value["value"] !== "string") return false;
  const { expiresAt } = value;
  return expiresAt === undefined || typeof expiresAt === "number";
}

function isObject(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const maxFileBytes = 16 * 1024 * 1024;

/** The text of a file that only this user can read; undefined when there is no file. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await openUnlinked(path);
  if (!file) return undefined;
  try {
    // Of the open file, so that it cannot be exchanged between the check and the reading.
    checkOwner(path, await file.stat());
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function openUnlinked(path: string): Promise<FileHandle | undefined> {
  try {
    // Windows has no such flag, and needs a right to make links.
    if (constants.O_NOFOLLOW === undefined && (await lstat(path)).isSymbolicLink()) throw isLink(path);
    // Not waiting: a pipe in its place would be waited for.
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP" || code === "EMLINK") throw isLink(path);
    throw error;
  }
}

function checkOwner(path: string, stats: Stats): void {
  if (!stats.isFile()) throw refusal(path, "something that is no file", "name a file, which need not exist yet");
  if (stats.size > maxFileBytes) throw refusal(path, `${stats.size} bytes`, "name another file");
  const user = process.getuid?.();
  // Where there are no users by number there are no modes either.
  if (user === undefined) return;
  if (stats.uid !== user) throw refusal(path, `one of user ${stats.uid}`, `you are user ${user}`);
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) === 0) return;
  const advice = `chmod 600 ${path}, and log in anew if others may have read it`;
  throw refusal(path, `mode ${mode.toString(8)}`, advice);
}

function isLink(path: string): PortolanError {
  return refusal(path, "a link", "name the file that it leads to");
}

function refusal(path: string, got: string, advice: string): PortolanError {
  const text = `fileStore: ${path}: expected a file that only you can read, got ${got}; ${advice}`;
  return new PortolanError("invalid-argument", text);
}
