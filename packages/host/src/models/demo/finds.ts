import type { JsonObject } from "portolan";
import { wordsOf } from "./rank.ts";

/** What a prompt has for arguments; each piece of it is taken once. */
export interface Finds {
  /** The value of `name=value` or `name: value`. */
  stated(name: string): string | undefined;
  /** The first of some values that is a word of the prompt. */
  word(values: readonly unknown[]): unknown;
  /** Whether the prompt speaks of this, with or without a "no" before it. */
  flag(words: readonly string[]): boolean | undefined;
  /** A number beside one of the words, or else any if `isAny`. */
  number(words: readonly string[], fits: (value: number) => boolean, isAny: boolean): number | undefined;
  date(): string | undefined;
  url(): string | undefined;
  email(): string | undefined;
  path(): string | undefined;
  quoted(): string | undefined;
  /** Words with a capital letter, after the first word of the prompt. */
  name(): string | undefined;
  /** What follows a word such as "about" or "for". */
  phrase(): string | undefined;
  /** All of the prompt that is left. */
  rest(): string | undefined;
  json(): JsonObject | undefined;
}

/** Longer prompts are looked at only so far. */
const maxLength = 4_000;

export function createFinds(prompt: string): Finds {
  return new Prompt(prompt.slice(0, maxLength));
}

class Prompt implements Finds {
  /** What was taken is blank, so that places stay the same. */
  #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  stated(name: string): string | undefined {
    if (name === "") return undefined;
    const at = new RegExp(
      `(?<![\\p{L}\\p{N}_-])${literally(name)}\\s*[=:]\\s*(?:"([^"]*)"|“([^”]*)”|'([^']*)'|([^\\s;]*[^\\s;.,!?]))`,
      "iu",
    );
    return this.#take(at);
  }

  word(values: readonly unknown[]): unknown {
    return values.find((value) => this.#has(String(value)));
  }

  flag(words: readonly string[]): boolean | undefined {
    const said = wordsOf(this.#text);
    if (words.length === 0 || !words.every((word) => said.includes(word))) return undefined;
    const [first = ""] = words;
    return !new RegExp(`\\b(?:no|not|non|without)[\\s-]+${literally(first)}`, "i").test(this.#text);
  }

  number(words: readonly string[], fits: (value: number) => boolean, isAny: boolean): number | undefined {
    const all = [...this.#text.matchAll(/(?<![\p{L}\p{N}_.:/-])-?\d+(?:\.\d+)?(?![\p{L}\p{N}_:/-])/gu)].filter(
      (match) => fits(Number(match[0])),
    );
    const isBeside = ({ index, 0: digits }: RegExpExecArray) => {
      const before = wordsOf(this.#text.slice(0, index)).at(-1) ?? "";
      const after = wordsOf(this.#text.slice(index + digits.length))[0] ?? "";
      return words.includes(before) || words.includes(after);
    };
    const found = all.find(isBeside) ?? (isAny ? all[0] : undefined);
    if (found === undefined) return undefined;
    this.#blank(found.index, found[0].length);
    return Number(found[0]);
  }

  date(): string | undefined {
    return this.#take(/\b(\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?)\b/);
  }

  url(): string | undefined {
    return this.#take(/\b([a-z][a-z0-9+.-]*:\/\/[^\s"<>]*[^\s"<>.,;:!?)])/i);
  }

  email(): string | undefined {
    return this.#take(/([\w.+-]+@[\w-]+(?:\.[\w-]+)+)/);
  }

  path(): string | undefined {
    return this.#take(
      /(?<![\p{L}\p{N}])((?:~|\.{1,2})?\/[^\s"”]*[^\s"”.,;:!?]|[\p{L}\p{N}_-]+(?:\/[\p{L}\p{N}_.-]+)*\.[\p{L}\p{N}]{1,8}(?![\p{L}\p{N}]))/u,
    );
  }

  quoted(): string | undefined {
    return this.#take(/"([^"]+)"|“([^”]+)”|(?<!\p{L})'([^']+)'|`([^`]+)`/u);
  }

  name(): string | undefined {
    return this.#take(/(?<=\S\s+)(\p{Lu}[\p{L}\p{N}'-]*(?:\s\p{Lu}[\p{L}\p{N}'-]*)*)/u);
  }

  phrase(): string | undefined {
    return this.#take(
      /\b(?:about|for|of|named|called|in|to|at|on|saying|from)\s+(?:the\s+)?([^\s.,;!?][^.,;!?\n]*)/i,
    )?.trim();
  }

  rest(): string | undefined {
    const text = this.#text.replace(/\s+/g, " ").trim();
    this.#text = "";
    return text || undefined;
  }

  json(): JsonObject | undefined {
    const start = this.#text.indexOf("{");
    const end = this.#text.lastIndexOf("}");
    if (start === -1 || end < start) return undefined;
    try {
      const value: unknown = JSON.parse(this.#text.slice(start, end + 1));
      this.#blank(start, end + 1 - start);
      return value as JsonObject;
    } catch {
      // Braces that are no JSON are text like any other.
      return undefined;
    }
  }

  #has(word: string): boolean {
    return new RegExp(`(?<![\\p{L}\\p{N}])${literally(word)}(?![\\p{L}\\p{N}])`, "iu").test(this.#text);
  }

  /** Takes the first group that matched. */
  #take(pattern: RegExp): string | undefined {
    const match = pattern.exec(this.#text);
    const found = match?.slice(1).find((group) => group !== undefined);
    if (match === null || found === undefined) return undefined;
    this.#blank(match.index, match[0].length);
    return found;
  }

  #blank(start: number, length: number): void {
    this.#text = this.#text.slice(0, start) + " ".repeat(length) + this.#text.slice(start + length);
  }
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
