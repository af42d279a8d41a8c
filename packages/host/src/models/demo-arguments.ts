import type { JsonObject } from "portolan";
import { createFinds, type Finds } from "./demo/finds.ts";
import { wordsOf } from "./demo/rank.ts";
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
