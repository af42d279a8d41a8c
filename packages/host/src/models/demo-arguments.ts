import type { JsonObject } from "portolan";
import type { ModelTool } from "./model.ts";

/** Arguments for a call, and the names of those that are needed and were not found. */
export interface Filled {
  readonly input: JsonObject;
  readonly missing: readonly string[];
}

/** Fills the arguments of a tool from a prompt, by its schema; `mustFill` takes any value of the type for what is needed. */
export function fillArguments(prompt: string, { inputSchema }: ModelTool, mustFill = false): Filled {
  const properties = isObject(inputSchema["properties"]) ? inputSchema["properties"] : {};
  const required = Array.isArray(inputSchema["required"]) ? inputSchema["required"] : [];
  const needed = Object.keys(properties).filter((name) => required.includes(name));
  const others = Object.keys(properties).filter((name) => !required.includes(name));
  const finds = createFinds(prompt);
  const input: JsonObject = {};
  const missing: string[] = [];
  for (const name of [...needed, ...others]) {
    const schema = isObject(properties[name]) ? properties[name] : {};
    const isNeeded = required.includes(name);
    const value = valueFor(name, schema, finds, isNeeded);
    if (value !== undefined) input[name] = value;
    else if (isNeeded && "default" in schema) input[name] = schema["default"];
    else if (isNeeded && mustFill) input[name] = anyOf(schema);
    else if (isNeeded) missing.push(name);
  }
  return { input, missing };
}

function valueFor(name: string, schema: JsonObject, finds: Finds, isNeeded: boolean): unknown {
  if ("const" in schema) return isNeeded ? schema["const"] : undefined;
  const stated = finds.stated(name);
  if (stated !== undefined) return toType(stated, schema);
  if (Array.isArray(schema["enum"])) return finds.word(schema["enum"]);
  switch (typeOf(schema)) {
    case "boolean":
      return finds.flag(wordsOf(name));
    case "integer":
      return finds.number(wordsOf(name), (value) => Number.isInteger(value) && isWithin(value, schema), isNeeded);
    case "number":
      return finds.number(wordsOf(name), (value) => isWithin(value, schema), isNeeded);
    case "array":
      return isNeeded ? listFor(schema, finds) : undefined;
    case "object":
      return finds.json();
    default:
      return textFor(name, schema, finds, isNeeded);
  }
}

function textFor(name: string, schema: JsonObject, finds: Finds, isNeeded: boolean): string | undefined {
  const format = schema["format"];
  if (format === "date" || format === "date-time" || /date|day\b/i.test(name)) {
    const date = finds.date();
    if (date !== undefined || format === "date" || format === "date-time") return date;
  }
  if (format === "uri" || /ur[il]$/i.test(name)) return finds.url();
  if (format === "email" || /e?mail/i.test(name)) return finds.email();
  const isPath = /path|file|folder|dir/i.test(name);
  if (isPath) return finds.path() ?? (isNeeded ? finds.quoted() : undefined);
  // What is not needed is taken from quotes only by its name.
  if (!isNeeded) return undefined;
  if (/query|question|prompt|search|text|message|content|title|body|note/i.test(name)) {
    return finds.quoted() ?? finds.phrase() ?? finds.rest();
  }
  return finds.quoted() ?? finds.name() ?? finds.phrase();
}

function listFor(schema: JsonObject, finds: Finds): unknown[] | undefined {
  const items = isObject(schema["items"]) ? schema["items"] : {};
  const values: unknown[] = [];
  // Each find is taken once: the loop ends with the prompt.
  for (let value = valueFor("", items, finds, true); value !== undefined; value = valueFor("", items, finds, true)) {
    values.push(value);
    if (typeof value === "boolean" || Array.isArray(items["enum"]) || values.length === 20) break;
  }
  return values.length > 0 ? values : undefined;
}

/** What was written as `name=value`, as the schema wants it; undefined when it cannot be. */
function toType(text: string, schema: JsonObject): unknown {
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
    case "boolean":
      return /^(true|yes|on|1)$/i.test(text) ? true : /^(false|no|off|0)$/i.test(text) ? false : undefined;
    case "array":
      return text.split(",").map((item) => toType(item.trim(), isObject(schema["items"]) ? schema["items"] : {}));
    case "object":
      return undefined;
    default:
      return text;
  }
}

function anyOf(schema: JsonObject): unknown {
  if (Array.isArray(schema["enum"])) return schema["enum"][0];
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "demo";
  }
}

function typeOf({ type }: JsonObject): unknown {
  return Array.isArray(type) ? type.find((one) => one !== "null") : type;
}

function isWithin(value: number, { minimum, maximum }: JsonObject): boolean {
  return !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

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

/** Words in small letters, without their endings: `listFiles` has `list` and `file`. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ").toLowerCase();
  return (parted.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !stopWords.has(word)).map(stem);
}

function stem(word: string): string {
  if (word.length > 5 && word.endsWith("ing")) return word.slice(0, -3);
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && word.endsWith("ed")) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}

/** Words that say nothing about what is wanted. */
const stopWords = new Set(
  "a an and any are as at be by can could do does for from give go have i in into is it its let like make me my of on one or our out please should show so some tell that the their them there these they this to up us use using want was we what when where which who will with would you your".split(
    " ",
  ),
);
