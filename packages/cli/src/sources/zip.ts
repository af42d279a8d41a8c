import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { Failure } from "../failure.ts";
import { maxBundleDepth, maxBundleFiles, maxBundlePathBytes, maxUnpackedBytes } from "./limits.ts";

/** A file of a zip archive. */
export interface ZipFile {
  /** Its parts are separated by `/`. It cannot lead out of a folder. */
  readonly path: string;
  /** Its size when it is unpacked, which reading checks. */
  readonly size: number;
  readonly isExecutable: boolean;
  /** Unpacks the file. Throws if it is damaged. */
  read(): Buffer;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const localSignature = 0x04034b50;
const endSize = 22;
const entrySize = 46;
const localSize = 30;
const maxCommentBytes = 0xffff;

const encryptedFlag = 0x1;
const utf8Flag = 0x800;
const stored = 0;
const deflated = 8;

const typeMask = 0o170000;
const regularFile = 0o100000;
const folderType = 0o040000;

/** Creates the failure for an archive that is not read. */
function refused(why: string): Failure {
  return new Failure("usage", `the bundle is refused: ${why}`);
}

/**
 * Reads the files of a zip archive from a stranger, in the order of their paths. Refuses all that could write outside of a
 * folder, fill the disk, or mean something else to another program: paths that lead out, links, two files with one name,
 * files that share bytes, encryption, and sizes that are wrong or too large.
 */
export function readZip(given: Buffer): readonly ZipFile[] {
  const bytes = withoutSignature(given);
  const end = findEnd(bytes);
  if (end === undefined) throw refused("it is not a zip archive, or not a whole one");
  const count = bytes.readUInt16LE(end + 10);
  const size = bytes.readUInt32LE(end + 12);
  const start = bytes.readUInt32LE(end + 16);
  const isSplit = bytes.readUInt16LE(end + 4) !== 0 || bytes.readUInt16LE(end + 6) !== 0;
  if (isSplit || bytes.readUInt16LE(end + 8) !== count) throw refused("it is a part of several archives");
  if (count === 0xffff || start === 0xffffffff)
    throw refused("its format is ZIP64, which bundles of this size do not need");
  if (count > maxBundleFiles) throw refused(`it has ${count} files; at most ${maxBundleFiles} are read`);
  if (start + size !== end) throw refused("the list of its files is damaged");
  const entries: Entry[] = [];
  let at = start;
  for (let index = 0; index < count; index += 1) {
    const entry = readEntry(bytes, at, end);
    entries.push(entry);
    at = entry.next;
  }
  if (at !== end) throw refused("the list of its files is damaged");
  checkTotal(entries);
  checkNames(entries);
  checkOverlaps(bytes, entries, start);
  return entries
    .filter(({ isFolder }) => !isFolder)
    .map((entry) => ({
      path: entry.path,
      size: entry.size,
      isExecutable: (entry.mode & 0o111) !== 0,
      read: () => unpack(bytes, entry),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
  readonly mode: number;
  readonly method: number;
  readonly checksum: number;
  readonly packed: number;
  readonly size: number;
  /** Where its own header begins. */
  readonly offset: number;
  /** Where the next entry of the list begins. */
  readonly next: number;
}

/** Returns where the end record begins. Its comment must reach to the end of the file. */
function findEnd(bytes: Buffer): number | undefined {
  const first = Math.max(0, bytes.length - endSize - maxCommentBytes);
  for (let at = bytes.length - endSize; at >= first; at -= 1) {
    if (bytes.readUInt32LE(at) === endSignature && at + endSize + bytes.readUInt16LE(at + 20) === bytes.length)
      return at;
  }
  return undefined;
}

const signatureBegin = "MCPB_SIG_V1";
const signatureEnd = "MCPB_SIG_END";

/**
 * Returns an archive without the signature after it, which some signers do not make a part of its comment. The signature is
 * not checked: it says nothing of a file before somebody decides whom to believe.
 */
function withoutSignature(bytes: Buffer): Buffer {
  if (findEnd(bytes) !== undefined || !bytes.subarray(-signatureEnd.length).equals(Buffer.from(signatureEnd)))
    return bytes;
  const tail = Math.max(0, bytes.length - maxCommentBytes);
  const found = bytes.subarray(tail).lastIndexOf(signatureBegin);
  return found < 0 ? bytes : bytes.subarray(0, tail + found);
}

function readEntry(bytes: Buffer, at: number, end: number): Entry {
  if (at + entrySize > end || bytes.readUInt32LE(at) !== entrySignature)
    throw refused("the list of its files is damaged");
  const flags = bytes.readUInt16LE(at + 8);
  const method = bytes.readUInt16LE(at + 10);
  const nameSize = bytes.readUInt16LE(at + 28);
  const next = at + entrySize + nameSize + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  if (next > end) throw refused("the list of its files is damaged");
  const name = readName(bytes.subarray(at + entrySize, at + entrySize + nameSize));
  const isFolder = name.endsWith("/");
  const path = isFolder ? name.slice(0, -1) : name;
  checkPath(path);
  if ((flags & encryptedFlag) !== 0) throw refused(`${show(path)} is encrypted`);
  if (method !== stored && method !== deflated)
    throw refused(`${show(path)} is compressed in a way that is not supported`);
  const mode = bytes.readUInt32LE(at + 38) >>> 16;
  const type = mode & typeMask;
  if (type !== 0 && type !== (isFolder ? folderType : regularFile)) {
    throw refused(`${show(path)} is a link or a device; only files and folders are unpacked`);
  }
  const packed = bytes.readUInt32LE(at + 20);
  const size = bytes.readUInt32LE(at + 24);
  if (isFolder && size > 0) throw refused(`the folder ${show(path)} has a content`);
  if (method === stored && packed !== size) throw refused(`the size of ${show(path)} is wrong`);
  return {
    ...{ path, isFolder, mode, method, packed, size, next },
    checksum: bytes.readUInt32LE(at + 16),
    offset: bytes.readUInt32LE(at + 42),
  };
}

function readName(bytes: Buffer): string {
  if (bytes.length > maxBundlePathBytes) throw refused(`a path has more than ${maxBundlePathBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused("a path is not UTF-8");
  }
}

/** Names that Windows gives to devices, with any extension. */
const deviceNames = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(\.|$)/i;

/** Refuses a path that leads out of its folder on any system, or that another system reads as another path. */
function checkPath(path: string): void {
  const parts = path.split("/");
  const why = parts.some((part) => part === ".." || part === "." || part === "")
    ? "leads out of its folder, or is not plain"
    : /[\\:*?"<>|\p{Cc}]/u.test(path)
      ? "has characters that some systems do not allow"
      : parts.some((part) => /[. ]$/.test(part) || deviceNames.test(part))
        ? "has a name that Windows reads as another one"
        : parts.length > maxBundleDepth
          ? `has more than ${maxBundleDepth} folders`
          : parts.some((part) => Buffer.byteLength(part) > 255)
            ? "has a name that is too long"
            : undefined;
  if (why !== undefined) throw refused(`the path ${show(path)} ${why}`);
}

function show(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

function checkTotal(entries: readonly Entry[]): void {
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  if (total > maxUnpackedBytes) {
    throw refused(`its files have ${total} bytes together; at most ${maxUnpackedBytes} are unpacked`);
  }
}

/** Refuses two entries with one path, and files that are also folders. Some systems ignore case and composition. */
function checkNames(entries: readonly Entry[]): void {
  const plain = (path: string) => path.normalize("NFC").toLowerCase();
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const { path, isFolder } of entries) {
    const name = plain(path);
    if (!isFolder && files.size === files.add(name).size) throw refused(`two files have the path ${show(path)}`);
    for (let end = isFolder ? name.length : name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) {
      const folder = name.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  for (const file of files) if (folders.has(file)) throw refused(`${show(file)} is a file and a folder`);
}

/** Refuses files that share bytes: a small archive could then unpack to any size. */
function checkOverlaps(bytes: Buffer, entries: readonly Entry[], end: number): void {
  let free = 0;
  for (const entry of entries.toSorted((a, b) => a.offset - b.offset)) {
    if (entry.offset < free) throw refused(`${show(entry.path)} shares bytes with another file`);
    free = beginningOf(bytes, entry, end) + entry.packed;
    if (free > end) throw refused(`${show(entry.path)} reaches beyond the end`);
  }
}

/** Returns where the content of a file begins. Its own header must say the same as the list. */
function beginningOf(bytes: Buffer, { offset, path, isFolder, method }: Entry, end: number): number {
  if (offset + localSize > end || bytes.readUInt32LE(offset) !== localSignature) {
    throw refused(`the header of ${show(path)} is damaged`);
  }
  const nameSize = bytes.readUInt16LE(offset + 26);
  const name = bytes.subarray(offset + localSize, offset + localSize + nameSize);
  const isSame = name.equals(Buffer.from(isFolder ? `${path}/` : path)) && bytes.readUInt16LE(offset + 8) === method;
  if (!isSame) throw refused(`${show(path)} has another name or form in its own header`);
  return offset + localSize + nameSize + bytes.readUInt16LE(offset + 28);
}

function unpack(bytes: Buffer, entry: Entry): Buffer {
  const { path, method, packed, size, checksum } = entry;
  const start = beginningOf(bytes, entry, bytes.length);
  const content = bytes.subarray(start, start + packed);
  let plain: Buffer;
  try {
    // Inflating stops at the size that the list tells: what is longer is not what it says.
    plain = method === stored ? content : inflateRawSync(content, { maxOutputLength: Math.max(size, 1) });
  } catch (cause) {
    throw new Failure("usage", `the bundle is refused: ${show(path)} is damaged, or larger than it says`, { cause });
  }
  if (plain.length !== size || crc32(plain) !== checksum) throw refused(`${show(path)} is damaged`);
  return plain;
}

/** A file to write into an archive. */
export interface PackedFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly isExecutable: boolean;
}

/** The date of every file: the first that the format knows. An archive of the same files is then always the same. */
const firstDate = 0x0021;

/** Returns a zip archive of these files, which depends on their paths, contents and permissions alone. */
export function writeZip(files: readonly PackedFile[]): Buffer {
  const pieces: Buffer[] = [];
  const list: Buffer[] = [];
  let offset = 0;
  for (const { path, bytes, isExecutable } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes, { level: 9 });
    const isSmaller = packed.length < bytes.length;
    const content = isSmaller ? packed : bytes;
    // The members that the header of a file and the list have in common.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(utf8Flag, 2);
    shared.writeUInt16LE(isSmaller ? deflated : stored, 4);
    shared.writeUInt16LE(firstDate, 8);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(content.length, 14);
    shared.writeUInt32LE(bytes.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([u32(localSignature), shared, name, content]);
    // Made on Unix, so that the permissions are read.
    const more = Buffer.alloc(14);
    more.writeUInt32LE(((regularFile | (isExecutable ? 0o755 : 0o644)) << 16) >>> 0, 6);
    more.writeUInt32LE(offset, 10);
    list.push(u32(entrySignature), Buffer.from([20, 3]), shared, more, name);
    pieces.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(list);
  const end = Buffer.alloc(endSize);
  end.writeUInt32LE(endSignature, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...pieces, directory, end]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
