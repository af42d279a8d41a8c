import { PortolanError } from "../errors.ts";

/** How an expression is written out, and what ends it when a URI is read. */
export interface Operator {
  /** What stands before the first value; an expression that has it may be absent. */
  readonly first: "" | "#" | "." | "/" | ";" | "?" | "&";
  readonly separator: string;
  /** Values are written as `name=value`. */
  readonly named: boolean;
  /** What follows the name of an empty value. */
  readonly afterEmptyName: "" | "=";
  /** Reserved characters and escapes in values stay as they are. */
  readonly keepsReserved: boolean;
  /** Characters that never stand unescaped inside the expression. */
  readonly stops: string;
}

/** One variable of an expression with its modifier. */
export interface Variable {
  readonly name: string;
  readonly isExploded: boolean;
  /** Characters of the value that are written out; infinite without a prefix modifier. */
  readonly maxLength: number;
}

/** Text that stands for itself, in the form it has in a URI. */
export interface Literal {
  readonly kind: "literal";
  readonly text: string;
}

/** What stands between braces. */
export interface Expression {
  readonly kind: "expression";
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

export type TemplatePart = Literal | Expression;

/** The longest template and the longest URI that are read, in characters. */
export const maxUriLength = 8_192;
const maxExpressions = 100;

const plain: Operator = {
  first: "",
  separator: ",",
  named: false,
  afterEmptyName: "",
  keepsReserved: false,
  stops: "/?#",
};

const operators: ReadonlyMap<string, Operator> = new Map([
  ["+", { ...plain, keepsReserved: true, stops: "" }],
  ["#", { ...plain, first: "#", keepsReserved: true, stops: "" }],
  [".", { ...plain, first: ".", separator: "." }],
  ["/", { ...plain, first: "/", separator: "/", stops: "?#" }],
  [";", { ...plain, first: ";", separator: ";", named: true }],
  ["?", { ...plain, first: "?", separator: "&", named: true, afterEmptyName: "=", stops: "#" }],
  ["&", { ...plain, first: "&", separator: "&", named: true, afterEmptyName: "=", stops: "#" }],
]);

/** The parts of a template, in order. */
export function parseParts(template: string): TemplatePart[] {
  if (template.length > maxUriLength) {
    throw refusal(template, `expected at most ${maxUriLength} characters, got more`, maxUriLength);
  }
  const parts: TemplatePart[] = [];
  let expressions = 0;
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf("{", at);
    const end = open === -1 ? template.length : open;
    if (end > at) parts.push(parseLiteral(template, at, end));
    if (open === -1) break;
    const close = template.indexOf("}", open);
    if (close === -1) throw refusal(template, 'expected "}" for this "{"', open);
    expressions += 1;
    if (expressions > maxExpressions) throw refusal(template, `expected at most ${maxExpressions} expressions`, open);
    parts.push(parseExpression(template, open + 1, close));
    at = close + 1;
  }
  return parts;
}

const neverLiteral = ' "<>\\^`|}';

function parseLiteral(template: string, start: number, end: number): Literal {
  for (let at = start; at < end; at += 1) {
    const character = template[at] ?? "";
    if (character < " " || character === "\x7f" || neverLiteral.includes(character)) {
      throw refusal(template, `expected a character of a URI, got ${JSON.stringify(character)}`, at);
    }
    if (character === "%" && !isEscape(template, at)) throw refusal(template, 'expected two hex digits after "%"', at);
  }
  const text = normalizeUri(template.slice(start, end));
  if (text === undefined) throw refusal(template, "expected well-formed text, got half a surrogate pair", start);
  return { kind: "literal", text };
}

function parseExpression(template: string, start: number, end: number): Expression {
  const operator = operators.get(template[start] ?? "");
  let at = operator === undefined ? start : start + 1;
  const variables: Variable[] = [];
  for (const text of template.slice(at, end).split(",")) {
    variables.push(parseVariable(template, text, at));
    at += text.length + 1;
  }
  return { kind: "expression", operator: operator ?? plain, variables };
}

function parseVariable(template: string, text: string, start: number): Variable {
  const isExploded = text.endsWith("*");
  const colon = text.indexOf(":");
  const nameLength = colon !== -1 ? colon : isExploded ? text.length - 1 : text.length;
  const name = text.slice(0, nameLength);
  for (let at = 0; at < name.length || at === 0; at += 1) {
    const isInnerDot = name[at] === "." && at > 0 && at < name.length - 1 && name[at - 1] !== ".";
    if (isNameCharacter(name[at]) || isInnerDot) continue;
    if (isEscape(name, at)) at += 2;
    else throw refusal(template, `expected a variable name of letters, digits, "_" and inner dots`, start + at);
  }
  if (colon === -1) return { name, isExploded, maxLength: Number.POSITIVE_INFINITY };
  const digits = text.slice(colon + 1);
  const maxLength = Number(digits);
  if (Number.isInteger(maxLength) && maxLength > 0 && maxLength < 10_000 && String(maxLength) === digits) {
    return { name, isExploded: false, maxLength };
  }
  throw refusal(template, 'expected a length from 1 to 9999 after ":"', start + colon + 1);
}

/** Whether a character may stand in the name of a variable (which may also hold dots and escapes). */
export function isNameCharacter(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}

/** Whether a percent sign and two hex digits stand at a place. */
export function isEscape(text: string, at: number): boolean {
  return text[at] === "%" && isHexDigit(text[at + 1]) && isHexDigit(text[at + 2]);
}

function isHexDigit(character: string | undefined): boolean {
  return character !== undefined && /^[\da-fA-F]$/.test(character);
}

/** A URI with upper-case escapes and everything beyond ASCII escaped; undefined when it has a bad escape or half a character. */
export function normalizeUri(uri: string): string | undefined {
  let normal = "";
  let done = 0;
  for (let at = 0; at < uri.length; at += 1) {
    const code = uri.charCodeAt(at);
    if (code < 0x80 && code !== 0x25) continue;
    const length = code === 0x25 ? 3 : (uri.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    const text = uri.slice(at, at + length);
    if (code === 0x25 ? !isEscape(uri, at) : length === 1 && isSurrogate(code)) return undefined;
    normal += uri.slice(done, at) + (code === 0x25 ? text.toUpperCase() : encodeURIComponent(text));
    done = at + length;
    at = done - 1;
  }
  return normal + uri.slice(done);
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function refusal(template: string, problem: string, position: number): PortolanError {
  const shown = template.length > 80 ? `${template.slice(0, 80)}…` : template;
  return new PortolanError(
    "invalid-definition",
    `URI template ${JSON.stringify(shown)}: ${problem} at position ${position}`,
  );
}
