import { PortolanError } from "../errors.ts";
import { type Matched, matchParts } from "./uri-template-match.ts";
import {
  type Expression,
  isEscape,
  type Operator,
  parseParts,
  type TemplatePart,
  type Variable,
} from "./uri-template-syntax.ts";

/** A value to expand: a text, a list, or names with texts. An empty list counts as absent. */
export type UriValue = string | readonly string[] | Readonly<Record<string, string>>;

/** A URI template (RFC 6570), read once and used both ways. */
export interface UriTemplate {
  readonly text: string;
  /** The names of the variables, each once, in order. */
  readonly variables: readonly string[];
  /**
   * The decoded values if the URI can come from this template, else undefined. Exploded variables are lists, absent ones
   * have no member, `{x}` and `{+x}` are never empty. Where several readings fit, earlier variables are the shorter ones.
   * A decoded value may hold anything, "/" and ".." included.
   */
  match(uri: string): Record<string, string | string[]> | undefined;
  /** The URI for these values; variables without one are left out. */
  expand(values: Readonly<Record<string, UriValue | undefined>>): string;
}

/** Reads a template; throws "invalid-definition" with the position of what is wrong. */
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

/** The pieces between separators that a value is written as; none for an empty list. */
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
  // encodeURIComponent leaves these alone and throws at half a surrogate pair.
  if (reserved.has(character)) return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xd800 || code > 0xdfff) return encodeURIComponent(character);
  throw new PortolanError(
    "invalid-argument",
    `Variable "${name}": expected well-formed text, got half a surrogate pair`,
  );
}
