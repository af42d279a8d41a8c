import { PortolanError } from "../errors.ts";

/** The rules of an expression with this operator, for expanding and for matching. */
export interface Operator {
  /** The character before the first value. An expression that has one may be absent. */
  readonly first: "" | "#" | "." | "/" | ";" | "?" | "&";
  readonly separator: string;
  /** Values are written as `name=value`. */
  readonly named: boolean;
  /** The text after the name of an empty value. */
  readonly afterEmptyName: "" | "=";
  /** Reserved characters and escapes in values are not escaped again. */
  readonly keepsReserved: boolean;
  /** Characters that end the expression in a URI, unless they are escaped. */
  readonly stops: string;
}

/** One variable of an expression with its modifier. */
export interface Variable {
  readonly name: string;
  readonly isExploded: boolean;
  /** The prefix of the value that is used, in characters. Infinite without a prefix modifier. */
  readonly maxLength: number;
}

/** Literal text, escaped as in a URI. */
export interface Literal {
  readonly kind: "literal";
  readonly text: string;
}

/** An expression: the part between braces. */
export interface Expression {
  readonly kind: "expression";
  readonly operator: Operator;
  readonly variables: readonly Variable[];
}

export type TemplatePart = Literal | Expression;

/** The limit for templates and URIs, in characters. */
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

/** Parses a template into its parts. */
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

/** Returns true for a character of a variable's name. Names may also have dots and escapes. */
export function isNameCharacter(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}

/** Returns true if there is a percent sign with two hex digits at this position. */
export function isEscape(text: string, at: number): boolean {
  return text[at] === "%" && isHexDigit(text[at + 1]) && isHexDigit(text[at + 2]);
}

function isHexDigit(character: string | undefined): boolean {
  return character !== undefined && /^[\da-fA-F]$/.test(character);
}

/** Returns the URI with upper-case escapes and without characters beyond ASCII. Undefined if it is malformed. */
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
