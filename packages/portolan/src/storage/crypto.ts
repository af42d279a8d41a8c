import { PortolanError } from "../errors.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { maxJsonLevels, maxSealedChars, minSecretSize } from "./limits.ts";

/** Encrypts strings for a peer that keeps them but must neither read nor change them. */
export interface Sealer {
  /** Returns text that only `open` with the same purpose and binding can decrypt, until it expires. */
  seal(value: string, options: SealOptions): Promise<string>;
  /** Returns the value, or the reason why there is none. Never rejects because of the text. */
  open(sealed: string, options: OpenOptions): Promise<OpenedText>;
}

/** The context of a sealed string. `seal` and `open` need the same. */
export interface OpenOptions {
  /** A constant of the calling code, such as "request-state". Each purpose has its own key. */
  readonly purpose: string;
  /** Facts that must be the same in `open`: principal, method, digest of params. Authenticated, but not stored. */
  readonly binding: string;
}

/** The context and the lifetime of a sealed string. */
export interface SealOptions extends OpenOptions {
  /** Time after which the sealed value cannot be opened. */
  readonly ttlMs: number;
}

/** The value, or the reason why there is none. The reason is for logs; do not send it to the peer. */
export type OpenedText =
  | { ok: true; value: string }
  | { ok: false; reason: "malformed" | "unknown-key" | "tampered" | "expired" };

/** Options of `createSealer`. */
export interface SealerOptions {
  /**
   * The first one seals, all of them open. To change it, append the new one in all processes, then move it to the front in
   * all, and remove the old one after the longest ttl.
   */
  readonly secrets: readonly (string | Uint8Array)[];
  /** Milliseconds since 1970, the same in all processes that share the secrets. Default: `Date.now`. */
  readonly now?: () => number;
}

const version = "v1";
const prefix = `${version}.`;
const keyIdSize = 6;
const ivSize = 12;
const tagSize = 16;
const expirySize = 8;
const headSize = keyIdSize + ivSize;
const loneSurrogate = /\p{Surrogate}/u;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Creates a sealer: AES-256-GCM with one derived key per purpose. Secrets have at least 32 characters or bytes. */
export function createSealer(options: SealerOptions): Sealer {
  checkOptions(options, sealerOptions, "createSealer");
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
      // Half a surrogate pair has no UTF-8 form: `open` would return another value.
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
      if (text.length <= maxSealedChars) return text;
      throw new PortolanError(
        "limit-reached",
        `Sealer: expected at most ${maxSealedChars} characters after sealing, got ${text.length}; store the value and seal its key`,
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

const sealerOptions: OptionNames<SealerOptions> = { secrets: 1, now: 1 };

/** Returns the ids of the keys that secrets give, which say nothing about the secrets. */
export async function keyIdsOf(secrets: readonly string[]): Promise<string[]> {
  const keys = await Promise.all(secrets.map(checkSecret).map(createSealingKey));
  return keys.map(({ id }) => id);
}

/** Returns a new secret for `createSealer`: 256 random bits as text. */
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
  // JSON, so that no two lists of parts give the same bytes.
  const additionalData = encoder.encode(JSON.stringify([version, keyId, purpose, binding]));
  return { name: "AES-GCM", iv, additionalData, tagLength: tagSize * 8 };
}

function toPlain(value: string, expiresAt: number): Uint8Array<ArrayBuffer> {
  const expiry = new Uint8Array(expirySize);
  new DataView(expiry.buffer).setFloat64(0, expiresAt);
  return join(expiry, encoder.encode(value));
}

function parseSealed(sealed: string): Uint8Array<ArrayBuffer> | undefined {
  if (sealed.length > maxSealedChars || !sealed.startsWith(prefix)) return undefined;
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

/** Returns JSON text that is the same for equal values: members are sorted, the rest is as in JSON.stringify. */
export function canonicalJson(value: unknown): string {
  const text = write(value, "", 0);
  if (text !== undefined) return text;
  throw new PortolanError("unserializable", `Canonical JSON: expected a JSON value, got ${typeof value}`);
}

function write(value: unknown, member: string, depth: number): string | undefined {
  if (depth > maxJsonLevels) {
    throw new PortolanError(
      "limit-reached",
      `Canonical JSON: expected at most ${maxJsonLevels} levels, got more or a cycle`,
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

/** Returns the SHA-256 digest of bytes, or of a text in UTF-8, as base64url. */
export async function sha256(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

const alphabet = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
const notInAlphabet = 255;
const sextets = new Uint8Array(128).fill(notInAlphabet);
for (const [sextet, character] of alphabet.entries()) sextets[character] = sextet;
const ascii = new TextDecoder();

/** Encodes bytes as base64url without padding. */
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

/** Decodes base64url. Undefined if the text is not exactly what `toBase64url` writes. */
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
  // Remaining bits must be 0, or two texts would have the same bytes.
  return (bits & ((1 << width) - 1)) === 0 ? bytes : undefined;
}
