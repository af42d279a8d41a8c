/** A text too long to keep: its digest is worked out later, since that takes time. */
export interface LongText {
  /** Stands for the digest until it is known. */
  readonly mark: string;
  readonly text: string;
}

/** What an entry may hold, in characters of its JSON. */
export const maxEntryChars = 65_536;
const maxTextChars = 2_048;
const headChars = 256;
const cleanedChars = 8_192;
const maxDepth = 32;
const maxItems = 500;
const maxNameChars = 256;
/** Of JSON, before secrets are replaced by a mark that may be longer, and before the last text. */
const roomChars = 40_000;

/** Whether a value is small enough to be written as it is; looks no further than it must. */
export function isSmall(value: unknown): boolean {
  return measure(value, maxEntryChars / 2, 0) >= 0;
}

/** What is left of the room, less than 0 when there is too little. */
function measure(value: unknown, room: number, depth: number): number {
  if (typeof value === "string") return room - value.length * 2;
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? -1 : room - 8;
  // Not with `in`, which costs more than all the rest of this.
  if (depth > maxDepth || typeof (value as { toJSON?: unknown }).toJSON === "function") return -1;
  let left = room - 2;
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
  #room = roomChars;
  #items = maxItems;

  constructor(steps: ShortenSteps, long: LongText[]) {
    this.#steps = steps;
    this.#long = long;
  }

  shorten(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "bigint") return this.#text(String(value));
    if (typeof value !== "object" || value === null) return value;
    if ("toJSON" in value && typeof value.toJSON === "function") return this.#text(String(value.toJSON()));
    if (depth > maxDepth) return { tooDeep: true };
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
    for (let index = 0; index < count && this.#items > 0 && this.#room > 0; index++) {
      const [name, item] = at(index);
      const shown = name.length > maxNameChars ? `${this.#head(name, maxNameChars)}…` : name;
      this.#items -= 1;
      this.#room -= JSON.stringify(shown).length + 30;
      kept.push([shown, this.shorten(item, depth + 1)]);
    }
    return kept;
  }

  #text(text: string): unknown {
    if (text.length <= maxTextChars) {
      this.#room -= JSON.stringify(text).length;
      return text;
    }
    const mark = this.#steps.mark();
    this.#long.push({ mark, text });
    const head = this.#head(text, headChars);
    this.#room -= JSON.stringify(head).length + 100;
    return { digest: mark, chars: text.length, head };
  }

  /** Cleaned before it is cut: a part of a secret is not known for one. */
  #head(text: string, chars: number): string {
    return this.#steps.clean(text.slice(0, cleanedChars)).slice(0, chars);
  }
}

function memberAt(value: object, names: readonly string[], index: number): [string, unknown] {
  const name = names[index] ?? "";
  return [name, value[name as keyof typeof value]];
}
