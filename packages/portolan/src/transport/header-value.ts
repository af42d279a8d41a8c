const prefix = "=?base64?";
const suffix = "?=";
const plain = /^[\t -~]*$/;
const encoder = new TextEncoder();
// A byte order mark is part of the value like any other character.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Any text as the value of a header: as it is where HTTP carries it unchanged, otherwise as marked base64 of its UTF-8. */
export function encodeHeaderValue(value: string): string {
  const isSafe = plain.test(value) && trimHeader(value) === value && !isMarked(value);
  return isSafe ? value : prefix + toBase64(encoder.encode(value)) + suffix;
}

/** The text behind the value of a header; undefined when nobody may send such a value. */
export function decodeHeaderValue(header: string): string | undefined {
  const text = trimHeader(header);
  if (!plain.test(text)) return undefined;
  // Markers that overlap mark nothing.
  if (!isMarked(text) || text.length < prefix.length + suffix.length) return text;
  return fromBase64(text.slice(prefix.length, -suffix.length));
}

/** A header without the spaces and tabs around it, which are no part of its value. */
export function trimHeader(header: string): string {
  let start = 0;
  let end = header.length;
  while (start < end && isSpace(header.charCodeAt(start))) start += 1;
  while (end > start && isSpace(header.charCodeAt(end - 1))) end -= 1;
  return header.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isMarked(text: string): boolean {
  return text.startsWith(prefix) && text.endsWith(suffix);
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(text: string): string | undefined {
  try {
    const binary = atob(text);
    // `atob` forgives white space, padding and left-over bits, and would make several texts of one value.
    if (btoa(binary) !== text) return undefined;
    return decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
