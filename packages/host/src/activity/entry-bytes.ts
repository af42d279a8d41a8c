import { activityPageChars } from "../limits.ts";
import { hintStarts, tripleAfter } from "./redact.ts";

const encoder = new TextEncoder();
/** The native encoder is faster for longer texts. */
const longTextChars = 96;
const shortCopyBytes = 20;

/**
 * The lines of one page as UTF-8, written as they come. Strings that wait for the end of the page would cost the garbage
 * collector more than the calls.
 */
export class PageBuffer {
  /** True if one of the texts may contain something that looks like a secret. */
  mayHoldSecret = false;
  #bytes = new Uint8Array(activityPageChars * 2);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Returns a copy of the lines and begins again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    this.mayHoldSecret = false;
    // One long entry must not keep its memory for ever.
    if (this.#bytes.length > activityPageChars * 8) this.#bytes = new Uint8Array(activityPageChars * 2);
    return taken;
  }

  /** Removes everything after this position. */
  cut(length: number): void {
    this.#length = length;
  }

  /** Makes room for this many bytes; the methods below need it. */
  reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(needed * 2);
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  /** Writes bytes that contain no secret. */
  copy(bytes: Uint8Array): void {
    const start = this.#length;
    // A call of `set` costs more than a few bytes.
    if (bytes.length > shortCopyBytes) this.#bytes.set(bytes, start);
    else for (let at = 0; at < bytes.length; at += 1) this.#bytes[start + at] = bytes[at] ?? 0;
    this.#length += bytes.length;
  }

  /** Writes a text; reserve three bytes for each character. */
  text(text: string): void {
    const bytes = this.#bytes;
    const start = this.#length;
    if (text.length <= longTextChars) {
      let at = 0;
      let triple = 0;
      for (; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        if (code >= 0x80) break;
        bytes[start + at] = code;
        triple = tripleAfter(triple, code);
        if (hintStarts[triple] === 1) this.mayHoldSecret = true;
      }
      if (at === text.length) {
        this.#length = start + at;
        return;
      }
    }
    this.mayHoldSecret = true;
    this.#length = start + encoder.encodeInto(text, bytes.subarray(start)).written;
  }

  /** Writes a text as a JSON string; reserve six bytes for each character, and two. */
  quoted(text: string): void {
    if (text.length > longTextChars || !this.#tryQuoted(text)) this.text(JSON.stringify(text));
  }

  /** Returns false, and writes nothing, if a character must be escaped. */
  #tryQuoted(text: string): boolean {
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at] = quote;
    at += 1;
    let triple = 0;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code < 0x20 || code >= 0x7f || code === quote || code === backslash) return false;
      bytes[at] = code;
      at += 1;
      triple = tripleAfter(triple, code);
      if (hintStarts[triple] === 1) this.mayHoldSecret = true;
    }
    bytes[at] = quote;
    this.#length = at + 1;
    return true;
  }

  /** Writes a number; reserve 25 bytes. */
  number(value: number): void {
    if (Number.isInteger(value) && value >= 0 && value < 0x4000_0000) this.#digits(value);
    else this.text(JSON.stringify(value));
  }

  #digits(value: number): void {
    let digits = 1;
    for (let limit = 10; limit <= value; limit *= 10) digits += 1;
    const bytes = this.#bytes;
    let rest = value;
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      const tenth = (rest / 10) | 0;
      bytes[at] = 0x30 + rest - tenth * 10;
      rest = tenth;
    }
    this.#length += digits;
  }
}

const quote = 0x22;
const backslash = 0x5c;
