import type { Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import { maxDepth, maxRoughDepth } from "./limits.ts";
import { layoutOf, limitReached, lineStart, malformed, nextLine, splice } from "./text.ts";
import { type Content, type Table, toPlain, toTable } from "./value.ts";

type Yaml = typeof import("yaml");

/** Adds, replaces or removes one server in a YAML text. Every other line stays the same. */
export async function editYaml(
  text: string,
  at: readonly string[],
  name: string,
  value: Table | undefined,
  file: string,
  isList: boolean,
): Promise<string> {
  const yaml = await loadYaml();
  const document = await readYamlDocument(text, file);
  const editor = new YamlEditor(yaml, text, document, { at, name, isList });
  return value ? editor.set(value) : editor.remove();
}

/** The offsets of an item of a list or a member of a map. */
interface Region {
  readonly start: number;
  readonly end: number;
}

interface EditTarget {
  readonly at: readonly string[];
  readonly name: string;
  /** The servers are a list, and each item has a `name`. */
  readonly isList: boolean;
}

class YamlEditor {
  readonly #yaml: Yaml;
  readonly #text: string;
  readonly #root: Node | null;
  readonly #at: readonly string[];
  readonly #name: string;
  readonly #isList: boolean;
  readonly #eol: string;
  readonly #unit: number;

  constructor(yaml: Yaml, text: string, document: Document.Parsed, { at, name, isList }: EditTarget) {
    const { eol, unit } = layoutOf(text);
    this.#yaml = yaml;
    this.#text = text;
    this.#root = document.contents;
    this.#at = at;
    this.#name = name;
    this.#isList = isList;
    this.#eol = eol;
    this.#unit = unit.startsWith("\t") ? 2 : Math.max(2, unit.length);
  }

  remove(): string {
    const { node } = this.#descend();
    const region = node && this.#find(node);
    if (!node || !region) return this.#text;
    return node.flow ? this.#cutFlow(region) : splice(this.#text, ...this.#lines(region), "");
  }

  set(value: Table): string {
    const { node, depth, key } = this.#descend();
    if (!node) return this.#begin(value, depth, key);
    const region = this.#find(node);
    if (node.flow) return this.#setFlow(node, region, value);
    const column = this.#columnOf(node);
    const lines = this.#print(this.#wrap(value), column);
    if (region) return splice(this.#text, ...this.#lines(region), lines);
    const last = this.#lines({ start: 0, end: endOf(this.#yaml, node) });
    return this.#insertLines(last[1], lines);
  }

  /** Finds the map or list of servers; otherwise the depth that exists, and the key at which it ends. */
  #descend(): { readonly node?: YAMLMap | YAMLSeq; readonly depth: number; readonly key?: Node } {
    const { isMap, isNode, isSeq } = this.#yaml;
    let found: unknown = this.#root;
    let key: Node | undefined;
    let depth = 0;
    for (const name of this.#at) {
      const pair = isMap(found) ? pairOf(this.#yaml, found, name) : undefined;
      if (!pair) break;
      key = isNode(pair.key) ? pair.key : undefined;
      found = pair.value;
      depth++;
    }
    if (depth === this.#at.length && (isMap(found) || isSeq(found))) return { node: found, depth };
    return key ? { depth, key } : { depth };
  }

  #find(node: YAMLMap | YAMLSeq): Region | undefined {
    const { isMap, isNode } = this.#yaml;
    if (isMap(node)) {
      const pair = pairOf(this.#yaml, node, this.#name);
      if (!pair || !isNode(pair.key)) return undefined;
      return { start: pair.key.range?.[0] ?? 0, end: endOfPair(this.#yaml, pair) };
    }
    const item = node.items.find((one) => isMap(one) && one.get("name") === this.#name);
    return isNode(item) ? { start: item.range?.[0] ?? 0, end: endOf(this.#yaml, item) } : undefined;
  }

  /** Extends a region to whole lines, including a comment at the end of the last one. */
  #lines({ start, end }: Region): [number, number] {
    const isAtLineEnd = end > 0 && this.#text[end - 1] === "\n";
    return [lineStart(this.#text, start), isAtLineEnd ? end : nextLine(this.#text, end)];
  }

  #insertLines(place: number, lines: string): string {
    const needsBreak = place > 0 && this.#text[place - 1] !== "\n";
    return splice(this.#text, place, place, needsBreak ? this.#eol + lines.slice(0, -this.#eol.length) : lines);
  }

  /** Inserts the first server: at the end of the text, or below the key that has no value yet. */
  #begin(value: Table, depth: number, key: Node | undefined): string {
    const rest = this.#at.slice(depth);
    const nested = rest.reduceRight<unknown>((below, one) => toTable([[one, below]]), this.#wrap(value));
    if (!key) return this.#insertLines(this.#text.length, this.#print(nested, 0));
    const offset = key.range?.[0] ?? 0;
    const column = offset - lineStart(this.#text, offset) + this.#unit;
    return this.#insertLines(nextLine(this.#text, offset), this.#print(nested, column));
  }

  #columnOf(node: YAMLMap | YAMLSeq): number {
    const offset = node.range?.[0] ?? 0;
    return offset - lineStart(this.#text, offset);
  }

  /** Returns the list or map of servers with only this one. */
  #wrap(value: Table): unknown {
    return this.#isList ? [this.#item(value)] : toTable([[this.#name, value]]);
  }

  #item(value: Table): Table {
    return toTable([["name", this.#name], ...Object.entries(value)]);
  }

  #print(value: unknown, column: number): string {
    const printed = this.#yaml.stringify(value, { indent: this.#unit, lineWidth: 0 }).trimEnd();
    const lines = printed.split("\n").map((line) => (line === "" ? "" : " ".repeat(column) + line));
    return lines.join(this.#eol) + this.#eol;
  }

  /** Edits a collection in flow style, which looks like JSON. */
  #setFlow(node: YAMLMap | YAMLSeq, region: Region | undefined, value: Table): string {
    const name = this.#isList ? "" : `${JSON.stringify(this.#name)}: `;
    const printed = `${name}${JSON.stringify(this.#isList ? this.#item(value) : value)}`;
    if (region) return splice(this.#text, region.start, region.end, printed);
    const place = node.items.length > 0 ? endOf(this.#yaml, node.items.at(-1)) : (node.range?.[0] ?? 0) + 1;
    return splice(this.#text, place, place, node.items.length > 0 ? `, ${printed}` : printed);
  }

  #cutFlow({ start, end }: Region): string {
    const after = /^\s*,[ \t]*/.exec(this.#text.slice(end));
    if (after) return splice(this.#text, start, end + after[0].length, "");
    const before = /,\s*$/.exec(this.#text.slice(0, start));
    return splice(this.#text, start - (before?.[0].length ?? 0), end, "");
  }
}

function pairOf({ isScalar }: Yaml, node: YAMLMap, name: string): Pair | undefined {
  return node.items.find(({ key }) => (isScalar(key) ? String(key.value) === name : key === name));
}

/** Returns the end of the last value in a node. The `range` of the library also includes comments after it. */
function endOf(yaml: Yaml, node: unknown): number {
  if (yaml.isPair(node)) return endOfPair(yaml, node);
  if (!yaml.isNode(node)) return 0;
  const own = node.range?.[1] ?? 0;
  if (!yaml.isCollection(node) || node.flow || node.items.length === 0) return own;
  return endOf(yaml, node.items.at(-1));
}

function endOfPair(yaml: Yaml, { key, value }: Pair): number {
  return Math.max(endOf(yaml, key), endOf(yaml, value));
}

/** Loads the parser when the first YAML file is read. */
const loadYaml = (): Promise<typeof import("yaml")> => import("yaml");

/** Parses YAML 1.2. A duplicate name is a syntax error. */
export async function readYaml(text: string, file: string): Promise<Content> {
  const document = await readYamlDocument(text, file);
  return { value: toPlain(toMaps(document, file), file), duplicates: [] };
}

/** Parses YAML into nodes with their offsets. */
async function readYamlDocument(text: string, file: string): Promise<Document.Parsed> {
  const { isScalar, parseDocument, visit } = await loadYaml();
  if (isTooDeep(text)) throw limitReached(file, `expected at most ${maxDepth} nested levels, got more`);
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: false, merge: true });
  const [first] = document.errors;
  // The messages of the library quote the file, so only its error code is shown.
  if (first)
    throw malformed(file, text, first.pos[0], `invalid YAML: ${first.code.toLowerCase().replaceAll("_", " ")}`);
  // Checked here, because the library compares every name with every other one.
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const offset = key.range?.[0] ?? 0;
        if (names.has(key.value)) throw malformed(file, text, offset, "invalid YAML: duplicate name");
        names.add(key.value);
      }
    },
  });
  return document;
}

function toMaps(document: Document.Parsed, file: string): unknown {
  try {
    // The library limits the expansion of aliases.
    return document.toJS({ mapAsMap: true });
  } catch {
    throw limitReached(file, "expected aliases that exist and do not expand to thousands of values");
  }
}

/**
 * Estimates the depth before the text is parsed, because the parser is recursive. Counts brackets, dashes and
 * indentation.
 */
function isTooDeep(text: string): boolean {
  let open = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) open++;
    else if (code === 0x5d || code === 0x7d) open--;
    else if (code === 0x0a) dashes = 0;
    const next = text.charCodeAt(at + 1);
    // `- - -`, `? ? ?` and `: : :` on one line are nested lists or maps.
    if ((code === 0x2d || code === 0x3f || code === 0x3a) && (next === 0x20 || next === 0x09)) dashes++;
    if (open > maxRoughDepth || dashes > maxRoughDepth) return true;
  }
  return deepestIndent(text) > maxRoughDepth * 16;
}

function deepestIndent(text: string): number {
  let deepest = 0;
  for (const [spaces] of text.matchAll(/^ +/gm)) deepest = Math.max(deepest, spaces.length);
  return deepest;
}
