import type { JsonObject } from "portolan";
import { isObject } from "portolan/internal";
import { dayAfter, dayIn, PromptReader, wordsOf } from "./demo-prompt.ts";
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
