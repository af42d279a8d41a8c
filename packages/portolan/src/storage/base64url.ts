const alphabet = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
const notInAlphabet = 255;
const sextets = new Uint8Array(128).fill(notInAlphabet);
for (const [sextet, character] of alphabet.entries()) sextets[character] = sextet;
const ascii = new TextDecoder();

/** Bytes as base64url without padding. */
export function toBase64url(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil((bytes.length * 4) / 3));
  let bits = 0;
  let width = 0;
  let length = 0;
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xffff;
    for (width += 8; width >= 6; length += 1) {
      width -= 6;
      text[length] = alphabet[(bits >> width) & 63] ?? 0;
    }
  }
  if (width > 0) text[length] = alphabet[(bits << (6 - width)) & 63] ?? 0;
  return ascii.decode(text);
}

/** The bytes behind base64url text; undefined unless it is exactly what `toBase64url` writes for them. */
export function parseBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let width = 0;
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sextet = sextets[text.charCodeAt(at)] ?? notInAlphabet;
    if (sextet === notInAlphabet) return undefined;
    bits = ((bits << 6) | sextet) & 0xffff;
    width += 6;
    if (width < 8) continue;
    width -= 8;
    bytes[length] = bits >> width;
    length += 1;
  }
  // Left-over bits would make two texts for the same bytes.
  return (bits & ((1 << width) - 1)) === 0 ? bytes : undefined;
}
