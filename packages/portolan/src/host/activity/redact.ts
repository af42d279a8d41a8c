import { mayHoldSecretIn } from "./secret-scan.ts";
import { hasSecretName, isSecretFlag, mayHoldSecret, replaceSecrets } from "./secrets.ts";

/** Takes secrets out of what is written down. */
export interface Redactor {
  /** From now on, this text is a secret wherever it stands; less than 4 characters are none. */
  add(secret: string): void;
  /** The value with its secrets replaced; the very same value when there are none. */
  redact(value: unknown): unknown;
  /** Whether a text, or the JSON of a value, may hold a secret; quicker with its bytes, and sometimes wrongly true. */
  mayConcern(text: string, bytes?: Uint8Array): boolean;
}

/** What stands where a secret was. */
const mark = "[redacted]";
/** Deeper than anybody reads, and far from the end of the stack. */
const maxDepth = 100;

/** A redactor that knows the usual shapes of secrets, and these. */
export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const redactor = new KnowingRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

/** Replaces what looks like a secret: by the names of members, flags and parameters, and by the shapes of keys. */
export function redact(value: unknown): unknown {
  return new KnowingRedactor().redact(value);
}

class KnowingRedactor implements Redactor {
  /** As they are, and as JSON writes them; the longest first, since one may be a part of another. */
  #secrets: string[] = [];

  add(secret: string): void {
    if (secret.length < 4 || this.#secrets.includes(secret)) return;
    const forms = new Set([...this.#secrets, ...formsOf(secret)]);
    this.#secrets = [...forms].sort((a, b) => b.length - a.length);
  }

  redact(value: unknown): unknown {
    return this.#walk(value, 0);
  }

  mayConcern(text: string, bytes?: Uint8Array): boolean {
    if (bytes ? mayHoldSecretIn(text, bytes) : mayHoldSecret(text)) return true;
    for (const secret of this.#secrets) if (text.includes(secret)) return true;
    return false;
  }

  #walk(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > maxDepth) return mark;
    return Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth);
  }

  #text(text: string): string {
    if (!this.mayConcern(text)) return text;
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
      const shown = isSecret && isSubstance(item) ? mark : this.#walk(item, depth + 1);
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
function isSubstance(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && typeof value !== "boolean";
}
