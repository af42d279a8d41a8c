import type { JSONScanner, Node, ParseError } from "jsonc-parser";
import { maxDepth, maxDuplicates } from "./limits.ts";
import { indentAt, type Layout, layoutOf, limitReached, lineStart, malformed, nextLine, splice } from "./text.ts";
import { type Content, type Path, type Table, toTable } from "./value.ts";

/** Adds, replaces or removes one member of a JSON text. Every other character stays the same. */
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
  // Every duplicate is removed; each removal moves the offsets of the others.
  for (let count = 0; ; count++) {
    const members = await membersOf(edited, at, name, file);
    if (members.length <= (value ? 1 : 0)) break;
    if (count > maxDuplicates)
      throw limitReached(
        file,
        `expected ${JSON.stringify(name)} at most ${maxDuplicates} times, got more; remove the duplicates`,
      );
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
  return rest.length > 0 ? [] : membersNamed(node, name);
}

/** Returns the object at a path, or the deepest object on that path and the names that are missing below it. */
function descend(root: Node, at: readonly string[]): { readonly node: Node; readonly rest: readonly string[] } {
  let node = root;
  for (const [index, name] of at.entries()) {
    const next = membersNamed(node, name).at(-1)?.children?.[1];
    if (next?.type !== "object") return { node, rest: at.slice(index) };
    node = next;
  }
  return { node, rest: [] };
}

function membersNamed(node: Node, name: string): readonly Node[] {
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
  const empty = rest.length > 0 ? membersNamed(node, key).at(-1)?.children?.[1] : undefined;
  if (empty) {
    return splice(text, empty.offset, empty.offset + empty.length, print(nested, indentAt(text, empty.offset), layout));
  }
  const end = node.offset + node.length - 1;
  const last = node.children?.at(-1);
  const indent = last ? indentAt(text, last.offset) : indentAt(text, node.offset) + layout.unit;
  const member = `${JSON.stringify(key)}:${layout.isFlat ? "" : " "}${print(nested, indent, layout)}`;
  if (!last) {
    // An object without members has only white space and comments between its braces.
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
  const commentsEnd = await endOfComments(text, comma === undefined ? lastEnd : comma + 1);
  const place = commentsEnd + (/^[ \t]*(?=\r?\n)/.exec(text.slice(commentsEnd))?.[0].length ?? 0);
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
  const shorter = cut(text, member.offset, end, await endOfComments(text, end), isLast && previous !== undefined);
  if (comma !== undefined || !previous) return shorter;
  const before = await commaAfter(text, previous.offset + previous.length);
  return before === undefined ? shorter : splice(shorter, before, before + 1, "");
}

/** Removes whole lines if nothing else is on them, and otherwise the member and the space beside it. */
function cut(text: string, start: number, end: number, commentsEnd: number, isLast: boolean): string {
  const from = lineStart(text, start);
  const to = nextLine(text, commentsEnd);
  const isAlone = text.slice(from, start).trim() === "" && text.slice(commentsEnd, to).trim() === "";
  if (isAlone && text.slice(commentsEnd, to).includes("\n")) return splice(text, from, to, "");
  if (!isLast) return splice(text, start, text[end] === " " ? end + 1 : end, "");
  return splice(text, text[start - 1] === " " && text[start - 2] === "," ? start - 1 : start, end, "");
}

/** Returns the offset of the comma that follows, if only white space and comments are before it. */
async function commaAfter(text: string, offset: number): Promise<number | undefined> {
  const { createScanner } = await loadJsonc();
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  const token: number = scanner.scan();
  return token === tokens.comma ? scanner.getTokenOffset() : undefined;
}

/** The end of the comments that follow on the same line; they belong to what stands before them. */
async function endOfComments(text: string, offset: number): Promise<number> {
  const { createScanner } = await loadJsonc();
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  let end = offset;
  for (let token: number = scanner.scan(); ; token = scanner.scan()) {
    const isComment = token === tokens.lineComment || token === tokens.blockComment;
    const tokenEnd = scanner.getTokenOffset() + scanner.getTokenLength();
    if (isComment && !text.slice(scanner.getTokenOffset(), tokenEnd).includes("\n")) end = tokenEnd;
    else if (token !== tokens.space) return end;
  }
}

function print(value: unknown, indent: string, { unit, eol, isFlat }: Layout): string {
  if (isFlat) return JSON.stringify(value);
  return JSON.stringify(value, undefined, unit).replaceAll("\n", `${eol}${indent}`);
}

/** Loads the parser when the first JSON file is read. */
const loadJsonc = (): Promise<typeof import("jsonc-parser")> => import("jsonc-parser");

/** Reads JSON with comments and trailing commas. */
export async function readJson(text: string, file: string): Promise<Content> {
  const root = await readJsonTree(text, file);
  const duplicates: Path[] = [];
  return { value: toValue(root, [], duplicates), duplicates };
}

/** Parses JSON into nodes with their offsets. */
async function readJsonTree(text: string, file: string): Promise<Node> {
  const { createScanner, parseTree, printParseErrorCode } = await loadJsonc();
  if (isTooDeep(createScanner(text, true)))
    throw limitReached(file, `expected at most ${maxDepth} nested levels, got more`);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw malformed(file, text, first.offset, `invalid JSON: ${spell(printParseErrorCode(first.error))}`);
  if (!root) throw malformed(file, text, 0, "invalid JSON: value expected");
  return root;
}

/** Counts the depth before the text is parsed, because the parser is recursive. */
function isTooDeep(scanner: JSONScanner): boolean {
  let depth = 0;
  for (let token: number = scanner.scan(); token !== tokens.end; token = scanner.scan()) {
    if (token === tokens.openBrace || token === tokens.openBracket) depth++;
    if (token === tokens.closeBrace || token === tokens.closeBracket) depth--;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** The token numbers of the scanner. Its own `const enum` does not exist at run time. */
const tokens = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  space: 15,
  end: 17,
};

function toValue(node: Node, path: Path, duplicates: Path[]): unknown {
  if (node.type === "array")
    return (node.children ?? []).map((item, index) => toValue(item, [...path, index], duplicates));
  if (node.type !== "object") return node.value;
  const members = new Map<string, unknown>();
  for (const { children } of node.children ?? []) {
    const name = String(children?.[0]?.value);
    const value = children?.[1];
    const at = [...path, name];
    if (members.has(name)) duplicates.push(at);
    if (value) members.set(name, toValue(value, at, duplicates));
  }
  return toTable(members);
}

/** Turns `CommaExpected` into "comma expected". */
function spell(code: string): string {
  return code.replace(/\B[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
