// Redis keeps bytes, and UTF-8 has none for half a surrogate pair. Such characters, and the mark itself, are escaped.
// Each character by itself, so that the beginning of a text stays the beginning of its encoded form.

/** A code point that Unicode keeps from ever being a character. */
const mark = "\uFDD0";
const escaped = /[\uFDD0\p{Surrogate}]/gu;
const escapes = /\uFDD0(\uFDD0|[0-9a-f]{4})/g;

/** Returns a text that survives UTF-8. Almost always the same one. */
export function encodeText(text: string): string {
  return text.replaceAll(escaped, (char) => (char === mark ? mark + mark : mark + char.charCodeAt(0).toString(16)));
}

/** Returns the text that `encodeText` was given. */
export function decodeText(text: string): string {
  if (!text.includes(mark)) return text;
  return text.replaceAll(escapes, (_, code: string) =>
    code === mark ? mark : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Compares texts as Redis does: by the bytes of UTF-8, which is the order of code points. */
export function compareCodePoints(a: string, b: string): number {
  const [first, second] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  for (let at = 0; at < Math.min(first.length, second.length); at += 1) {
    const difference = (first[at] ?? 0) - (second[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return first.length - second.length;
}
