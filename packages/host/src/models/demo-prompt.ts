import type { JsonObject } from "portolan";
import { maxDemoListItems } from "./limits.ts";

/** Finds values for arguments in a prompt. Each part of the prompt is used once. */
export class PromptReader {
  /** Consumed matches become blanks, so that offsets stay valid. */
  #text: string;
  /** The date that was read last. */
  lastDate: string | undefined;
  /** The words of the tool's name and description, which are no values. */
  readonly #toolWords: ReadonlySet<string>;

  constructor(text: string, toolWords: ReadonlySet<string> = new Set()) {
    this.#text = text;
    this.#toolWords = toolWords;
  }

  /** Returns the value of `name=value` or `name: value`. */
  assigned(name: string): string | undefined {
    if (name === "") return undefined;
    const at = new RegExp(
      `(?<![\\p{L}\\p{N}_-])${escapePattern(name)}\\s*[=:]\\s*(?:"([^"]*)"|“([^”]*)”|'([^']*)'|(\\[[^\\]\\n]*\\]\\S*|\\{[^}\\n]*\\}\\S*)|([^\\s;]*[^\\s;.,!?]))`,
      "iu",
    );
    return this.#take(at);
  }

  /** Returns the first of some values that is a word of the prompt. */
  word(values: readonly unknown[]): unknown {
    return values.find((value) => this.#has(String(value)));
  }

  /** Returns true if the prompt has all words, false if "no" or "without" is before them, undefined otherwise. */
  flag(words: readonly string[]): boolean | undefined {
    const spoken = wordsOf(this.#text);
    if (words.length === 0 || !words.every((word) => spoken.includes(word))) return undefined;
    const [first = ""] = words;
    return !new RegExp(`\\b(?:no|not|non|without)[\\s-]+${escapePattern(first)}`, "i").test(this.#text);
  }

  /** Returns a number next to one of the words, or any number if `isAny`. */
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

  /** Returns a written date, or the day that words such as "tomorrow" or "on Friday" mean. */
  date(hasTime = false): string | undefined {
    const day = this.#date();
    const time = hasTime && day?.length === 10 ? this.#time() : undefined;
    const date = time === undefined ? day : `${day}T${time}`;
    this.lastDate = date ?? this.lastDate;
    return date;
  }

  /** Returns the time after "at": 10, 9:30 or 3 pm. */
  #time(): string | undefined {
    const found = /\bat\s+(\d{1,2})(?::(\d\d))?(?:\s*(am|pm|o['’]clock))?(?![\p{L}\p{N}:.])/iu.exec(this.#text);
    const [whole = "", digits, minutes = "00", half = ""] = found ?? [];
    const hour = Number(digits) + (/pm/i.test(half) && Number(digits) < 12 ? 12 : 0);
    if (!found || hour > 23 || Number(minutes) > 59) return undefined;
    this.#blank(found.index, whole.length);
    return `${String(hour).padStart(2, "0")}:${minutes}`;
  }

  #date(): string | undefined {
    const written = this.#take(/\b(\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?)\b/);
    if (written !== undefined) return written;
    if (this.#take(/\b(day after tomorrow)\b/i) !== undefined) return dayIn(2);
    const spoken = this.#take(/\b(today|tonight|tomorrow|next week)\b/i)?.toLowerCase();
    if (spoken !== undefined) return dayIn(spoken === "tomorrow" ? 1 : spoken === "next week" ? 7 : 0);
    const count = this.#take(/\bin (\d{1,3}) days?\b/i);
    if (count !== undefined) return dayIn(Number(count));
    const weekday = this.#take(/\b(?:(?:on|next|this)\s+)?((?:sun|mon|tues|wednes|thurs|fri|satur)day)\b/i);
    if (weekday === undefined) return undefined;
    const today = new Date().getUTCDay();
    return dayIn(((weekdays.indexOf(weekday.toLowerCase()) - today + 6) % 7) + 1);
  }

  /** Returns two dates with "to" or "and return on" between them as `first/last`. */
  dateRange(): string | undefined {
    const range = /\b(\d{4}-\d{2}-\d{2})\s*(?:to|until|and|\/|–|-)\s*(?:return on\s+)?(\d{4}-\d{2}-\d{2})\b/i.exec(
      this.#text,
    );
    if (range === null || `${range[1]}` > `${range[2]}`) return undefined;
    this.#blank(range.index, range[0].length);
    return `${range[1]}/${range[2]}`;
  }

  /** Returns the place after one of the prepositions: words with capital letters, or else one or two words. */
  place(prepositions: string): string | undefined {
    const before = `(?<!\\p{L})(?:${prepositions})\\s+(?:the\\s+)?`;
    const word = "[\\p{L}\\p{N}'’-]";
    return (
      this.#take(new RegExp(`${before}(\\p{Lu}${word}*(?:\\s\\p{Lu}${word}*)*)`, "u")) ??
      this.#take(new RegExp(`${before}(?!${noPlace})(\\p{L}${word}*(?: (?!${noPlace})\\p{L}${word}*)?)`, "u"))
    );
  }

  /** Returns the time zones that the prompt names, by their IANA name or by the city in it: Tokyo is Asia/Tokyo. */
  zones(most: number = maxDemoListItems): string[] {
    const found = Intl.supportedValuesOf("timeZone").flatMap((zone) => {
      const city = zone.split("/").at(-1)?.replaceAll("_", " ") ?? zone;
      const name = [zone, city].find((it) => this.#has(it));
      if (name === undefined) return [];
      const at = this.#text.toLowerCase().indexOf(name.toLowerCase());
      this.#blank(at, name.length);
      return [{ zone, at }];
    });
    return found
      .toSorted((a, b) => a.at - b.at)
      .slice(0, most)
      .map(({ zone }) => zone);
  }

  /** Returns numbers with operators between them. */
  calculation(): string | undefined {
    return this.#take(/((?:\b(?:sqrt|sin|cos|tan|log|exp|abs)\s*)?[-(\d][-\d\s.()+*/^%]*[\d)])/i)?.trim();
  }

  /** Returns the text after "with" or "prefer", or else after the last comma. */
  wish(): string | undefined {
    return (
      this.#take(/\b(?:prefer\p{L}*|wish\p{L}*|with|should be|must be)\s+([^\s.;!?][^.;!?\n]*)/iu) ??
      this.#take(/,\s*([^\s.,;!?][^.,;!?\n]*)[.!?]?\s*$/) ??
      this.#take(/\b(cheap(?:est)?|direct|earliest|early|fast(?:est)?|latest|non-?stop)\b/i)
    )?.trim();
  }

  /** Returns a word with letters and digits, such as PT121. */
  id(): string | undefined {
    return this.#take(/(?<![\p{L}\p{N}_-])(?=[\p{L}\p{N}_-]*\p{N})(\p{L}[\p{L}\p{N}_-]*)/u);
  }

  /** Returns what "remember that Ada likes tea" is about, and what it says. */
  fact(): { readonly subject: string; readonly said: string } | undefined {
    const [, subject, said] =
      /\bremember\s+(?:that\s+)?(?:my\s+|the\s+)?(\p{L}[\p{L}\p{N}'-]*)\s+(\S[^\n]*?)[.!]?\s*$/iu.exec(this.#text) ??
      [];
    return subject !== undefined && said !== undefined ? { subject, said } : undefined;
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

  /** Returns the name of a file or folder that has no dot and no slash: "the folder plans". */
  named(): string | undefined {
    return this.#take(
      new RegExp(
        `\\b(?:folder|directory|file|called|named)\\s+(?!${noPlace}|is|was|has|into)([\\p{L}\\p{N}_-]+)`,
        "iu",
      ),
    );
  }

  /** Returns words with a capital letter, after the first word of the prompt. */
  name(): string | undefined {
    return this.#take(/(?<=\S\s+)(\p{Lu}[\p{L}\p{N}'-]*(?:\s\p{Lu}[\p{L}\p{N}'-]*)*)/u);
  }

  /** Returns the text after a word such as "about" or "for". */
  phrase(): string | undefined {
    return this.#take(
      /\b(?:about|for|of|named|called|in|to|at|on|saying|from)\s+(?!(?:about|for|of|in|to|at|on|from)\s)(?:the\s+)?([^\s.,;!?][^.,;!?\n]*)/i,
    )?.trim();
  }

  /** Returns what "add", "create" and the like are to act on. */
  object(): string | undefined {
    return this.#take(
      /\b(?:add|create|book|enter|make|plan|put|schedule)\s+(?:an?\s+|the\s+)?(?:(?:calendar\s+)?(?:entry|event)(?:\s+(?:for|called|named))?\s+)?((?!(?:calendar|entry|event|in|my|on|to)\b)\p{L}.{0,200}?)\s*(?=\b(?:at|from|in|on|to)\s|[.,;!?\n]|$)/iu,
    )?.trim();
  }

  /** Returns the text to write: "with the text X", or "write X to". */
  written(): string | undefined {
    return (
      this.#take(/\b(?:containing|saying|with)\s+(?:the\s+)?(?:(?:text|contents?|words?)\b\s*:?\s*)?(\S[^\n]*)/i) ??
      this.#take(
        /\b(?:write|append|save|put)\s+(?!a\b|an\b|the\b|to\b|into\b|in\b)(\S[^\n]{0,500}?)\s+(?:to|into|in)\b/i,
      )
    )?.trim();
  }

  /** Returns the words that say nothing about the task and are none of the tool's: "Lisbon" in "weather Lisbon". */
  leftover(): string | undefined {
    const words = this.#text.match(/[\p{L}][\p{L}\p{N}'’-]*/gu) ?? [];
    const left = words.filter((word) => wordsOf(word).some((one) => !this.#toolWords.has(one) && !noValue.has(one)));
    return left.length > 0 && left.length <= maxLeftoverWords ? left.join(" ") : undefined;
  }

  /** Returns the rest of the prompt. */
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
      // Braces without JSON are ordinary text.
      return undefined;
    }
  }

  #has(word: string): boolean {
    return new RegExp(`(?<![\\p{L}\\p{N}])${escapePattern(word)}(?![\\p{L}\\p{N}])`, "iu").test(this.#text);
  }

  /** Consumes the match and returns its first group. */
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

const dayMs = 86_400_000;
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/** Words that end the name of a place, or are none. */
const noPlace =
  "(?:a|an|and|any|at|by|days?|for|from|in|it|its|like|me|my|now|of|on|or|our|please|right|that|the|this|to|us|week|weeks|with|your)(?!\\p{L})";

/** More words than these are a sentence, and no value. */
const maxLeftoverWords = 3;
/** Words of requests that are no values, in their stems. */
const noValue = new Set([
  "book",
  "check",
  "display",
  "find",
  "flight",
  "forecast",
  "hotel",
  "how",
  "need",
  "please",
  "right",
  "search",
  "today",
  "tomorrow",
  "weather",
]);

/** Returns the day so many days after another. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

/** Returns the day so many days from today. */
export function dayIn(days: number): string {
  return new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Splits a text into lower-case words without endings: `listFiles` gives `list` and `file`. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ").toLowerCase();
  return (parted.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !stopWords.has(word)).map(stem);
}

function stem(word: string): string {
  if (word.length > 5 && word.endsWith("ing")) return word.slice(0, -3);
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && word.endsWith("ed")) return word.slice(0, -2);
  const single = word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
  return single.length > 7 ? single.replace(/(?:ation|ator|ate)$/, "") : single;
}

/** Words that say nothing about the task. */
const stopWords = new Set(
  "a an and any are as at be by can could do does for from give go have i in into is it its let like make me my of on one or our out please should show so some tell that the their them there these they this to up us use using want was we what when where which who will with would you your".split(
    " ",
  ),
);
