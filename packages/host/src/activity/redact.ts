import {
  cleanedTextChars,
  maxEntryChars,
  maxEntryDepth,
  maxEntryItems,
  maxEntryTextChars,
  maxMemberNameChars,
  maxRedactionDepth,
  minSecretChars,
  shortenedEntryChars,
  textHeadChars,
} from "../limits.ts";
/** Removes secrets from values. */
export interface Redactor {
  /** Redacts this text from now on. Texts of less than 4 characters are ignored. */
  add(secret: string): void;
  /** Returns the value with its secrets replaced; the same object if there are none. */
  redact(value: unknown): unknown;
  /**
   * True if a text, or the JSON of a value, may contain a secret. Faster with its bytes; may be wrong in this direction
   * only.
   */
  mayContainSecret(text: string, bytes?: Uint8Array): boolean;
  /** False if only what looks like a secret is redacted, and no text that was added. */
  readonly hasTexts: boolean;
}

/** Replaces each secret. */
const mark = "[redacted]";

/** Creates a redactor for the usual forms of secrets and for these texts. */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const redactor = new PatternRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

/** Redacts what looks like a secret: by the names of members, flags and parameters, and by the forms of keys. */
export function redact(value: unknown): unknown {
  return new PatternRedactor().redact(value);
}

class PatternRedactor implements Redactor {
  /** All forms of the secrets, the longest first, because one may be part of another. */
  #secrets: string[] = [];
  hasTexts = false;

  add(secret: string): void {
    if (secret.length < minSecretChars || this.#secrets.includes(secret)) return;
    const forms = new Set([...this.#secrets, ...formsOf(secret)]);
    this.#secrets = [...forms].sort((a, b) => b.length - a.length);
    this.hasTexts = true;
  }

  redact(value: unknown): unknown {
    return this.#walk(value, 0);
  }

  mayContainSecret(text: string, bytes?: Uint8Array): boolean {
    if (bytes ? mayHoldSecretIn(text, bytes) : mayHoldSecret(text)) return true;
    for (const secret of this.#secrets) if (text.includes(secret)) return true;
    return false;
  }

  #walk(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxRedactionDepth) return mark;
    return Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth);
  }

  #text(text: string): string {
    if (!this.mayContainSecret(text)) return text;
    let left = text;
    for (const secret of this.#secrets) if (left.includes(secret)) left = left.replaceAll(secret, mark);
    return replaceSecrets(left, mark);
  }

  #array(items: readonly unknown[], depth: number): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (const [index, item] of items.entries()) {
      const isValue = typeof item === "string" && isSecretFlag(items[index - 1]);
      const kept = isValue ? mark : this.#walk(item, depth + 1);
      if (kept === item) continue;
      copy ??= [...items];
      copy[index] = kept;
    }
    return copy ?? items;
  }

  #object(value: object, depth: number): object {
    const entries = Object.entries(value);
    let isChanged = false;
    const kept = entries.map(([name, item]): [string, unknown] => {
      const key = this.#text(name);
      const isSecret = hasSecretName(name) || (name === "value" && isNamedSecret(value));
      const shown = isSecret && hasValue(item) ? mark : this.#walk(item, depth + 1);
      isChanged ||= shown !== item || key !== name;
      return [key, shown];
    });
    return isChanged ? Object.fromEntries(kept) : value;
  }
}

/** Returns a secret as it is, and as JSON, URLs and base64 encode it. */
function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...[encodeURIComponent, encodeURI].map((encode) => encode(new TextDecoder().decode(bytes))),
  ];
  if (bytes.length < 8 || bytes.length > 4_096) return forms;
  // Base64 depends on the position within three bytes. Only the characters that the secret alone determines are used.
  const cores = [0, 1, 2].flatMap((before) => {
    const text = btoa(String.fromCharCode(...new Uint8Array(before), ...bytes));
    const core = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...forms, ...cores];
}

/** Recognizes `{ name: "Authorization", value: … }`, as in lists of headers and variables. */
function isNamedSecret(value: object): boolean {
  const name = "name" in value ? value.name : "key" in value ? value.key : undefined;
  return typeof name === "string" && hasSecretName(name);
}

/** True if there is a value to hide. An empty or missing password is worth knowing. */
function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}

/** The first three characters of each alternative of `secretHint`, in lower case. */
const beginnings: readonly string[] = [
  ...["aut", "aki", "asi", "aiz", "ass", "bea", "bas", "coo", "cre", "dpo", "eyj", "ghp", "gho", "ghu", "ghs", "ghr"],
  ...["git", "glp", "jwt", "key", "npm", "neg", "pas", "pwd", "pin", "rk_", "sec", "ses", "sk-", "sk_", "tok", "xox"],
  ...["---", "://", "?co", "&co", ";co", "?si", "&si", ";si", "?au", "&au", ";au", "?x-", "&x-", ";x-"],
];
/**
 * Finds anything that the patterns below could match. Grouped by first letters, which is twice as fast. A new
 * alternative needs its first three characters in `beginnings`.
 */
export const secretHint: RegExp =
  /a(?:uth|kia|sia|iza)|b(?:earer|asic )|c(?:ookie|redential)|dpop |eyj|g(?:h[pousr]_|ithub_pat_|lpat-)|jwt|key|n(?:pm_|egotiate )|p(?:ass|wd|in")|rk_|s(?:ecret|essi|k[-_])|token|xox[abeprs]-|-----begin|:\/\/[^/\s"@]*@|assertion|[?&;](?:code|sig|auth|x-amz)/i;
const secretHintAt = new RegExp(secretHint.source, "iy");

/** 1 for each three characters that are a beginning, by their lower five bits, which ignore case. */
export const hintStarts: Uint8Array = makeHintStarts();

/** Returns the number of the last three characters of a text, after those of `triple` and one more. */
export function tripleAfter(triple: number, code: number): number {
  return ((triple << 5) | (code & 31)) & 0x7fff;
}

let pairs: Uint8Array | undefined;

/**
 * True if a text may contain a secret, like `mayHoldSecret`, but faster with its UTF-8 bytes. Every beginning covers
 * two bytes at an even position, so half of the positions are skipped.
 */
export function mayHoldSecretIn(text: string, bytes: Uint8Array): boolean {
  // Characters and bytes have the same positions only in ASCII texts.
  if (bytes.length !== text.length || bytes.byteOffset % 2 !== 0) return secretHint.test(text);
  pairs ??= makePairs();
  const read = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
  for (let at = 0; at < read.length; at += 1) {
    if (pairs[read[at] ?? 0] === 0) continue;
    if (isHint(text, bytes, at * 2) || isHint(text, bytes, at * 2 - 1)) return true;
  }
  return false;
}

function isHint(text: string, bytes: Uint8Array, start: number): boolean {
  if (hintStarts[tripleOf(bytes[start], bytes[start + 1], bytes[start + 2])] === 0) return false;
  secretHintAt.lastIndex = start;
  return secretHintAt.test(text);
}

function makeHintStarts(): Uint8Array {
  const starts = new Uint8Array(32_768);
  for (const beginning of beginnings) {
    starts[tripleOf(beginning.charCodeAt(0), beginning.charCodeAt(1), beginning.charCodeAt(2))] = 1;
  }
  return starts;
}

/** 1 for each two bytes, read as one number, that are the first or the last two of a beginning. */
function makePairs(): Uint8Array {
  const made = new Uint8Array(65_536);
  const two = new Uint8Array(2);
  const asOne = new Uint16Array(two.buffer);
  for (const beginning of beginnings) {
    for (const position of [0, 1]) {
      const letters = beginning.slice(position, position + 2);
      for (const one of bothCases(letters[0])) {
        for (const other of bothCases(letters[1])) {
          two.set([one, other]);
          made[asOne[0] ?? 0] = 1;
        }
      }
    }
  }
  return made;
}

function tripleOf(first = 0, second = 0, third = 0): number {
  return ((first & 31) << 10) | ((second & 31) << 5) | (third & 31);
}

function bothCases(letter = ""): number[] {
  return [letter.toLowerCase().charCodeAt(0), letter.toUpperCase().charCodeAt(0)];
}

/** True if a text may contain a secret. Fast; may be wrong in this direction only. */
export function mayHoldSecret(text: string): boolean {
  return secretHint.test(text);
}

const secretName =
  /(?:^|[^a-z])(?:pwd|pass|pin|jwt|auth|bearer)$|(?:token|(?:authorization|password|passwd|passphrase|passcode|secret|apikey|accesskey|secretkey|privatekey|signingkey|credential|cookie|sessionid|clientassertion)s?)$/;
/** Endings after the name of a secret: `passwordConfirmation`, `password2`, `token_value`. */
const nameEnd = /[-_.\s]?(?:value|string|text|pem|confirm(?:ation|ed)?|again|repeat(?:ed)?|\d{1,2})$/;
/** Tokens that give no access. */
const harmlessName = /(?:progress|page|continuation|cancel|sync|next|max|stop|per)[-_.]?token$/i;

/** True if a value with this name is a secret. */
export function hasSecretName(name: string): boolean {
  if (name.length > 200 || !mayBeSecretName.test(name) || harmlessName.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(nameEnd, "");
  return secretName.test(words) || secretName.test(words.replace(/[-_.\s]/g, ""));
}

/** True if an environment variable with this name is a secret. */
export function isSecretVariable(name: string): boolean {
  return hasSecretName(name) || /(?:^|_)(?:key|salt|seed|mnemonic|tok|pat|pw|psw|creds?)$/i.test(name);
}

/** True if a value looks like a key: long, of letters and digits, and no path. */
export function isKey(value: string): boolean {
  return /^[\w+/=.-]{20,}$/.test(value) && /\d/.test(value) && /[a-z]/i.test(value) && !/^[./]/.test(value);
}

const mayBeSecretName = /auth|pass|pwd|pin|jwt|secret|token|key|credential|cookie|session|assertion|bearer/i;

/** True if the next item of a list is a secret: after a command's flag, or after the name of a header. */
export function isSecretFlag(item: unknown): boolean {
  return typeof item === "string" && (/^--?[a-z]/i.test(item) || headerName.test(item)) && hasSecretName(item);
}

const headerName = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{1,60})$/i;

const word = String.raw`[\w.-]`;
const named = `(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?assertion)`;

/** Each pattern starts at a word boundary and has no nested repetition, so it takes linear time. */
const shapes: readonly { readonly pattern: RegExp; readonly instead: (mark: string) => string }[] = [
  {
    pattern: /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z\d ]{0,40}PRIVATE KEY-----|$)/g,
    instead: (mark) => mark,
  },
  { pattern: /(?<![\w-])(Bearer|Basic|DPoP|Negotiate)\s{1,8}[\w.~+/-]{6,}=*/gi, instead: (mark) => `$1 ${mark}` },
  { pattern: /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){1,3}/g, instead: (mark) => mark },
  {
    pattern:
      /(?<![A-Za-z\d])(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abeprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z\d]{16}|AIza[\w-]{30,}|glpat-[\w-]{16,}|npm_\w{20,}|[sr]k_(?:live|test)_\w{10,})/g,
    instead: (mark) => mark,
  },
  { pattern: /([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/@"?#]{1,1024}@/gi, instead: (mark) => `$1${mark}@` },
  {
    pattern: new RegExp(
      String.raw`([?&;](?:[\w.-]{0,40}?(?:${named}|jwt)|code|key|sig|signature|auth|x-amz-[a-z-]{0,40})=)[^&#\s"'<>]{1,4096}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  // Up to the closing quote; JSON inside JSON escapes its quotes with backslashes.
  {
    pattern: new RegExp(
      String.raw`(?<!${word})(${word}{0,64}?${named}\\{0,15}["']?\s{0,3}[=:]\s{0,3}(\\{0,15}["']))(?!\[redacted\])(?:(?!(?<!\\)\2)[\s\S]){1,65536}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  {
    pattern: new RegExp(
      String.raw`(?<![\w-])(--[\w-]{0,40}?(?:${named}|pass)\s{1,3})(?![-<[])(?:"[^"]{1,4096}"?|'[^']{1,4096}'?|[^\s"']{1,4096})`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  {
    pattern: new RegExp(
      String.raw`(?<!${word})(${word}{0,64}?${named}["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[redacted\])[^\s"'&,;]{1,4096}`,
      "gi",
    ),
    instead: (mark) => `$1${mark}`,
  },
  { pattern: /((?:set-)?cookie["']?\s{0,3}:\s{0,3})[^\r\n"]{1,8192}/gi, instead: (mark) => `$1${mark}` },
  { pattern: /(authorization["']?\s{0,3}:\s{0,3})(?!\[)[^\r\n",}]{1,8192}/gi, instead: (mark) => `$1${mark}` },
];

/** Replaces everything in a text that looks like a secret. */
export function replaceSecrets(text: string, mark: string): string {
  let left = text;
  for (const { pattern, instead } of shapes) left = left.replace(pattern, instead(mark));
  return left;
}

/** A text that is too long to store. Its digest is computed later. */
export interface LongText {
  /** Placeholder of the digest. */
  readonly mark: string;
  readonly text: string;
}

/** True if a value is small enough to be written unchanged. Stops as soon as it is not. */
export function isSmall(value: unknown): boolean {
  return measure(value, maxEntryChars / 2, 0) >= 0;
}

/** Returns the characters that remain; less than 0 if the value is too large. */
function measure(value: unknown, remaining: number, depth: number): number {
  if (typeof value === "string") return remaining - value.length * 2;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? -1 : remaining - 8;
  // Not with `in`, which costs more than the rest of this function.
  if (depth > maxEntryDepth || typeof (value as { toJSON?: unknown }).toJSON === "function") return -1;
  let left = remaining - 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at++) left = measure(value[at], left - 1, depth + 1);
    return left;
  }
  for (const name in value) {
    left = measure(value[name as keyof typeof value], left - name.length * 2 - 4, depth + 1);
    if (left < 0) return left;
  }
  return left;
}

/**
 * Copies a value so that it can be written and stays small: long texts become `{ digest, chars, head }`, and what is
 * too much or too deep is only counted.
 */
export function shorten(value: unknown, steps: ShortenSteps, long: LongText[]): unknown {
  return new Shortener(steps, long).shorten(value, 0);
}

/** Functions that `shorten` needs. */
export interface ShortenSteps {
  /** Returns a placeholder for a digest. */
  mark(): string;
  /** Redacts a text. */
  clean(text: string): string;
}

class Shortener {
  readonly #steps: ShortenSteps;
  readonly #long: LongText[];
  #remaining = shortenedEntryChars;
  #items = maxEntryItems;

  constructor(steps: ShortenSteps, long: LongText[]) {
    this.#steps = steps;
    this.#long = long;
  }

  shorten(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "bigint") return this.#text(String(value));
    if (typeof value !== "object" || value === null) return value;
    if ("toJSON" in value && typeof value.toJSON === "function") return this.#text(String(value.toJSON()));
    if (depth > maxEntryDepth) return { tooDeep: true };
    if (Array.isArray(value)) {
      const items = this.#members(value.length, (at) => ["", value[at]], depth).map(([, item]) => item);
      return items.length < value.length ? [...items, { leftOut: value.length - items.length }] : items;
    }
    const names = Object.keys(value);
    const kept = this.#members(names.length, (at) => memberAt(value, names, at), depth);
    return Object.fromEntries(kept.length < names.length ? [...kept, ["leftOut", names.length - kept.length]] : kept);
  }

  /** Returns as many members as fit. */
  #members(count: number, at: (index: number) => [string, unknown], depth: number): [string, unknown][] {
    const kept: [string, unknown][] = [];
    for (let index = 0; index < count && this.#items > 0 && this.#remaining > 0; index++) {
      const [name, item] = at(index);
      const shown = name.length > maxMemberNameChars ? `${this.#head(name, maxMemberNameChars)}…` : name;
      this.#items -= 1;
      this.#remaining -= JSON.stringify(shown).length + 30;
      kept.push([shown, this.shorten(item, depth + 1)]);
    }
    return kept;
  }

  #text(text: string): unknown {
    if (text.length <= maxEntryTextChars) {
      this.#remaining -= JSON.stringify(text).length;
      return text;
    }
    const mark = this.#steps.mark();
    this.#long.push({ mark, text });
    const head = this.#head(text, textHeadChars);
    this.#remaining -= JSON.stringify(head).length + 100;
    return { digest: mark, chars: text.length, head };
  }

  /** Redacted before it is cut, because a part of a secret is not recognized. */
  #head(text: string, chars: number): string {
    return this.#steps.clean(text.slice(0, cleanedTextChars)).slice(0, chars);
  }
}

function memberAt(value: object, names: readonly string[], index: number): [string, unknown] {
  const name = names[index] ?? "";
  return [name, value[name as keyof typeof value]];
}
