import { PortolanError } from "../errors.ts";
import type { Sendable } from "./channel.ts";
import type { JsonObject } from "./message.ts";

/** Nothing sensible is nested deeper; engines give up between 1,000 and 5,000 levels. */
const maxDepth = 512;
const maxPathLength = 160;

/** The JSON text of what is sent, free of raw newlines; throws a PortolanError "unserializable" that names the bad value. */
export function serialize(message: Sendable): string {
  if (Array.isArray(message)) return `[${message.map(serialize).join(",")}]`;
  if ("messageText" in message) return message.messageText;
  if ("resultText" in message) {
    const id = typeof message.id === "number" ? message.id : JSON.stringify(message.id);
    return `{"jsonrpc":"2.0","id":${id},"result":${message.resultText}}`;
  }
  try {
    return JSON.stringify(message);
  } catch (cause) {
    throw new PortolanError("unserializable", explain(message, cause), { cause });
  }
}

/** The JSON text of a result on its own; throws as `serialize` does. */
export function serializeResult(result: JsonObject): string {
  try {
    return JSON.stringify(result);
  } catch (cause) {
    throw new PortolanError("unserializable", explain({ result }, cause), { cause });
  }
}

function explain(message: object, cause: unknown): string {
  const search: Search = { path: [], ancestors: [], clean: new Set(), tooDeep: undefined };
  return findIn(message, search) ?? search.tooDeep ?? `the message has no JSON form: ${reasonOf(cause)}`;
}

interface Search {
  path: (string | number)[];
  ancestors: object[];
  /** Searched already: shared values are searched once, however often they occur. */
  clean: Set<object>;
  /** Reported only if no value is bad by itself. */
  tooDeep: string | undefined;
}

/** Walks the way JSON.stringify does and says what is wrong with the first value that has no JSON form. */
function findIn(holder: object, search: Search): string | undefined {
  search.ancestors.push(holder);
  let keys: string[];
  try {
    keys = Object.keys(holder);
  } catch (cause) {
    return `${pathOf(search.path)}: listing its members threw: ${reasonOf(cause)}`;
  }
  for (const key of keys) {
    search.path.push(Array.isArray(holder) ? Number(key) : key);
    const problem = findAt(holder, key, search);
    if (problem !== undefined) return problem;
    search.path.pop();
  }
  search.ancestors.pop();
  search.clean.add(holder);
  return undefined;
}

function findAt(holder: object, key: string, search: Search): string | undefined {
  let value: unknown;
  try {
    value = Reflect.get(holder, key);
  } catch (cause) {
    return `${pathOf(search.path)}: reading it threw: ${reasonOf(cause)}`;
  }
  try {
    value = toJson(value, key);
  } catch (cause) {
    return `${pathOf(search.path)}: its toJSON threw: ${reasonOf(cause)}`;
  }
  if (typeof value === "bigint" || value instanceof BigInt) {
    return `${pathOf(search.path)}: a BigInt has no JSON form; send a string`;
  }
  if (typeof value !== "object" || value === null || search.clean.has(value)) return undefined;
  const loop = search.ancestors.indexOf(value);
  if (loop !== -1) {
    const target = loop === 0 ? "the message" : pathOf(search.path.slice(0, loop));
    return `${pathOf(search.path)}: refers back to ${target}; a loop has no JSON form, leave it out`;
  }
  if (search.path.length > maxDepth) {
    search.tooDeep ??= `${pathOf(search.path)}: nested more than ${maxDepth} levels deep; send a flatter value`;
    return undefined;
  }
  return findIn(value, search);
}

function toJson(value: unknown, key: string): unknown {
  if (value === null || !["object", "function", "bigint"].includes(typeof value)) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, key) : value;
}

function pathOf(path: (string | number)[]): string {
  const text = path.map(toSegment).join("").replace(/^\./, "");
  return text.length <= maxPathLength ? text : `${text.slice(0, maxPathLength / 2)}…${text.slice(-maxPathLength / 4)}`;
}

function toSegment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split("\n", 1)[0] ?? "";
}
