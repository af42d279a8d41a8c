import { crc32 } from "node:zlib";
import type { Operation } from "./graph.ts";

/** The first line of a file; `generation` changes whenever the file is replaced. */
export interface Header {
  readonly format: "portolan-memory";
  readonly version: 1;
  readonly generation: string;
  /** Size of the content after the last compaction, in bytes. */
  readonly base: number;
}

/** A line of a file: the changes of one call in one namespace. */
export interface Entry {
  readonly in: string;
  readonly ops: readonly Operation[];
}

/** A parsed line; `number` increases by one per line. */
export interface Line {
  readonly number: number;
  readonly value: Header | Entry;
}

const known: ReadonlySet<string> = new Set([
  ...["entity", "rename", "forget", "observe", "unobserve", "relate", "unrelate"],
]);
const pattern = /^(\d{1,15}) ([0-9a-f]{8}) (.*)$/s;

/** Formats a line: number, checksum of number and content, content. */
export function writeLine(number: number, value: Header | Entry): string {
  const content = JSON.stringify(value);
  return `${number} ${checksum(number, content)} ${content}\n`;
}

/** The first line is never longer. */
export const maxHeaderBytes = 256;

/** Returns the bytes of the line of an entry, with the longest number that a line can have. */
export function maxLineBytes(entry: Entry): number {
  return 15 + 8 + 3 + Buffer.byteLength(JSON.stringify(entry));
}

/** Parses a line without its line break; undefined if it is damaged. */
export function readLine(text: string): Line | undefined {
  const [, digits = "", sum, content = ""] = pattern.exec(text) ?? [];
  const number = Number(digits);
  if (sum === undefined || checksum(number, content) !== sum) return undefined;
  try {
    const value = JSON.parse(content);
    return isHeader(value) || isEntry(value) ? { number, value } : undefined;
  } catch {
    return undefined;
  }
}

export function isHeader(value: Header | Entry): value is Header {
  return "format" in value && value.format === "portolan-memory" && value.version === 1;
}

/** Returns false for operations of a newer version. */
function isEntry({ in: namespace, ops }: Partial<Entry>): boolean {
  return typeof namespace === "string" && Array.isArray(ops) && ops.every((operation) => known.has(operation?.do));
}

function checksum(number: number, content: string): string {
  return crc32(`${number} ${content}`).toString(16).padStart(8, "0");
}
