import { PortolanError } from "../errors.ts";
import {
  type Expression,
  isEscape,
  isNameCharacter,
  maxUriLength,
  normalizeUri,
  type Operator,
  parseParts,
  type TemplatePart,
  type Variable,
} from "./uri-template-syntax.ts";

/** A value for a variable: a string, a list, or strings by name. An empty list counts as absent. */
export type UriValue = string | readonly string[] | Readonly<Record<string, string>>;

/** A parsed URI template (RFC 6570), to match URIs and to make them. */
export interface UriTemplate {
  readonly text: string;
  /** The names of the variables, each once, in order. */
  readonly variables: readonly string[];
  /**
   * Returns the decoded values if the URI matches, else undefined. Exploded variables are lists, absent ones have no
   * member, `{x}` and `{+x}` are never empty. If several matches are possible, earlier variables are shorter.
   * Check decoded values before use: they can contain anything, also "/" and "..".
   */
  match(uri: string): Record<string, string | string[]> | undefined;
  /** Returns the URI for these values. Variables without a value are left out. */
  expand(values: Readonly<Record<string, UriValue | undefined>>): string;
}

/** Parses a template. Throws "invalid-definition" with the position of the mistake. */
export function parseUriTemplate(template: string): UriTemplate {
  const parts = parseParts(template);
  const variables = parts.flatMap((part) => (part.kind === "expression" ? part.variables : []));
  return {
    text: template,
    variables: [...new Set(variables.map(({ name }) => name))],
    match: (uri: string): Matched | undefined => matchParts(parts, uri),
    expand: (values) => parts.map((part) => expandPart(part, values)).join(""),
  };
}

/** Throws "invalid-definition" if a function completes a variable that the template does not have. */
export function checkCompleters({ text, variables }: UriTemplate, complete: object = {}): void {
  const unknown = Object.keys(complete).find((variable) => !variables.includes(variable));
  if (unknown === undefined) return;
  const expected = variables.length > 0 ? `expected one of ${variables.join(", ")}` : "it has no variables";
  throw new PortolanError(
    "invalid-definition",
    `Resource "${text}": complete: the template has no variable "${unknown}"; ${expected}`,
  );
}

type Values = Readonly<Record<string, UriValue | undefined>>;

function expandPart(part: TemplatePart, values: Values): string {
  return part.kind === "literal" ? part.text : expandExpression(part, values);
}

function expandExpression({ operator, variables }: Expression, values: Values): string {
  const pieces: string[] = [];
  for (const variable of variables) {
    // Own members only: a variable may be called "constructor".
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    if (value !== undefined) pieces.push(...expandVariable(operator, variable, value));
  }
  return pieces.length === 0 ? "" : operator.first + pieces.join(operator.separator);
}

/** Returns the pieces between separators for one value: none for an empty list. */
function expandVariable(operator: Operator, variable: Variable, value: UriValue): string[] {
  const { name, isExploded, maxLength } = variable;
  const encode = (text: string) => encodeValue(text, operator.keepsReserved, name);
  const withName = (label: string, text: string) => label + (text === "" ? operator.afterEmptyName : `=${text}`);
  const labelled = (text: string) => (operator.named ? withName(name, text) : text);
  if (typeof value === "string") {
    const isCut = maxLength < value.length;
    return [labelled(encode(isCut ? Array.from(value).slice(0, maxLength).join("") : value))];
  }
  if (Number.isFinite(maxLength)) {
    throw new PortolanError(
      "invalid-argument",
      `Variable "${name}": expected a string for a prefix, got several values`,
    );
  }
  const isList = Array.isArray(value);
  const items: string[] = isList ? value.map(encode) : Object.entries(value).map(pairOf);
  if (items.length === 0) return [];
  if (!isExploded) return [labelled(items.join(","))];
  return isList ? items.map(labelled) : items;

  function pairOf([key, text]: [string, string]): string {
    if (!isExploded) return `${encode(key)},${encode(text)}`;
    return operator.named ? withName(encode(key), encode(text)) : `${encode(key)}=${encode(text)}`;
  }
}

const unreserved = new Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
const reserved = new Set(":/?#[]@!$&'()*+,;=");

function encodeValue(value: string, keepsReserved: boolean, name: string): string {
  let encoded = "";
  let at = 0;
  for (const character of value) {
    const stays = unreserved.has(character) || (keepsReserved && (reserved.has(character) || isEscape(value, at)));
    encoded += stays ? character : escapeCharacter(character, name);
    at += character.length;
  }
  return encoded;
}

function escapeCharacter(character: string, name: string): string {
  // encodeURIComponent does not escape all of these, and throws at half a surrogate pair.
  if (reserved.has(character)) return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xd800 || code > 0xdfff) return encodeURIComponent(character);
  throw new PortolanError(
    "invalid-argument",
    `Variable "${name}": expected well-formed text, got half a surrogate pair`,
  );
}

/** The values of a template's variables in a URI. */
type Matched = Record<string, string | string[]>;

/** Matches a URI in at most parts × length steps: each part looks at each position once. */
function matchParts(parts: readonly TemplatePart[], given: string): Matched | undefined {
  if (given.length > maxUriLength) return undefined;
  const uri = normalizeUri(given);
  if (uri === undefined || uri.length > maxUriLength) return undefined;
  const [head, ...others] = parts;
  // Most URIs of other templates fail here.
  if (head?.kind === "literal")
    return uri.startsWith(head.text) ? read(others, uri.slice(head.text.length)) : undefined;
  return read(parts, uri);
}

function read(parts: readonly TemplatePart[], uri: string): Matched | undefined {
  const plan = planEnds(parts, uri);
  const bindings: Binding[] = [];
  let at = 0;
  for (const [row, part] of parts.entries()) {
    const end = endOf(plan, row, at);
    if (end === nowhere) return undefined;
    if (part.kind === "expression" && end > at && !readExpression(part, uri.slice(at, end), bindings)) return undefined;
    at = end;
  }
  return at === uri.length ? merge(bindings) : undefined;
}

const nowhere = -1;

/** The end of each part for each start, such that all later parts match: a row per part, a column per start. */
interface Plan {
  readonly width: number;
  readonly ends: Int16Array;
}

function endOf({ width, ends }: Plan, row: number, at: number): number {
  return ends[row * width + at] ?? nowhere;
}

// From the last part to the first: then each choice leads to a match, and there is no backtracking.
function planEnds(parts: readonly TemplatePart[], uri: string): Plan {
  const width = uri.length + 1;
  const plan = { width, ends: new Int16Array((parts.length + 1) * width).fill(nowhere) };
  plan.ends[plan.ends.length - 1] = uri.length;
  for (let row = parts.length - 1; row >= 0; row -= 1) {
    const part = parts[row];
    if (part?.kind === "literal") planLiteral(part.text, uri, plan, row);
    else if (part?.kind === "expression") planExpression(part, uri, plan, row);
  }
  return plan;
}

function planLiteral(text: string, uri: string, plan: Plan, row: number): void {
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1)) {
    const end = at + text.length;
    if (endOf(plan, row + 1, end) !== nowhere) plan.ends[row * plan.width + at] = end;
  }
}

/** The shortest match wins. An optional expression is present if it can be. */
function planExpression(expression: Expression, uri: string, plan: Plan, row: number): void {
  const { first, separator, stops } = expression.operator;
  const maxSeparators = countSeparators(expression);
  const start = row * plan.width;
  // The nearest position after `at` where the next part can begin, and the number of separators before it.
  let nearest = nowhere;
  let separators = 0;
  for (let at = uri.length; at >= 0; at -= 1) {
    const character = uri.charAt(at);
    const canEndHere = endOf(plan, row + 1, at) !== nowhere;
    if (first !== "") {
      const fits = nearest !== nowhere && separators <= maxSeparators;
      if (character === first && fits && hasKnownName(expression, uri, at + 1)) plan.ends[start + at] = nearest;
      else if (canEndHere) plan.ends[start + at] = at;
    }
    if (character === separator && hasKnownName(expression, uri, at + 1)) separators += 1;
    else if (character === separator || (character !== "" && stops.includes(character))) nearest = nowhere;
    if (first === "" && nearest !== nowhere && separators <= maxSeparators) plan.ends[start + at] = nearest;
    if (canEndHere && isBetweenCharacters(uri, at)) {
      nearest = at;
      separators = 0;
    }
  }
}

/** Returns true if the piece at this position has the name of a variable, or needs no name. */
function hasKnownName({ operator, variables }: Expression, uri: string, at: number): boolean {
  if (!operator.named) return true;
  return variables.some(({ name }) => uri.startsWith(name, at) && !isNameCharacter(uri[at + name.length]));
}

function countSeparators({ operator, variables }: Expression): number {
  const isUnbounded = takesCommas(operator, variables) || variables.some(({ isExploded }) => isExploded);
  return isUnbounded ? Number.POSITIVE_INFINITY : variables.length - 1;
}

/** Commas belong to the value if the expression has one variable that is not exploded. */
function takesCommas(operator: Operator, variables: readonly Variable[]): boolean {
  return operator.separator === "," && variables.length === 1 && variables[0]?.isExploded === false;
}

/** Returns false inside an escape, and between the escaped bytes of one character. */
function isBetweenCharacters(uri: string, at: number): boolean {
  if (uri.charAt(at - 1) === "%" || uri.charAt(at - 2) === "%") return false;
  return uri.charAt(at) !== "%" || !"89AB".includes(uri.charAt(at + 1));
}

interface Binding {
  readonly variable: Variable;
  readonly value: string | string[];
}

/** Adds the values in the text of an expression. Returns false if the text does not match its variables. */
function readExpression({ operator, variables }: Expression, text: string, bindings: Binding[]): boolean {
  const body = text.slice(operator.first.length);
  const pieces = takesCommas(operator, variables) ? [body] : body.split(operator.separator);
  return operator.named ? readNamed(variables, pieces, bindings) : readListed(variables, pieces, bindings);
}

function readNamed(variables: readonly Variable[], pieces: string[], bindings: Binding[]): boolean {
  const found = new Map<Variable, string[]>();
  for (const piece of pieces) {
    const equals = piece.indexOf("=");
    const name = equals === -1 ? piece : piece.slice(0, equals);
    const variable = variables.find((candidate) => candidate.name === name);
    const value = decode(equals === -1 ? "" : piece.slice(equals + 1));
    if (variable === undefined || value === undefined) return false;
    const values = found.get(variable) ?? [];
    if (values.length > 0 && !variable.isExploded) return false;
    found.set(variable, values);
    values.push(value);
  }
  for (const [variable, values] of found) bind(variable, values, bindings);
  return true;
}

function readListed(variables: readonly Variable[], pieces: string[], bindings: Binding[]): boolean {
  const values: string[] = [];
  for (const piece of pieces) {
    const value = decode(piece);
    if (value === undefined) return false;
    values.push(value);
  }
  // The first exploded variable takes the values that the others do not need.
  let surplus = values.length - variables.length;
  for (const variable of variables) {
    if (values.length === 0) break;
    const count = variable.isExploded && surplus > 0 ? surplus + 1 : 1;
    if (variable.isExploded) surplus = 0;
    bind(variable, values.splice(0, count), bindings);
  }
  return true;
}

function bind(variable: Variable, values: string[], bindings: Binding[]): void {
  bindings.push({ variable, value: variable.isExploded ? values : (values[0] ?? "") });
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns one value per name. Undefined if a variable occurs twice with different values, or a prefix is too long. */
function merge(bindings: Binding[]): Matched | undefined {
  const matched: Matched = Object.create(null);
  // The longest first, so that each prefix is compared with the most complete value.
  for (const { variable, value } of bindings.sort(byMaxLength)) {
    const { name, maxLength } = variable;
    matched[name] ??= value;
    if (!isSame(takePrefix(matched[name], maxLength), value)) return undefined;
  }
  return matched;
}

function byMaxLength(a: Binding, b: Binding): number {
  return a.variable.maxLength === b.variable.maxLength ? 0 : b.variable.maxLength - a.variable.maxLength;
}

function takePrefix(value: string | string[], maxLength: number): string | string[] {
  return typeof value === "string" && maxLength < value.length ? Array.from(value).slice(0, maxLength).join("") : value;
}

function isSame(a: string | string[], b: string | string[]): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}
