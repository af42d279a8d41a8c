import type { JSONScanner, Node, ParseError } from "jsonc-parser";
import type { Content } from "./content.ts";
import { limits } from "./limits.ts";
import { malformed, tooMuch } from "./malformed.ts";
import { type Path, toTable } from "./value.ts";

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
  for (let token: number = scanner.scan(); token !== tokens.end; token = scanner.scan()) {
    if (token === tokens.openBrace || token === tokens.openBracket) depth++;
    if (token === tokens.closeBrace || token === tokens.closeBracket) depth--;
    if (depth > limits.depth) return true;
  }
  return false;
}

/** The scanner's numbers; its enumeration exists only for its own compiler. */
const tokens = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, end: 17 };

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
