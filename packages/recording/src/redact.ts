import { isUtf8 } from "node:buffer";
import { createRedactor, redact } from "portolan-host";

/** Replaces a secret. */
export const redactedMark = "[redacted]";
const schemas = new Set(["inputSchema", "outputSchema", "requestedSchema"]);
/** At most this many nested encodings: JSON in JSON, base64 of base64. */
const maxDepth = 4;
/** At most this many secrets found in messages, because each is searched for in every text. */
const maxSecrets = 64;
/** Longer texts are not searched for encoded content. */
const maxInner = 4 * 1024 * 1024;

/** Removes secrets from messages. A secret that was found once is removed everywhere, also encoded. */
export class MessageRedactor {
  readonly #redactor = createRedactor();
  readonly #known = new Set<string>();
  /** At most this many known secrets; `learn` adds to it. */
  #maxSecrets = maxSecrets;

  /** The number of known secrets. */
  get size(): number {
    return this.#known.size;
  }

  /** Adds the secrets of an entry, an environment or request headers. */
  learn(value: unknown): void {
    this.#compare(value, this.#redactor.redact(value), (secret) => isDistinctive(secret) || isUncommon(secret));
    this.#maxSecrets = this.size + maxSecrets;
  }

  /** Returns the message without secrets, or the same object if there are none. */
  redact<T>(message: T): T {
    const size = this.size;
    const cleaned = this.#clean(message, 0) as T;
    // A secret found at the end of a message may also stand at its beginning.
    return size === this.size ? cleaned : this.redact(message);
  }

  #clean(value: unknown, depth: number): unknown {
    // Encoded content first: it is decoded, redacted, and encoded again if it changed.
    const opened = depth < maxDepth ? this.#redactInner(value, depth) : value;
    const cleaned = this.#restoreSchemas(opened, this.#redactor.redact(opened));
    this.#compare(opened, cleaned, (secret) => this.size < this.#maxSecrets && isDistinctive(secret));
    return cleaned;
  }

  /** Keeps field names such as `password` in a schema: they are not secrets. */
  #restoreSchemas(original: unknown, redacted: unknown): unknown {
    if (original === redacted || !isObject(original) || !isObject(redacted)) return redacted;
    if (Array.isArray(original)) {
      return original.map((item, at) => this.#restoreSchemas(item, (redacted as unknown as unknown[])[at]));
    }
    const names = Object.keys(redacted);
    const restored = Object.entries(original).map(([name, value], at): [string, unknown] => [
      names[at] ?? name,
      schemas.has(name) && isObject(value)
        ? redactSchema(value, (part) => this.#redactor.redact(part))
        : this.#restoreSchemas(value, redacted[names[at] ?? name]),
    ]);
    return Object.fromEntries(restored);
  }

  /** Finds what was redacted, and remembers it if it can be recognized again. */
  #compare(original: unknown, cleaned: unknown, isKept: (secret: string) => boolean): void {
    if (original === cleaned) return;
    if (cleaned === redactedMark) {
      for (const leaf of leavesOf(original)) if (isKept(leaf)) this.#hide(leaf);
    } else if (typeof original === "string" && typeof cleaned === "string") {
      for (const secret of removedParts(original, cleaned)) if (isKept(secret)) this.#hide(secret);
    } else if (isObject(original) && isObject(cleaned)) {
      const values = Object.values(cleaned);
      for (const [at, value] of Object.values(original).entries()) this.#compare(value, values[at], isKept);
    }
  }

  #hide(secret: string): void {
    if (this.#known.has(secret) || secret.includes(redactedMark)) return;
    this.#known.add(secret);
    this.#redactor.add(secret);
    for (const form of formsOf(secret)) this.#redactor.add(form);
    const [, credentials] = /^(?:Bearer|Basic|DPoP)\s+(\S+)$/i.exec(secret) ?? [];
    if (credentials === undefined) return;
    this.#hide(credentials);
    const [, password = ""] = /^[^:]*:(.+)$/s.exec(Buffer.from(credentials, "base64").toString()) ?? [];
    if (/^basic/i.test(secret) && password.length >= 4) this.#hide(password);
  }

  /** Redacts encoded content: JSON in a string, or base64 of text. */
  #redactInner(value: unknown, depth: number): unknown {
    if (typeof value === "string") return value.length <= maxInner ? this.#redactText(value, depth) : value;
    if (!isObject(value)) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#redactInner(item, depth));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    let isChanged = false;
    const entries = Object.entries(value).map(([name, part]): [string, unknown] => {
      const opened: [string, unknown] = [this.#redactText(name, depth), this.#redactInner(part, depth)];
      isChanged ||= opened[0] !== name || opened[1] !== part;
      return opened;
    });
    return isChanged ? Object.fromEntries(entries) : value;
  }

  #redactText(text: string, depth: number): string {
    if (/^\s*[[{"]/.test(text)) {
      const inner = parse(text);
      if (inner !== undefined) {
        const cleaned = this.#clean(inner, depth + 1);
        return cleaned === inner || JSON.stringify(cleaned) === JSON.stringify(inner) ? text : JSON.stringify(cleaned);
      }
    }
    return text.replace(encoded, (run) => {
      const bytes = Buffer.from(run, "base64");
      if (!isUtf8(bytes) || unprintable.test(bytes.toString())) return run;
      const inner = bytes.toString();
      const cleaned = this.#clean(inner, depth + 1);
      if (cleaned === inner || typeof cleaned !== "string") return run;
      return run === text ? Buffer.from(cleaned).toString("base64") : redactedMark;
    });
  }
}

/** Redacts a message by itself, without secrets from elsewhere. */
export function redactMessage<T>(message: T): T {
  return new MessageRedactor().redact(message);
}

const encoded = /[A-Za-z\d+/_-]{16,}={0,2}/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: no text has them
const unprintable = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/** True if a secret is not a common word. Replacing common words would destroy other text. */
function isDistinctive(secret: string): boolean {
  if (secret.length >= 16) return true;
  return secret.length >= 6 && (/[^a-z]/i.test(secret) || /[a-z][A-Z]|[A-Z]{2}[a-z]/.test(secret));
}

/** True if a declared secret is not a common word of protocols and programs. */
function isUncommon(secret: string): boolean {
  return (
    secret.length >= 8 && !/^(?:passwords?|disabled|enabled|required|optional|undefined|[a-z]*token)$/i.test(secret)
  );
}

function leavesOf(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return isObject(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** Returns the parts that redaction removed from a text. */
function removedParts(original: string, cleaned: string): string[] {
  const kept = cleaned.split(redactedMark);
  const found: string[] = [];
  let from = original.startsWith(kept[0] ?? "") ? (kept[0] ?? "").length : 0;
  for (const [at, part] of kept.slice(1).entries()) {
    const isLast = at === kept.length - 2;
    const to =
      part === "" && isLast ? original.length : isLast ? original.lastIndexOf(part) : original.indexOf(part, from + 1);
    if (to <= from) return found;
    found.push(original.slice(from, to));
    from = to + part.length;
  }
  return found;
}

/** Returns encoded forms of a secret: URL, base64, hexadecimal. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms = [encodeURIComponent(bytes.toString())];
  if (bytes.length < 8) return forms;
  // Base64 depends on the offset within three bytes; only the characters that the secret alone decides are searched
  // for.
  const cores = [0, 1, 2].flatMap((before) => {
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    return [all.toString("base64").slice(from, to), all.toString("base64url").slice(from, to)];
  });
  return [...forms, ...cores, bytes.toString("hex"), bytes.toString("hex").toUpperCase()];
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Schema = { readonly [keyword: string]: unknown };

/** Keywords with a schema for each field name, which may be `password`. */
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keywords with a schema or a list of schemas. */
const nested = new Set([
  ...["items", "prefixItems", "additionalProperties", "contains", "propertyNames", "unevaluatedProperties"],
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
]);
/** Keywords with a value, which is a secret if the field is. */
const values = new Set(["default", "const", "enum", "examples", "example"]);

/** Redacts a schema: field names stay, values of secret fields go. */
function redactSchema(schema: Schema, clean: (value: unknown) => unknown, isSecret = false): unknown {
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (named.has(keyword) && isSchema(value)) return [keyword, redactMembers(value, clean)];
    if (nested.has(keyword) && Array.isArray(value)) {
      return [keyword, value.map((each) => (isSchema(each) ? redactSchema(each, clean, isSecret) : clean(each)))];
    }
    if (nested.has(keyword) && isSchema(value)) return [keyword, redactSchema(value, clean, isSecret)];
    if (values.has(keyword) && isSecret) return [keyword, redactUnder("password", value, clean)];
    return [keyword, redactUnder(keyword, value, clean)];
  });
  return Object.fromEntries(entries);
}

function redactMembers(members: Schema, clean: (value: unknown) => unknown): Schema {
  const cleaned = Object.entries(members).map(([name, member]): [string, unknown] => {
    const isSecret = redactUnder(name, "x", redact) !== "x";
    return [name, isSchema(member) ? redactSchema(member, clean, isSecret) : redactUnder(name, member, clean)];
  });
  return Object.fromEntries(cleaned);
}

/** Redacts a value as a member of this name. */
function redactUnder(name: string, value: unknown, clean: (value: unknown) => unknown): unknown {
  return Object.values(clean({ [name]: value }) as object)[0];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
