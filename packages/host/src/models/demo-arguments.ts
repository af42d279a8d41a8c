import type { JsonObject } from "portolan";
import { isObject } from "portolan/internal";
import { maxDemoListItems, maxDemoPromptChars } from "./limits.ts";
import type { ModelTool } from "./model.ts";

/** The arguments of a call, and the required ones that were not found. */
export interface FilledArguments {
  readonly input: JsonObject;
  readonly missing: readonly string[];
}

/**
 * Fills the arguments of a tool from a prompt, guided by its schema. `mustFill` uses a default of the type for a
 * missing one.
 */
export function fillArguments(prompt: string, tool: ModelTool, mustFill = false): FilledArguments {
  const { inputSchema } = tool;
  const properties = isObject(inputSchema["properties"]) ? inputSchema["properties"] : {};
  const required = requiredOf(tool, properties);
  const schemaOf = (name: string) => alternativeOf(isObject(properties[name]) ? properties[name] : {});
  // Free text takes whatever is left, so it comes last; among equals, required arguments come first.
  const order = (name: string) => (isFreeText(name, schemaOf(name)) ? 2 : 0) + (required.includes(name) ? 0 : 1);
  const names = Object.keys(properties).sort((a, b) => order(a) - order(b));
  const reader = new PromptReader(prompt.slice(0, maxDemoPromptChars), wordsOfTool(tool));
  const values: JsonObject = {};
  // Assignments in the prompt are taken first: no other argument may take a part of it.
  const assigned = new Map(names.map((name) => [name, reader.assigned(name)]));
  for (const name of names) {
    const schema = schemaOf(name);
    const isRequired = required.includes(name);
    const text = assigned.get(name);
    const value = text === undefined ? valueFor(name, schema, reader, isRequired) : toType(text, schema);
    if (value !== undefined && isAccepted(value, schema)) values[name] = value;
    else if (isRequired && "default" in schema) values[name] = schema["default"];
    else if (isRequired && mustFill) values[name] = defaultFor(schema);
  }
  const given = Object.keys(properties).filter((name) => name in values);
  const missing = Object.keys(properties).filter((name) => required.includes(name) && !(name in values));
  return { input: Object.fromEntries(given.map((name) => [name, values[name]])), missing };
}

/** Returns the required arguments. A tool that writes needs a text, although its schema may also allow bytes instead. */
function requiredOf({ name, inputSchema }: ModelTool, properties: JsonObject): readonly unknown[] {
  const required = Array.isArray(inputSchema["required"]) ? inputSchema["required"] : [];
  const text = Object.keys(properties).find((property) => isWritten(property) && !required.includes(property));
  return text !== undefined && /(?:^|[_.-])(?:write|append|save)(?:$|[_-])/i.test(name)
    ? [...required, text]
    : required;
}

function isWritten(name: string): boolean {
  return /^(?:text|contents?)$/i.test(name);
}

function wordsOfTool({ name, description = "" }: ModelTool): ReadonlySet<string> {
  return new Set(wordsOf(`${name} ${description}`));
}

/** Returns true for a value that the schema allows, as far as its simple keywords tell. */
function isAccepted(value: unknown, schema: JsonObject): boolean {
  const { enum: allowed, minLength, maxLength, minItems, maxItems, pattern, format } = schema;
  if (Array.isArray(allowed)) return allowed.includes(value);
  if (typeof value === "number") return isWithin(value, schema);
  const length = typeof value === "string" ? [...value].length : Array.isArray(value) ? value.length : 0;
  const [least, most] = Array.isArray(value) ? [minItems, maxItems] : [minLength, maxLength];
  if ((typeof least === "number" && length < least) || (typeof most === "number" && length > most)) return false;
  if (typeof value !== "string") return true;
  if (format === "date" && !/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  return typeof pattern !== "string" || value.length > maxMatchedChars || matches(value, pattern);
}

/** Longer values are not matched: a pattern of a server may take very long. */
const maxMatchedChars = 64;

function matches(value: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    // The server decides about a pattern that this engine does not know.
    return true;
  }
}

/** Returns true if a prompt has a date or a path and the tool takes none. */
export function ignoresValues(prompt: string, { inputSchema: { properties } }: ModelTool): boolean {
  const reader = new PromptReader(prompt.slice(0, maxDemoPromptChars));
  const names = isObject(properties) ? Object.entries(properties) : [];
  const takesDate = names.some(([name, schema]) => isDate(name, isObject(schema) ? schema : {}));
  if (reader.date() !== undefined && !takesDate) return true;
  return reader.path() !== undefined && !names.some(([name]) => isPathName(name) || /ur[il]/i.test(name));
}

/**
 * Returns a value that the user can type for a missing argument. `input` holds the other ones: a stay ends after it
 * begins, and a journey does not end where it begins.
 */
export function exampleOf(name: string, schema: JsonObject, input: JsonObject = {}): string {
  const { examples, enum: allowed, description, minimum } = schema;
  const [example] = Array.isArray(examples) ? examples : Array.isArray(allowed) ? allowed : [];
  if (example !== undefined) return asTyped(String(example));
  if (isDate(name, schema)) return exampleDate(name, input);
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return String(typeof minimum === "number" ? minimum : 1);
    case "boolean":
      return "true";
    case "object":
      return JSON.stringify(objectExample(schema));
    case "array":
      return arrayExample(name, isObject(schema["items"]) ? schema["items"] : {});
    default:
  }
  const used = Object.values(input).map(String);
  const listed = exampleWords(String(description ?? "")).find((word) => !used.includes(word));
  if (listed !== undefined) return asTyped(listed);
  if (places.some(([names]) => names.test(name))) return used.includes("Lisbon") ? "Oslo" : "Lisbon";
  if (isPathName(name)) return "notes.txt";
  if (/ur[il]$/i.test(name)) return "https://example.com";
  if (/e?mail/i.test(name)) return "ada@example.com";
  return '"some words"';
}

/** Returns a day after those that are known for the end of something, and before them for its beginning. */
function exampleDate(name: string, input: JsonObject): string {
  const days = Object.values(input).flatMap((value) => /^\d{4}-\d\d-\d\d/.exec(String(value))?.[0] ?? []);
  const isEnd = /^(?:end|last|until|return|check_?out|to)/i.test(name);
  const [first = dayIn(30)] = days.toSorted();
  return days.length === 0 ? dayIn(isEnd ? 37 : 30) : isEnd ? dayAfter(first, 7) : dayAfter(first, -7);
}

/** Returns the examples of a description: "such as X", or the names after a colon. */
function exampleWords(description: string): string[] {
  const [, such] = /\bsuch as ([^\s,;.]+)/.exec(description) ?? [];
  if (such !== undefined) return [such];
  const [, list = ""] = /: (\p{Lu}[^;.\n]*)/u.exec(description) ?? [];
  return list.includes(", ") ? list.split(", ") : [];
}

function arrayExample(name: string, items: JsonObject): string {
  return typeOf(items) === "object" ? JSON.stringify([objectExample(items)]) : exampleOf(name, items);
}

/** Returns an object with the required members. */
function objectExample({ properties, required }: JsonObject): JsonObject {
  const names = Array.isArray(required) ? required.map(String) : [];
  const schemaOf = (name: string) => (isObject(properties) && isObject(properties[name]) ? properties[name] : {});
  return Object.fromEntries(
    names.map((name) => {
      const schema = schemaOf(name);
      if (typeOf(schema) === "array") return [name, [/name/i.test(name) ? "Ada" : "text"]];
      return [name, typeOf(schema) === "string" ? (/name/i.test(name) ? "Ada" : "text") : defaultFor(schema)];
    }),
  );
}

function asTyped(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value;
}

/** An assignment in a prompt: `name=value`, with quotes around blanks, or JSON. */
export const assignments: RegExp =
  /(?<![\p{L}\p{N}_-])([\p{L}_][\p{L}\p{N}_-]*)=(?:"[^"]*"|“[^”]*”|\[[^\]\n]*\]\S*|\{[^}\n]*\}\S*|[^\s;]*)/gu;

/** Returns the first type of a schema that allows several. */
function alternativeOf(schema: JsonObject): JsonObject {
  const [first] = [schema["anyOf"], schema["oneOf"]].flat().filter(isObject);
  return first && schema["type"] === undefined ? { ...first, ...schema } : schema;
}

function isDate(name: string, { format }: JsonObject): boolean {
  return format === "date" || format === "date-time" || /dates?\b|day\b/i.test(name.replace(/(?=\p{Lu})/gu, " "));
}

function isPathName(name: string): boolean {
  return /path|file|folder|dir/i.test(name);
}

function isFreeText(name: string, schema: JsonObject): boolean {
  const { format, enum: allowed } = schema;
  if (typeOf(schema) !== "string" && typeOf(schema) !== undefined) return false;
  return allowed === undefined && !isDate(name, schema) && format !== "uri" && format !== "email";
}

function valueFor(name: string, schema: JsonObject, reader: PromptReader, isRequired: boolean): unknown {
  if ("const" in schema) return isRequired ? schema["const"] : undefined;
  if (Array.isArray(schema["enum"])) return reader.word(schema["enum"]);
  switch (typeOf(schema)) {
    case "boolean":
      return reader.flag(wordsOf(name));
    case "integer":
      return reader.number(wordsOf(name), (value) => Number.isInteger(value) && isWithin(value, schema), isRequired);
    case "number":
      return reader.number(wordsOf(name), (value) => isWithin(value, schema), isRequired);
    case "array":
      // A zone is found by its name, so that an optional one is taken, too.
      if (isZone(name)) return orNone(reader.zones());
      return isRequired ? listFor(schema, reader) : undefined;
    case "object":
      return reader.json() ?? (isRequired ? factFor(schema, reader) : undefined);
    default:
      return textFor(name, schema, reader, isRequired);
  }
}

function isZone(name: string): boolean {
  return /^(?:time_?)?zones?$/i.test(name);
}

function orNone<T>(values: readonly T[]): readonly T[] | undefined {
  return values.length > 0 ? values : undefined;
}

function textFor(name: string, schema: JsonObject, reader: PromptReader, isRequired: boolean): string | undefined {
  const { format, description = "" } = schema;
  if (isDate(name, schema)) {
    // Some descriptions say that a range of days is accepted.
    const isRange = /\d{4}-\d\d-\d\d\/\d{4}/.test(String(description));
    // An event of one day ends on the day on which it begins.
    const hasTime = /\d{4}-\d\d-\d\dT\d\d:\d\d/.test(String(description));
    return (
      (isRange ? reader.dateRange() : undefined) ??
      reader.date(hasTime) ??
      (/^end/i.test(name) ? reader.lastDate : undefined)
    );
  }
  if (format === "uri" || /ur[il]$/i.test(name)) return reader.url();
  if (format === "email" || /e?mail/i.test(name)) return reader.email();
  if (/^(?:to|recipients?)$/i.test(name) && /address|mail/i.test(String(description))) return reader.email();
  const [zone] = isZone(name) ? reader.zones(1) : [];
  if (zone !== undefined) return zone;
  if (isPathName(name)) return reader.path() ?? (isRequired ? (reader.quoted() ?? reader.named()) : undefined);
  // An optional argument is only taken if the prompt names it.
  if (!isRequired) return undefined;
  const [, prepositions] = places.find(([names]) => names.test(name)) ?? [];
  if (prepositions !== undefined) {
    const place = reader.place(prepositions) ?? reader.quoted();
    // A name without "from" is where a journey goes to.
    if (place !== undefined || prepositions === "from") return place;
    return reader.name() ?? reader.phrase() ?? reader.leftover();
  }
  if (/expression|formula/i.test(name)) return reader.quoted() ?? reader.calculation();
  if (/wish|preference/i.test(name)) return reader.quoted() ?? reader.wish();
  if (/^id$|[_-]id$|Id$/.test(name) || /^id\b/i.test(String(description))) return reader.quoted() ?? reader.id();
  if (isWritten(name) || /^body$/i.test(name)) return reader.quoted() ?? reader.written();
  if (/^title$/i.test(name)) return reader.quoted() ?? reader.object() ?? reader.phrase() ?? reader.rest();
  if (/query|question|prompt|search|text|message|content|title|body|note/i.test(name)) {
    return reader.quoted() ?? reader.phrase() ?? reader.rest();
  }
  return reader.quoted() ?? reader.name() ?? reader.phrase();
}

/** Arguments for places, with the words before such a place. */
const places: readonly (readonly [names: RegExp, prepositions: string])[] = [
  [/^(?:from|origin|departure|start)(?:_?city)?$/i, "from"],
  [/^(?:to|destination|arrival|goal)(?:_?city)?$/i, "to|in|for"],
  [/^(?:city|location|place|town|country|where)$/i, "in|at|near|of|for|to"],
];

function listFor(schema: JsonObject, reader: PromptReader): unknown[] | undefined {
  const items = isObject(schema["items"]) ? schema["items"] : {};
  const values: unknown[] = [];
  // Each match is consumed, so the loop ends.
  for (let value = valueFor("", items, reader, true); value !== undefined; value = valueFor("", items, reader, true)) {
    values.push(value);
    // A flag, an option and an object are found again and again.
    if (
      typeof value === "boolean" ||
      typeOf(items) === "object" ||
      Array.isArray(items["enum"]) ||
      values.length === maxDemoListItems
    )
      break;
  }
  return values.length > 0 ? values : undefined;
}

/** Returns an object about what the prompt wants to be remembered; undefined if it has other required members. */
function factFor({ properties, required }: JsonObject, reader: PromptReader): JsonObject | undefined {
  const fact = reader.fact();
  if (fact === undefined || !isObject(properties)) return undefined;
  const object: JsonObject = {};
  for (const [name, schema] of Object.entries(properties)) {
    if (/^(?:entity_?)?name$/i.test(name)) object[name] = fact.subject;
    else if (/^(?:entity_?)?type$/i.test(name)) object[name] = "note";
    else if (isObject(schema) && typeOf(schema) === "array") object[name] = [`${fact.subject} ${fact.said}`];
  }
  const isWhole = (Array.isArray(required) ? required : []).every((name) => String(name) in object);
  return isWhole && Object.values(object).some(Array.isArray) ? object : undefined;
}

/** Converts the text of `name=value` to the type of the schema; undefined if that is impossible. */
function toType(text: string, schema: JsonObject): unknown {
  switch (typeOf(schema)) {
    case "integer":
    case "number":
      return text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
    case "boolean":
      return /^(true|yes|on|1)$/i.test(text) ? true : /^(false|no|off|0)$/i.test(text) ? false : undefined;
    case "array":
      if (text.startsWith("[")) return parseJson(text);
      return text.split(",").map((item) => toType(item.trim(), isObject(schema["items"]) ? schema["items"] : {}));
    case "object":
      return parseJson(text);
    default:
      return text;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the argument counts as missing.
    return undefined;
  }
}

function defaultFor(schema: JsonObject): unknown {
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

/** Finds values for arguments in a prompt. Each part of the prompt is used once. */
class PromptReader {
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

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

/** Returns the day so many days from today. */
function dayIn(days: number): string {
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
