import type { Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml";
import { limits } from "./limits.ts";
import { layoutOf, lineStart, malformed, nextLine, splice, tooMuch } from "./text.ts";
import { type Content, type Table, toPlain, toTable } from "./value.ts";

type Yaml = typeof import("yaml");

/** A YAML text with this server at this place added, replaced or removed; every other line stays as it is. */
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

/** Where an item of a list or a member of a map stands. */
interface Region {
  readonly start: number;
  readonly end: number;
}

interface Target {
  readonly at: readonly string[];
  readonly name: string;
  /** The servers are a list whose items have names. */
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

  constructor(yaml: Yaml, text: string, document: Document.Parsed, { at, name, isList }: Target) {
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

  /** The map or list of servers; otherwise how deep the way to it goes, and the key where it ends. */
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

  /** Whole lines, with what is said at the end of the last. */
  #lines({ start, end }: Region): [number, number] {
    const isAtLineEnd = end > 0 && this.#text[end - 1] === "\n";
    return [lineStart(this.#text, start), isAtLineEnd ? end : nextLine(this.#text, end)];
  }

  #insertLines(place: number, lines: string): string {
    const needsBreak = place > 0 && this.#text[place - 1] !== "\n";
    return splice(this.#text, place, place, needsBreak ? this.#eol + lines.slice(0, -this.#eol.length) : lines);
  }

  /** Where nothing is yet: at the end of the text, or below the key that has no value. */
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

  /** The servers with only this one. */
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

  /** JSON is what YAML calls flow. */
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

/** Where the last thing that a node says ends; the library counts the comments after it as well. */
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

/** Loaded when the first such file is read. */
export const loadYaml = (): Promise<typeof import("yaml")> => import("yaml");

/** Reads YAML 1.2; a name that is there twice makes it malformed. */
export async function readYaml(text: string, file: string): Promise<Content> {
  const document = await readYamlDocument(text, file);
  return { value: toPlain(toMaps(document, file), file), repeated: [] };
}

/** The same as nodes that know where they stand. */
export async function readYamlDocument(text: string, file: string): Promise<Document.Parsed> {
  const { isScalar, parseDocument, visit } = await loadYaml();
  if (isTooDeep(text)) throw tooMuch(file, `expected at most ${limits.depth} levels`);
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: false, merge: true });
  const [first] = document.errors;
  // The library's own words quote the text.
  if (first)
    throw malformed(file, text, first.pos[0], `malformed YAML, ${first.code.toLowerCase().replaceAll("_", " ")}`);
  // Not left to the library, which compares every name with every other.
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const offset = key.range?.[0] ?? 0;
        if (names.has(key.value)) throw malformed(file, text, offset, "malformed YAML, a name that is there before");
        names.add(key.value);
      }
    },
  });
  return document;
}

function toMaps(document: Document.Parsed, file: string): unknown {
  try {
    // The library counts what aliases would come to, and gives up before they do.
    return document.toJS({ mapAsMap: true });
  } catch {
    throw tooMuch(file, "expected aliases that exist, and not thousands of them");
  }
}

/** Counted roughly before anything is read, because reading is recursive: brackets, and dashes that begin a line. */
function isTooDeep(text: string): boolean {
  let open = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) open++;
    else if (code === 0x5d || code === 0x7d) open--;
    else if (code === 0x0a) dashes = 0;
    const next = text.charCodeAt(at + 1);
    // `- - -`, `? ? ?` and `: : :` on one line are one list or map in another.
    if ((code === 0x2d || code === 0x3f || code === 0x3a) && (next === 0x20 || next === 0x09)) dashes++;
    if (open > maxRough || dashes > maxRough) return true;
  }
  return deepestIndent(text) > maxRough * 16;
}

/** Strings may hold brackets too, so there is room above what the real bound is. */
const maxRough = 4 * limits.depth;

function deepestIndent(text: string): number {
  let deepest = 0;
  for (const [spaces] of text.matchAll(/^ +/gm)) deepest = Math.max(deepest, spaces.length);
  return deepest;
}
