import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { PortolanError } from "../../../errors.ts";
import { maxCredentialFileBytes } from "../limits.ts";

const version = 1;

/** One value of the file. Unknown members are kept. */
export interface StoredCredential {
  readonly value: string;
  /** Milliseconds since the epoch; without it the value does not expire. */
  readonly expiresAt?: number;
}

/** The parsed credential file. Unknown members are kept. */
export interface CredentialFile {
  readonly members: { readonly [name: string]: unknown };
  readonly entries: ReadonlyMap<string, StoredCredential>;
}

/** Parses the text of a credential file; `undefined` means an empty one. */
export function parseCredentialFile(text: string | undefined, path: string): CredentialFile {
  if (text === undefined) return { members: { version }, entries: new Map() };
  let members: unknown;
  try {
    members = JSON.parse(text);
  } catch {
    // Without the cause, which quotes the content.
    throw damaged(path, "it is not JSON");
  }
  if (!isObject(members) || !isObject(members["entries"])) throw damaged(path, "it has no entries");
  if (members["version"] !== version) {
    const text = `fileStore: ${path}: expected version ${version}, got another one; use the program that wrote it`;
    throw new PortolanError("invalid-argument", text);
  }
  const entries = new Map<string, StoredCredential>();
  for (const [key, entry] of Object.entries(members["entries"])) {
    if (!isStoredCredential(entry)) throw damaged(path, "one of its entries has no value");
    entries.set(key, entry);
  }
  return { members, entries };
}

/** Returns the text of the file with one value changed and expired values removed. */
export function withCredential(
  { members, entries }: CredentialFile,
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

/** Throws unless a time to live is a positive number. */
export function checkTtl(ttlMs: number | undefined): void {
  if (ttlMs === undefined || (Number.isFinite(ttlMs) && ttlMs > 0)) return;
  throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
}

function damaged(path: string, why: string): PortolanError {
  const advice = "restore it, or delete it and sign in again";
  return new PortolanError("invalid-argument", `fileStore: ${path} is damaged: ${why}; ${advice}`);
}

function isStoredCredential(value: unknown): value is StoredCredential {
  if (!isObject(value) || typeof value["value"] !== "string") return false;
  const { expiresAt } = value;
  return expiresAt === undefined || typeof expiresAt === "number";
}

function isObject(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a file that only this user can read. Returns `undefined` if there is no file. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await openWithoutLinks(path);
  if (!file) return undefined;
  try {
    // Checks the open file, so that it cannot be replaced between the check and the read.
    checkOwner(path, await file.stat());
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function openWithoutLinks(path: string): Promise<FileHandle | undefined> {
  try {
    // Windows has no such flag; creating links there requires a privilege.
    if (constants.O_NOFOLLOW === undefined && (await lstat(path)).isSymbolicLink()) throw linkRefusal(path);
    // Non-blocking: opening a pipe would block otherwise.
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP" || code === "EMLINK") throw linkRefusal(path);
    throw error;
  }
}

function checkOwner(path: string, stats: Stats): void {
  if (!stats.isFile()) throw refusal(path, "something that is not a file", "name a file; it need not exist yet");
  if (stats.size > maxCredentialFileBytes) throw refusal(path, `${stats.size} bytes`, "name another file");
  const user = process.getuid?.();
  // A system without numeric user ids has no file modes either.
  if (user === undefined) return;
  if (stats.uid !== user) throw refusal(path, `a file of user ${stats.uid}`, `you are user ${user}`);
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) === 0) return;
  const advice = `run chmod 600 ${path}, and sign in again if others may have read it`;
  throw refusal(path, `mode ${mode.toString(8)}`, advice);
}

function linkRefusal(path: string): PortolanError {
  return refusal(path, "a symbolic link", "name the file that it points to");
}

function refusal(path: string, got: string, advice: string): PortolanError {
  const text = `fileStore: ${path}: expected a file that only you can read, got ${got}; ${advice}`;
  return new PortolanError("invalid-argument", text);
}
