import { PortolanError } from "../errors.ts";

/** Hands a string to someone who must neither read nor change it, and takes it back. */
export interface Sealer {
  /** Text that only `open` with the same purpose and binding gives back, until the time is over. */
  seal(value: string, options: SealOptions): Promise<string>;
  /** Never throws, whatever the text is. */
  open(sealed: string, options: OpenOptions): Promise<Opened>;
}

/** What a sealed string is for; the same must be said to open it. */
export interface OpenOptions {
  /** A constant of the calling code, such as "request-state": each has its own key. */
  readonly purpose: string;
  /** Whatever must be the same when it is opened: principal, method, digest of params. Not stored, only compared. */
  readonly binding: string;
}

/** What a sealed string is for and how long it holds. */
export interface SealOptions extends OpenOptions {
  readonly ttlMs: number;
}

/** The value, or why there is none. The reasons are for logs: whoever sent the text learns only that it was refused. */
export type Opened =
  | { ok: true; value: string }
  | { ok: false; reason: "malformed" | "unknown-key" | "tampered" | "expired" };

/** The secrets and the clock of a sealer. */
export interface SealerOptions {
  /** The first seals, all open: to rotate, put the new one first and drop the old one when its last seal has expired. */
  readonly secrets: readonly (string | Uint8Array)[];
  /** Milliseconds since 1970, alike in all processes that share the secrets; `Date.now` unless given. */
  readonly now?: () => number;
}

const version = "v1";
const prefix = `${version}.`;
const keyIdSize = 6;
const ivSize = 12;
const tagSize = 16;
const expirySize = 8;
const headSize = keyIdSize + ivSize;
const minSecretSize = 32;
const maxSealedLength = 1_048_576;
const loneSurrogate = /\p{Surrogate}/u;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A sealer over secrets of at least 32 characters or bytes; AES-256-GCM under a key derived per purpose. */
export function createSealer(options: SealerOptions): Sealer {
  const now = options.now ?? Date.now;
  const [first, ...older] = options.secrets.map(checkSecret);
  if (first === undefined) {
    throw new PortolanError(
      "invalid-argument",
      "Sealer: expected at least one secret, got none; make one with randomSecret()",
    );
  }
  let prepared: Promise<[SealingKey, ...SealingKey[]]> | undefined;
  const allKeys = () => {
    prepared ??= Promise.all([createSealingKey(first), ...older.map(createSealingKey)]);
    return prepared;
  };

  return {
    async seal(value, { purpose, binding, ttlMs }) {
      if (!(Number.isFinite(ttlMs) && ttlMs > 0)) {
        throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
      }
      // It has no UTF-8 form: another value would come back.
      if (loneSurrogate.test(value)) {
        throw new PortolanError("invalid-argument", "Sealer: expected well-formed text, got half a surrogate pair");
      }
      const [key] = await allKeys();
      const iv = crypto.getRandomValues(new Uint8Array(ivSize));
      const plain = toPlain(value, now() + ttlMs);
      const sealed = await crypto.subtle.encrypt(
        cipher(iv, key.id, purpose, binding),
        await key.forPurpose(purpose),
        plain,
      );
      const text = prefix + toBase64url(join(key.idBytes, iv, new Uint8Array(sealed)));
      if (text.length <= maxSealedLength) return text;
      throw new PortolanError(
        "limit-reached",
        `Sealer: expected at most ${maxSealedLength} characters when sealed, got ${text.length}; store the value and seal its key`,
      );
    },

    async open(sealed, { purpose, binding }) {
      const bytes = parseSealed(sealed);
      if (bytes === undefined) return { ok: false, reason: "malformed" };
      const id = toBase64url(bytes.subarray(0, keyIdSize));
      const key = (await allKeys()).find((candidate) => candidate.id === id);
      if (key === undefined) return { ok: false, reason: "unknown-key" };
      const secretKey = await key.forPurpose(purpose);
      const algorithm = cipher(bytes.subarray(keyIdSize, headSize), id, purpose, binding);
      let plain: ArrayBuffer;
      try {
        plain = await crypto.subtle.decrypt(algorithm, secretKey, bytes.subarray(headSize));
      } catch {
        return { ok: false, reason: "tampered" };
      }
      const expiresAt = new DataView(plain).getFloat64(0);
      if (!(now() < expiresAt)) return { ok: false, reason: "expired" };
      return { ok: true, value: decoder.decode(new Uint8Array(plain, expirySize)) };
    },
  };
}

/** A new secret for `createSealer`: 256 random bits as text. */
export function randomSecret(): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(minSecretSize)));
}

function checkSecret(secret: string | Uint8Array, index: number, all: readonly unknown[]): Uint8Array<ArrayBuffer> {
  if (secret.length >= minSecretSize)
    return typeof secret === "string" ? encoder.encode(secret) : new Uint8Array(secret);
  const unit = typeof secret === "string" ? "characters" : "bytes";
  throw new PortolanError(
    "invalid-argument",
    `Secret ${index + 1} of ${all.length}: expected at least ${minSecretSize} ${unit}, got ${secret.length}; make one with randomSecret()`,
  );
}

interface SealingKey {
  readonly id: string;
  readonly idBytes: Uint8Array<ArrayBuffer>;
  forPurpose(purpose: string): Promise<CryptoKey>;
}

async function createSealingKey(secret: Uint8Array<ArrayBuffer>): Promise<SealingKey> {
  const root = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits", "deriveKey"]);
  const derivation = (info: string) => {
    return { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encoder.encode(info) };
  };
  const idBytes = new Uint8Array(
    await crypto.subtle.deriveBits(derivation(`portolan ${version} id`), root, keyIdSize * 8),
  );
  const keys = new Map<string, Promise<CryptoKey>>();
  return {
    id: toBase64url(idBytes),
    idBytes,
    forPurpose(purpose) {
      const known = keys.get(purpose);
      if (known !== undefined) return known;
      const aes = { name: "AES-GCM", length: 256 };
      const info = derivation(`portolan ${version} key ${purpose}`);
      const key = crypto.subtle.deriveKey(info, root, aes, false, ["encrypt", "decrypt"]);
      keys.set(purpose, key);
      return key;
    },
  };
}

function cipher(iv: Uint8Array<ArrayBuffer>, keyId: string, purpose: string, binding: string): AesGcmParams {
  // As JSON, so that no two lists of parts give the same bytes.
  const additionalData = encoder.encode(JSON.stringify([version, keyId, purpose, binding]));
  return { name: "AES-GCM", iv, additionalData, tagLength: tagSize * 8 };
}

function toPlain(value: string, expiresAt: number): Uint8Array<ArrayBuffer> {
  const expiry = new Uint8Array(expirySize);
  new DataView(expiry.buffer).setFloat64(0, expiresAt);
  return join(expiry, encoder.encode(value));
}

function parseSealed(sealed: string): Uint8Array<ArrayBuffer> | undefined {
  if (sealed.length > maxSealedLength || !sealed.startsWith(prefix)) return undefined;
  const bytes = parseBase64url(sealed.slice(prefix.length));
  return bytes !== undefined && bytes.length >= headSize + expirySize + tagSize ? bytes : undefined;
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const maxDepth = 1_000;

/** JSON text that is the same for equal values: members sorted, `undefined` ones left out, the rest as JSON.stringify has it. */
export function canonicalJson(value: unknown): string {
  const text = write(value, "", 0);
  if (text !== undefined) return text;
  throw new PortolanError("unserializable", `Canonical JSON: expected a JSON value, got ${typeof value}`);
}

function write(value: unknown, member: string, depth: number): string | undefined {
  if (depth > maxDepth) {
    throw new PortolanError(
      "limit-reached",
      `Canonical JSON: expected at most ${maxDepth} levels, got more or a cycle`,
    );
  }
  if (typeof value === "bigint") {
    throw new PortolanError("unserializable", `Canonical JSON: expected a JSON value, got a bigint at "${member}"`);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("toJSON" in value && typeof value.toJSON === "function") return write(value.toJSON(member), member, depth + 1);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, String(index), depth + 1) ?? "null").join(",")}]`;
  }
  const members: string[] = [];
  for (const [name, item] of Object.entries(value).sort(byName)) {
    const text = write(item, name, depth + 1);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** The SHA-256 of bytes, or of a text's UTF-8 bytes, as base64url. */
export async function sha256(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

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
