import type { JSONScanner, Node, ParseError } from "jsonc-parser";
import { limits } from "./limits.ts";
import { indentAt, type Layout, layoutOf, lineStart, malformed, nextLine, splice, tooMuch } from "./text.ts";
import { type Content, type Path, type Table, toTable } from "./value.ts";

const maxNamesakes = 10;

/** A JSON text with this member at this place added, replaced or removed; every other character stays as it is. */
export async function editJson(
  text: string,
  at: readonly string[],
  name: string,
  value: Table | undefined,
  file: string,
): Promise<string> {
  const start = text.trim() === "" ? `{}${layoutOf(text).eol}` : text;
  const layout = layoutOf(text.trim() === "" ? "{\n}\n" : text);
  let edited = start;
  // One that is there twice has to go twice, and each time the places of the rest are others.
  for (let count = 0; ; count++) {
    const members = await membersOf(edited, at, name, file);
    if (members.length <= (value ? 1 : 0)) break;
    if (count > maxNamesakes) throw tooMuch(file, `expected ${JSON.stringify(name)} at most ${maxNamesakes} times`);
    edited = await removeMember(edited, members[0], at, file);
  }
  if (!value) return edited;
  const [old] = await membersOf(edited, at, name, file);
  if (old?.children?.[1]) {
    const { offset, length } = old.children[1];
    return splice(edited, offset, offset + length, print(value, indentAt(edited, old.offset), layout));
  }
  return await insertMember(edited, at, name, value, layout, file);
}

async function membersOf(text: string, at: readonly string[], name: string, file: string): Promise<readonly Node[]> {
  const { node, rest } = descend(await readJsonTree(text, file), at);
  return rest.length > 0 ? [] : namesake(node, name);
}

/** The object at a place, or the last on the way to it and what is missing from there. */
function descend(root: Node, at: readonly string[]): { readonly node: Node; readonly rest: readonly string[] } {
  let node = root;
  for (const [index, name] of at.entries()) {
    const next = namesake(node, name).at(-1)?.children?.[1];
    if (next?.type !== "object") return { node, rest: at.slice(index) };
    node = next;
  }
  return { node, rest: [] };
}

function namesake(node: Node, name: string): readonly Node[] {
  return (node.children ?? []).filter((member) => member.children?.[0]?.value === name);
}

async function insertMember(
  text: string,
  at: readonly string[],
  name: string,
  value: Table,
  layout: Layout,
  file: string,
): Promise<string> {
  const { node, rest } = descend(await readJsonTree(text, file), at);
  const [key = name, ...inner] = [...rest, name];
  const nested = inner.reduceRight<unknown>((below, one) => toTable([[one, below]]), value);
  const empty = rest.length > 0 ? namesake(node, key).at(-1)?.children?.[1] : undefined;
  if (empty) {
    return splice(text, empty.offset, empty.offset + empty.length, print(nested, indentAt(text, empty.offset), layout));
  }
  const end = node.offset + node.length - 1;
  const last = node.children?.at(-1);
  const indent = last ? indentAt(text, last.offset) : indentAt(text, node.offset) + layout.unit;
  const member = `${JSON.stringify(key)}:${layout.isFlat ? "" : " "}${print(nested, indent, layout)}`;
  if (!last) {
    // What is between the braces can only be white space and comments.
    const inside = text.slice(node.offset + 1, end).trimEnd();
    const close = layout.isFlat ? "" : `${layout.eol}${indentAt(text, node.offset)}`;
    return splice(text, node.offset + 1 + inside.length, end, `${lead(layout, indent)}${member}${close}`);
  }
  const lastEnd = last.offset + last.length;
  const comma = await commaAfter(text, lastEnd);
  const isInline = layout.isFlat || lineStart(text, end) === lineStart(text, comma ?? lastEnd);
  const space = layout.isFlat ? "" : " ";
  if (isInline && comma !== undefined) return splice(text, comma + 1, comma + 1, `${space}${member},`);
  if (isInline) return splice(text, lastEnd, lastEnd, `,${space}${member}`);
  const remarksEnd = await endOfRemarks(text, comma === undefined ? lastEnd : comma + 1);
  const place = remarksEnd + (/^[ \t]*(?=\r?\n)/.exec(text.slice(remarksEnd))?.[0].length ?? 0);
  const added = `${lead(layout, indent)}${member}${comma === undefined ? "" : ","}`;
  const longer = splice(text, place, place, added);
  return comma === undefined ? splice(longer, lastEnd, lastEnd, ",") : longer;
}

function lead(layout: Layout, indent: string): string {
  return layout.isFlat ? "" : `${layout.eol}${indent}`;
}

async function removeMember(
  text: string,
  member: Node | undefined,
  at: readonly string[],
  file: string,
): Promise<string> {
  if (!member) return text;
  const { node } = descend(await readJsonTree(text, file), at);
  const siblings = node.children ?? [];
  const index = siblings.findIndex(({ offset }) => offset === member.offset);
  const previous = siblings[index - 1];
  const isLast = index === siblings.length - 1;
  const comma = await commaAfter(text, member.offset + member.length);
  const end = comma === undefined ? member.offset + member.length : comma + 1;
  const shorter = cut(text, member.offset, end, await endOfRemarks(text, end), isLast && previous !== undefined);
  if (comma !== undefined || !previous) return shorter;
  const before = await commaAfter(text, previous.offset + previous.length);
  return before === undefined ? shorter : splice(shorter, before, before + 1, "");
}

/** Cuts out whole lines where nothing else is on them, and otherwise what has to go and the spaces beside it. */
function cut(text: string, start: number, end: number, remarksEnd: number, isLast: boolean): string {
  const from = lineStart(text, start);
  const to = nextLine(text, remarksEnd);
  const isAlone = text.slice(from, start).trim() === "" && text.slice(remarksEnd, to).trim() === "";
  if (isAlone && text.slice(remarksEnd, to).includes("\n")) return splice(text, from, to, "");
  if (!isLast) return splice(text, start, text[end] === " " ? end + 1 : end, "");
  return splice(text, text[start - 1] === " " && text[start - 2] === "," ? start - 1 : start, end, "");
}

/** The scanner's numbers for tokens; its enumeration exists only for its own compiler. */
const tokens = { comma: 5, lineComment: 12, blockComment: 13, lineBreak: 14, space: 15 };

/** The comma that follows, with nothing but white space and comments before it. */
async function commaAfter(text: string, offset: number): Promise<number | undefined> {
  const { createScanner } = await loadJsonc();
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  const token: number = scanner.scan();
  return token === tokens.comma ? scanner.getTokenOffset() : undefined;
}

/** The end of the comments that follow on the same line; they belong to what stands before them. */
async function endOfRemarks(text: string, offset: number): Promise<number> {
  const { createScanner } = await loadJsonc();
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  let end = offset;
  for (let token: number = scanner.scan(); ; token = scanner.scan()) {
    const isRemark = token === tokens.lineComment || token === tokens.blockComment;
    const tokenEnd = scanner.getTokenOffset() + scanner.getTokenLength();
    if (isRemark && !text.slice(scanner.getTokenOffset(), tokenEnd).includes("\n")) end = tokenEnd;
    else if (token !== tokens.space) return end;
  }
}

function print(value: unknown, indent: string, { unit, eol, isFlat }: Layout): string {
  if (isFlat) return JSON.stringify(value);
  return JSON.stringify(value, undefined, unit).replaceAll("\n", `${eol}${indent}`);
}

/** Loaded when the first such file is read. */
export const loadJsonc = (): Promise<typeof import("jsonc-parser")> => import("jsonc-parser");

/** Reads JSON with comments and trailing commas. */
export async function readJson(text: string, file: string): Promise<Content> {
  const root = await readJsonTree(text, file);
  const repeated: Path[] = [];
  return { value: toValue(root, [], repeated), repeated };
}

/** The same as nodes that know where they stand. */
export async function readJsonTree(text: string, file: string): Promise<Node> {
  const { createScanner, parseTree, printParseErrorCode } = await loadJsonc();
  if (isTooDeep(createScanner(text, true))) throw tooMuch(file, `expected at most ${limits.depth} levels`);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw malformed(file, text, first.offset, `malformed JSON, ${spell(printParseErrorCode(first.error))}`);
  if (!root) throw malformed(file, text, 0, "malformed JSON, value expected");
  return root;
}

/** Counted before anything is read, because reading is recursive. */
function isTooDeep(scanner: JSONScanner): boolean {
  let depth = 0;
  for (let token: number = scanner.scan(); token !== jsonTokens.end; token = scanner.scan()) {
    if (token === jsonTokens.openBrace || token === jsonTokens.openBracket) depth++;
    if (token === jsonTokens.closeBrace || token === jsonTokens.closeBracket) depth--;
    if (depth > limits.depth) return true;
  }
  return false;
}

/** The scanner's numbers; its enumeration exists only for its own compiler. */
const jsonTokens = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, end: 17 };

function toValue(node: Node, path: Path, repeated: Path[]): unknown {
  if (node.type === "array")
    return (node.children ?? []).map((item, index) => toValue(item, [...path, index], repeated));
  if (node.type !== "object") return node.value;
  const members = new Map<string, unknown>();
  for (const { children } of node.children ?? []) {
    const name = String(children?.[0]?.value);
    const value = children?.[1];
    const at = [...path, name];
    if (members.has(name)) repeated.push(at);
    if (value) members.set(name, toValue(value, at, repeated));
  }
  return toTable(members);
}

/** `CommaExpected` as words. */
function spell(code: string): string {
  return code.replace(/\B[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
