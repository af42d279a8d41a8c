import { maxTokenBytes } from "./limits.ts";
import { isRequestId, type RequestId } from "./message.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

const punctuation = [quote, comma, colon, openArray, closeArray, openObject, closeObject];

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads id and kind of a message from text that cannot be parsed: too long to keep, cut off, or broken. Bytes may be
 * chunked in any way and are not kept. A batch has no id, so only the kinds of its members are read.
 */
export class EnvelopeScanner {
  /** The id of the message, once it is complete. The last one counts, as in JSON.parse. */
  id: RequestId | undefined = undefined;
  hasMethod = false;
  /** True after a member `result` or `error`. */
  isReply = false;
  /** True when the first byte after white space opens an object or an array. */
  startsAsJson = false;

  #isOver = false;
  #depth = 0;
  /** The depth at which the members of a message lie: 1, or 2 inside a batch. */
  #memberDepth = 1;
  #isInObject = false;
  #isInString = false;
  #isEscaped = false;
  #isAtKey = false;
  #key: unknown = undefined;
  #isCapturing = false;
  #token = new Uint8Array(maxTokenBytes);
  #tokenLength = 0;

  feed(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && !this.#isOver; at++) {
      if (this.#isInString && !this.#isCapturing && !this.#isEscaped) at = skipText(bytes, at);
      const byte = bytes[at];
      if (byte === undefined) return;
      if (this.#isInString) this.#readInString(byte);
      else if (this.#depth === 0) this.#readStart(byte);
      else this.#readBetween(byte);
    }
  }

  #readStart(byte: number): void {
    if (isSpace(byte)) return;
    this.startsAsJson = byte === openObject || byte === openArray;
    this.#isOver = !this.startsAsJson;
    this.#memberDepth = byte === openArray ? 2 : 1;
    this.#open(byte);
  }

  #readInString(byte: number): void {
    if (this.#isCapturing) this.#capture(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) {
      this.#isInString = false;
      if (this.#isCapturing) this.#endToken();
    }
  }

  #readBetween(byte: number): void {
    const isMember = this.#isInObject && this.#depth === this.#memberDepth;
    if (this.#isCapturing && (isSpace(byte) || isPunctuation(byte))) this.#endToken();
    if (byte === quote) {
      this.#isInString = true;
      if (isMember && this.#wantsToken()) this.#startToken(byte);
    } else if (byte === openObject || byte === openArray) this.#open(byte);
    else if (byte === closeObject || byte === closeArray) this.#close();
    else if (!isMember) return;
    else if (byte === comma) this.#isAtKey = true;
    else if (byte === colon) this.#isAtKey = false;
    else if (this.#isCapturing) this.#capture(byte);
    else if (!this.#isAtKey && this.#wantsToken() && !isSpace(byte)) this.#startToken(byte);
  }

  #open(byte: number): void {
    this.#depth += 1;
    if (this.#depth !== this.#memberDepth) return;
    this.#isInObject = byte === openObject;
    this.#isAtKey = true;
    this.#key = undefined;
  }

  #close(): void {
    this.#depth -= 1;
    if (this.#depth === 0) this.#isOver = true;
  }

  #wantsToken(): boolean {
    return this.#isAtKey || (this.#key === "id" && this.#memberDepth === 1);
  }

  #startToken(byte: number): void {
    this.#isCapturing = true;
    this.#tokenLength = 0;
    this.#capture(byte);
  }

  #capture(byte: number): void {
    if (this.#tokenLength < maxTokenBytes) this.#token[this.#tokenLength] = byte;
    this.#tokenLength += 1;
  }

  #endToken(): void {
    this.#isCapturing = false;
    const value = this.#tokenLength > maxTokenBytes ? undefined : parse(this.#token.subarray(0, this.#tokenLength));
    if (this.#isAtKey) this.#noteKey(value);
    else {
      this.id = isRequestId(value) ? value : undefined;
      this.#key = undefined;
    }
  }

  #noteKey(key: unknown): void {
    this.#key = key;
    if (key === "id") this.id = undefined;
    else if (key === "method") this.hasMethod = true;
    else if (key === "result" || key === "error") this.isReply = true;
  }
}

/** Returns the position of the next quote or backslash, or the end. */
function skipText(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== quote && bytes[at] !== backslash) at++;
  return at;
}

// Keys and ids may contain escapes.
function parse(token: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(token));
  } catch {
    return undefined;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a;
}

function isPunctuation(byte: number): boolean {
  return punctuation.includes(byte);
}
