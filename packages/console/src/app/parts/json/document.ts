// A JSON document that loses nothing: numbers keep their digits, members their order, and strings their spelling.

/** A step into a document: the name of a member, or the index of an item. */
export type JsonStep = string | number;
export type JsonPath = readonly JsonStep[];

/** A value of a document. `start` and `end` are places in the text that was parsed; -1 in a value that was made since. */
export type JsonNode = JsonObjectNode | JsonArrayNode | JsonStringNode | JsonNumberNode | JsonWordNode;

interface Placed {
  readonly start: number;
  readonly end: number;
}

export interface JsonMember {
  readonly name: string;
  /** The name as it is written, with its quotes. */
  readonly raw: string;
  readonly value: JsonNode;
}

export interface JsonObjectNode extends Placed {
  readonly kind: "object";
  readonly members: readonly JsonMember[];
}

export interface JsonArrayNode extends Placed {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

export interface JsonStringNode extends Placed {
  readonly kind: "string";
  readonly value: string;
  /** The string as it is written, with its quotes. */
  readonly raw: string;
}

/** A number as it is written. A form may hold any text here while a person types; `isNumberText` tells. */
export interface JsonNumberNode extends Placed {
  readonly kind: "number";
  readonly text: string;
}

export interface JsonWordNode extends Placed {
  readonly kind: "boolean" | "null";
  readonly text: "true" | "false" | "null";
}

/** The place where a text stops being JSON. */
export interface JsonError {
  readonly message: string;
  readonly at: number;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** Arrays and objects inside each other. A deeper document is not parsed. */
const maxDepth = 256;

export type ParsedJson = { readonly node: JsonNode } | { readonly error: JsonError };

/** Parses a text. Never throws. */
export function parseJson(text: string): ParsedJson {
  const parser = new Parser(text);
  try {
    return { node: parser.document() };
  } catch (cause) {
    if (!(cause instanceof Stop)) throw cause;
    return { error: { message: cause.message, at: cause.at, ...placeOf(text, cause.at) } };
  }
}

/** Returns line and column of a place in a text. */
export function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let begin = 0;
  for (let next = text.indexOf("\n"); next !== -1 && next < at; next = text.indexOf("\n", begin)) {
    line += 1;
    begin = next + 1;
  }
  return { line, column: at - begin + 1 };
}

/** The parser found something that is not JSON. */
class Stop extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const looksLikeNumber = /[-+.\w]+/y;
const plainString = /"[^"\\\p{Cc}]*"/uy;
const space = /[ \t\r\n]*/y;

class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonNode {
    this.#skip();
    if (this.#at === this.#text.length) throw new Stop("There is no JSON here yet.", this.#at);
    const node = this.#value();
    this.#skip();
    if (this.#at < this.#text.length) throw new Stop(`Expected the end, found ${this.#found()}.`, this.#at);
    return node;
  }

  #value(): JsonNode {
    const start = this.#at;
    const char = this.#text[start];
    if (char === "{" || char === "[") {
      if (++this.#depth > maxDepth) throw new Stop(`Nested more than ${maxDepth} levels deep.`, start);
      const node = char === "{" ? this.#object(start) : this.#array(start);
      this.#depth -= 1;
      return node;
    }
    if (char === '"') {
      const { value, raw } = this.#string();
      return { kind: "string", value, raw, start, end: this.#at };
    }
    for (const text of ["true", "false", "null"] as const) {
      if (!this.#text.startsWith(text, start)) continue;
      this.#at += text.length;
      return { kind: text === "null" ? "null" : "boolean", text, start, end: this.#at };
    }
    number.lastIndex = start;
    const digits = number.exec(this.#text)?.[0];
    looksLikeNumber.lastIndex = start;
    const word = looksLikeNumber.exec(this.#text)?.[0];
    if (digits !== undefined && digits === word) {
      this.#at += digits.length;
      return { kind: "number", text: digits, start, end: this.#at };
    }
    if (word !== undefined && /^[-+.]?\d/.test(word)) throw new Stop(`${cut(word)} is not a JSON number.`, start);
    throw new Stop(`Expected a value, found ${this.#found()}.`, start);
  }

  #object(start: number): JsonObjectNode {
    const members: JsonMember[] = [];
    this.#at += 1;
    this.#skip();
    if (this.#take("}")) return { kind: "object", members, start, end: this.#at };
    while (true) {
      if (this.#text[this.#at] !== '"') throw new Stop(`Expected a name in quotes, found ${this.#found()}.`, this.#at);
      const { value: name, raw } = this.#string();
      this.#skip();
      if (!this.#take(":")) throw new Stop(`Expected ":" after the name, found ${this.#found()}.`, this.#at);
      this.#skip();
      members.push({ name, raw, value: this.#value() });
      this.#skip();
      if (this.#take("}")) return { kind: "object", members, start, end: this.#at };
      if (!this.#take(",")) throw new Stop(`Expected "," or "}", found ${this.#found()}.`, this.#at);
      this.#skip();
      if (this.#text[this.#at] === "}") throw new Stop("A comma stands before the closing brace.", this.#at - 1);
    }
  }

  #array(start: number): JsonArrayNode {
    const items: JsonNode[] = [];
    this.#at += 1;
    this.#skip();
    if (this.#take("]")) return { kind: "array", items, start, end: this.#at };
    while (true) {
      items.push(this.#value());
      this.#skip();
      if (this.#take("]")) return { kind: "array", items, start, end: this.#at };
      if (!this.#take(",")) throw new Stop(`Expected "," or "]", found ${this.#found()}.`, this.#at);
      this.#skip();
      if (this.#text[this.#at] === "]") throw new Stop("A comma stands before the closing bracket.", this.#at - 1);
    }
  }

  #string(): { readonly value: string; readonly raw: string } {
    const start = this.#at;
    plainString.lastIndex = start;
    const plain = plainString.exec(this.#text)?.[0];
    if (plain !== undefined) {
      this.#at += plain.length;
      return { value: plain.slice(1, -1), raw: plain };
    }
    for (let at = start + 1; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === 0x22) {
        this.#at = at + 1;
        const raw = this.#text.slice(start, this.#at);
        return { value: JSON.parse(raw) as string, raw };
      }
      if (code === 0x0a) throw new Stop("The string does not end on its line.", start);
      if (code < 0x20) throw new Stop("A control character stands in a string. Write it as \\u00….", at);
      if (code !== 0x5c) continue;
      const rest = /^(?:["\\/bfnrt]|u[\da-fA-F]{4})/.exec(this.#text.slice(at + 1, at + 6))?.[0];
      if (rest === undefined) throw new Stop(`${cut(this.#text.slice(at, at + 2))} is not an escape of JSON.`, at);
      at += rest.length;
    }
    throw new Stop("The string does not end.", start);
  }

  #skip(): void {
    space.lastIndex = this.#at;
    space.exec(this.#text);
    this.#at = space.lastIndex;
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #found(): string {
    if (this.#at >= this.#text.length) return "the end";
    looksLikeNumber.lastIndex = this.#at;
    return cut(looksLikeNumber.exec(this.#text)?.[0] ?? String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0));
  }
}

function cut(text: string): string {
  return text.length > 24 ? `${text.slice(0, 24)}…` : text;
}

// ── Making values ────────────────────────────────────────────────────────────────────────────────────────────────────

const nowhere = { start: -1, end: -1 } as const;

export const nullNode: JsonNode = { kind: "null", text: "null", ...nowhere };
export const emptyObject: JsonObjectNode = { kind: "object", members: [], ...nowhere };
export const emptyArray: JsonArrayNode = { kind: "array", items: [], ...nowhere };

export function stringNode(value: string): JsonStringNode {
  return { kind: "string", value, raw: JSON.stringify(value), ...nowhere };
}

export function numberNode(text: string): JsonNumberNode {
  return { kind: "number", text, ...nowhere };
}

export function booleanNode(value: boolean): JsonNode {
  return { kind: "boolean", text: value ? "true" : "false", ...nowhere };
}

/** Makes a node of a value that is known exactly, such as the default of a schema. */
export function nodeOf(value: unknown): JsonNode {
  const parsed = parseJson(JSON.stringify(value) ?? "null");
  return "node" in parsed ? parsed.node : nullNode;
}

/** Returns the value as JavaScript has it. Large numbers lose digits: for checks and display only. */
export function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case "object":
      return Object.fromEntries(node.members.map(({ name, value }) => [name, plainValue(value)]));
    case "array":
      return node.items.map(plainValue);
    case "string":
      return node.value;
    case "number":
      return Number(node.text);
    default:
      return node.text === "null" ? null : node.text === "true";
  }
}

/** Tells whether a text is a number of JSON. */
export function isNumberText(text: string): boolean {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);
}

/** Tells whether two values say the same, whatever the order of members and the spelling of strings. */
export function sameValue(one: JsonNode, other: JsonNode): boolean {
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  if (one.kind === "string") return one.value === (other as JsonStringNode).value;
  if (one.kind === "number") return sameNumber(one.text, (other as JsonNumberNode).text);
  if (one.kind === "array") {
    const { items } = other as JsonArrayNode;
    return one.items.length === items.length && one.items.every((item, at) => sameValue(item, items[at] as JsonNode));
  }
  if (one.kind === "object") {
    const { members } = other as JsonObjectNode;
    if (one.members.length !== members.length) return false;
    return one.members.every(({ name, value }) => {
      const found = memberOf(other, name);
      return found !== undefined && sameValue(value, found);
    });
  }
  return one.text === (other as JsonWordNode).text;
}

function sameNumber(one: string, other: string): boolean {
  return one === other || (Number(one) === Number(other) && one.length < 16 && other.length < 16);
}

// ── Reading and changing ─────────────────────────────────────────────────────────────────────────────────────────────

/** Returns a member. Of two with the same name the last counts, as with every reader of JSON. */
export function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== "object") return undefined;
  for (let at = node.members.length - 1; at >= 0; at--) {
    const member = node.members[at] as JsonMember;
    if (member.name === name) return member.value;
  }
  return undefined;
}

export function nodeAt(root: JsonNode | undefined, path: JsonPath): JsonNode | undefined {
  let node = root;
  for (const step of path) {
    if (typeof step === "string") node = memberOf(node, step);
    else node = node?.kind === "array" ? node.items[step] : undefined;
  }
  return node;
}

/**
 * Returns the document with another value at a path. Undefined removes the member or item. Objects on the way that do not
 * exist are made. `order` lists names in the order in which new members stand.
 */
export function withValue(
  root: JsonNode | undefined,
  path: JsonPath,
  value: JsonNode | undefined,
  order: readonly string[] = [],
): JsonNode | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === "number") {
    const items = root?.kind === "array" ? root.items : [];
    const next = withValue(items[step], rest, value, order);
    const before = items.slice(0, step);
    return { kind: "array", items: [...before, ...(next ? [next] : []), ...items.slice(step + 1)], ...nowhere };
  }
  const members = root?.kind === "object" ? root.members : [];
  const at = members.findLastIndex(({ name }) => name === step);
  const next = withValue(members[at]?.value, rest, value, order);
  if (at === -1) {
    if (next === undefined) return root ?? emptyObject;
    const member: JsonMember = { name: step, raw: JSON.stringify(step), value: next };
    const place = placeFor(members, step, rest.length === 0 ? order : []);
    return { kind: "object", members: [...members.slice(0, place), member, ...members.slice(place)], ...nowhere };
  }
  const found = members[at] as JsonMember;
  const kept = next ? [{ ...found, value: next }] : [];
  return { kind: "object", members: [...members.slice(0, at), ...kept, ...members.slice(at + 1)], ...nowhere };
}

/** Returns where a new member stands: before those that are listed behind it, and behind those that are listed before it. */
function placeFor(members: readonly JsonMember[], name: string, order: readonly string[]): number {
  const rank = order.indexOf(name);
  if (rank === -1) return members.length;
  const later = members.findIndex((member) => order.indexOf(member.name) > rank);
  if (later !== -1) return later;
  const earlier = members.findLastIndex((member) => order.includes(member.name));
  return earlier === -1 ? members.length : earlier + 1;
}

// ── Printing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Lists of simple values stay on one line up to this width. */
const shortLine = 72;

/** Prints a document with an indent of two spaces. */
export function printJson(node: JsonNode): string {
  const out: string[] = [];
  write(node, "", out);
  return out.join("");
}

function write(node: JsonNode, indent: string, out: string[]): void {
  if (node.kind === "string") out.push(node.raw);
  else if (node.kind !== "object" && node.kind !== "array") out.push(node.text);
  else {
    const isObject = node.kind === "object";
    const [open, close] = isObject ? "{}" : "[]";
    const size = isObject ? node.members.length : node.items.length;
    if (size === 0) {
      out.push(`${open}${close}`);
      return;
    }
    if (!isObject) {
      const line = onOneLine(node.items);
      if (line !== undefined) {
        out.push(line);
        return;
      }
    }
    const inner = `${indent}  `;
    out.push(open as string);
    for (let at = 0; at < size; at++) {
      out.push(at === 0 ? `\n${inner}` : `,\n${inner}`);
      if (isObject) {
        const member = node.members[at] as JsonMember;
        out.push(member.raw, ": ");
        write(member.value, inner, out);
      } else write(node.items[at] as JsonNode, inner, out);
    }
    out.push(`\n${indent}${close}`);
  }
}

function onOneLine(items: readonly JsonNode[]): string | undefined {
  if (items.length > shortLine / 2) return undefined;
  const texts: string[] = [];
  let width = 0;
  for (const item of items) {
    if (item.kind === "object" || item.kind === "array") return undefined;
    const text = item.kind === "string" ? item.raw : item.text;
    width += text.length + 2;
    if (width > shortLine) return undefined;
    texts.push(text);
  }
  return `[${texts.join(", ")}]`;
}

/** Writes a path as a person reads it: `rows[1].price`. */
export function pathText(path: JsonPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}
