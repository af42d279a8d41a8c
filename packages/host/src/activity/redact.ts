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
/** Takes secrets out of what is written down. */
export interface Redactor {
  /** From now on, this text is a secret wherever it stands; less than 4 characters are none. */
  add(secret: string): void;
  /** The value with its secrets replaced; the very same value when there are none. */
  redact(value: unknown): unknown;
  /** Whether a text, or the JSON of a value, may hold a secret; quicker with its bytes, and sometimes wrongly true. */
  mayContainSecret(text: string, bytes?: Uint8Array): boolean;
}

/** What stands where a secret was. */
const mark = "[redacted]";

/** A redactor that knows the usual shapes of secrets, and these. */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const redactor = new PatternRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

/** Replaces what looks like a secret: by the names of members, flags and parameters, and by the shapes of keys. */
export function redact(value: unknown): unknown {
  return new PatternRedactor().redact(value);
}

class PatternRedactor implements Redactor {
  /** As they are, and as JSON writes them; the longest first, since one may be a part of another. */
  #secrets: string[] = [];

  add(secret: string): void {
    if (secret.length < minSecretChars || this.#secrets.includes(secret)) return;
    const forms = new Set([...this.#secrets, ...formsOf(secret)]);
    this.#secrets = [...forms].sort((a, b) => b.length - a.length);
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

/** A secret as it is, as JSON and addresses write it, and as base64 does. */
function formsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(new TextDecoder().decode(bytes))];
  if (bytes.length < 8 || bytes.length > 4_096) return forms;
  // Where it begins within three bytes decides how it is written; only what it alone decides is looked for.
  const cores = [0, 1, 2].flatMap((before) => {
    const text = btoa(String.fromCharCode(...new Uint8Array(before), ...bytes));
    const core = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...forms, ...cores];
}

/** `{ name: "Authorization", value: … }`, as lists of headers and variables have it. */
function isNamedSecret(value: object): boolean {
  const name = "name" in value ? value.name : "key" in value ? value.key : undefined;
  return typeof name === "string" && hasSecretName(name);
}

/** Whether there is something to hide: that a password was asked for, or was empty, is worth knowing. */
function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}

/** The first three letters of each sign of a secret; capitals count the same. */
const beginnings: readonly string[] = [
  ...["aut", "aki", "asi", "aiz", "ass", "bea", "bas", "coo", "cre", "dpo", "eyj", "ghp", "gho", "ghu", "ghs", "ghr"],
  ...["git", "glp", "jwt", "key", "npm", "neg", "pas", "pwd", "pin", "rk_", "sec", "ses", "sk-", "sk_", "tok", "xox"],
  ...["---", "://", "?co", "&co", ";co", "?si", "&si", ";si", "?au", "&au", ";au", "?x-", "&x-", ";x-"],
];
/**
 * One look for anything that the patterns below could find; grouped by first letters, which is twice as fast. What each
 * begins with stands in secret-scan.ts, too.
 */
export const secretHint: RegExp =
  /a(?:uth|kia|sia|iza)|b(?:earer|asic )|c(?:ookie|redential)|dpop |eyj|g(?:h[pousr]_|ithub_pat_|lpat-)|jwt|key|n(?:pm_|egotiate )|p(?:ass|wd|in")|rk_|s(?:ecret|essi|k[-_])|token|xox[abeprs]-|-----begin|:\/\/[^/\s"@]*@|assertion|[?&;](?:code|sig|auth|x-amz)/i;
const secretHintAt = new RegExp(secretHint.source, "iy");

interface Tables {
  /** Whether two bytes, read as one number, can be the first or the last two of a beginning. */
  readonly pairs: Uint8Array;
  /** Whether three letters can be a beginning, by the five bits of each that capitals have, too. */
  readonly triples: Uint8Array;
}

let tables: Tables | undefined;

/**
 * Whether a text may hold a secret, given its UTF-8 bytes, too: as `mayHoldSecret` says, and quicker. Every
 * beginning covers two bytes at an even place, so that half of the places need no look.
 */
export function mayHoldSecretIn(text: string, bytes: Uint8Array): boolean {
  // The places of letters and bytes are the same only where each letter is one byte.
  if (bytes.length !== text.length || bytes.byteOffset % 2 !== 0) return secretHint.test(text);
  tables ??= makeTables();
  const { pairs, triples } = tables;
  const read = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
  for (let at = 0; at < read.length; at += 1) {
    if (pairs[read[at] ?? 0] === 0) continue;
    if (isHint(text, bytes, at * 2, triples) || isHint(text, bytes, at * 2 - 1, triples)) return true;
  }
  return false;
}

function isHint(text: string, bytes: Uint8Array, start: number, triples: Uint8Array): boolean {
  if (triples[tripleOf(bytes[start], bytes[start + 1], bytes[start + 2])] === 0) return false;
  secretHintAt.lastIndex = start;
  return secretHintAt.test(text);
}

function makeTables(): Tables {
  const pairs = new Uint8Array(65_536);
  const triples = new Uint8Array(32_768);
  const two = new Uint8Array(2);
  const asOne = new Uint16Array(two.buffer);
  for (const beginning of beginnings) {
    const [first, second, third] = new TextEncoder().encode(beginning);
    triples[tripleOf(first, second, third)] = 1;
    for (const position of [0, 1]) {
      const letters = beginning.slice(position, position + 2);
      for (const one of bothCases(letters[0])) {
        for (const other of bothCases(letters[1])) {
          two.set([one, other]);
          pairs[asOne[0] ?? 0] = 1;
        }
      }
    }
  }
  return { pairs, triples };
}

function tripleOf(first = 0, second = 0, third = 0): number {
  return ((first & 31) << 10) | ((second & 31) << 5) | (third & 31);
}

function bothCases(letter = ""): number[] {
  return [letter.toLowerCase().charCodeAt(0), letter.toUpperCase().charCodeAt(0)];
}

/** Whether a text may hold a secret; quick, and sometimes wrongly true. */
export function mayHoldSecret(text: string): boolean {
  return secretHint.test(text);
}

const secretName =
  /(?:^|[^a-z])(?:pwd|pass|pin|jwt|auth|bearer)$|(?:token|(?:authorization|password|passwd|passphrase|passcode|secret|apikey|accesskey|secretkey|privatekey|signingkey|credential|cookie|sessionid|clientassertion)s?)$/;
/** What names of secrets go on with: `passwordConfirmation`, `password2`, `token_value`. */
const nameEnd = /[-_.\s]?(?:value|string|text|pem|confirm(?:ation|ed)?|again|repeat(?:ed)?|\d{1,2})$/;
/** Tokens that open nothing. */
const harmlessName = /(?:progress|page|continuation|cancel|sync|next|max|stop|per)[-_.]?token$/i;

/** Whether what stands under this name is a secret. */
export function hasSecretName(name: string): boolean {
  if (name.length > 200 || !mayBeSecretName.test(name) || harmlessName.test(name)) return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(nameEnd, "");
  return secretName.test(words) || secretName.test(words.replace(/[-_.\s]/g, ""));
}

const mayBeSecretName = /auth|pass|pwd|pin|jwt|secret|token|key|credential|cookie|session|assertion|bearer/i;

/** Whether the next item of a list is a secret: behind a flag of a command, or behind the name of a header. */
export function isSecretFlag(item: unknown): boolean {
  return typeof item === "string" && (/^--?[a-z]/i.test(item) || headerName.test(item)) && hasSecretName(item);
}

const headerName = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{1,60})$/i;

const word = String.raw`[\w.-]`;
const named = `(?:password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|client[-_]?assertion)`;

/** Each begins where a word does and repeats nothing within a repetition, so that a long text takes its length in time. */
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
  // In quotes, to the one that ends it: in JSON within JSON each has backslashes of its own.
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

/** A text with all that looks like a secret replaced. */
export function replaceSecrets(text: string, mark: string): string {
  let left = text;
  for (const { pattern, instead } of shapes) left = left.replace(pattern, instead(mark));
  return left;
}

/** A text too long to keep: its digest is worked out later, since that takes time. */
export interface LongText {
  /** Stands for the digest until it is known. */
  readonly mark: string;
  readonly text: string;
}

/** Whether a value is small enough to be written as it is; looks no further than it must. */
export function isSmall(value: unknown): boolean {
  return measure(value, maxEntryChars / 2, 0) >= 0;
}

/** What is left of the room, less than 0 when there is too little. */
function measure(value: unknown, remaining: number, depth: number): number {
  if (typeof value === "string") return remaining - value.length * 2;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? -1 : remaining - 8;
  // Not with `in`, which costs more than all the rest of this.
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
 * A copy of any value that can be written and stays small: long texts become `{ digest, chars, head }`, and what is too
 * much or too deep is counted instead.
 */
export function shorten(value: unknown, steps: ShortenSteps, long: LongText[]): unknown {
  return new Shortener(steps, long).shorten(value, 0);
}

/** What a shortener leaves to others. */
export interface ShortenSteps {
  /** Makes a mark for a text's digest. */
  mark(): string;
  /** Takes secrets out of a text. */
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

  /** As many as there is room for. */
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

  /** Cleaned before it is cut: a part of a secret is not known for one. */
  #head(text: string, chars: number): string {
    return this.#steps.clean(text.slice(0, cleanedTextChars)).slice(0, chars);
  }
}

function memberAt(value: object, names: readonly string[], index: number): [string, unknown] {
  const name = names[index] ?? "";
  return [name, value[name as keyof typeof value]];
}
