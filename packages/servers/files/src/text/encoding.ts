import { isUtf8 } from "node:buffer";

export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";

/** How much of a file is looked at to tell text from other bytes. */
export const sampleBytes = 8_192;

/** How the beginning of a file reads as text; undefined for what is no text. */
export function encodingOf(sample: Uint8Array): Encoding | undefined {
  if (sample[0] === 0xff && sample[1] === 0xfe) return "utf-16le";
  if (sample[0] === 0xfe && sample[1] === 0xff) return "utf-16be";
  if (sample.includes(0)) return undefined;
  if (isUtf8(withoutCut(sample))) return "utf-8";
  // Control characters are what bytes have and old texts have not.
  return sample.some((byte) => byte < 9 || (byte > 13 && byte < 27)) ? undefined : "windows-1252";
}

/** The text of bytes, without a mark of the order of bytes. */
export function decode(bytes: Uint8Array, encoding: Encoding): string {
  return new TextDecoder(encoding).decode(bytes);
}

/** Bytes without the character at their end that is not complete. */
export function withoutCut(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Bytes without the rest of a character at their beginning. */
export function withoutRest(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}

/** The lines of a text, each with its own ending. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The number of the line that a place in a text is in. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

export function withoutEnding(line: string): string {
  return line.replace(/\r?\n$/, "");
}
