import { MessageRedactor, redactedMark } from "./redact.ts";

/** A part of a text: as it is, or the name of the variable that holds a secret. */
export type TextPart = string | { readonly variable: string };

/** The mark of a tap in headers and addresses. */
const tappedMark = "…";

/** Characters that stand for something else while a text is changed. They are private ones that the text does not have. */
interface Marks {
  readonly variable: string;
  readonly number: string;
}

/** Splits JSON text at its secrets, which are named after the members that hold them. Numbers keep their digits. */
export function splitJson(text: string, redactor: MessageRedactor = new MessageRedactor()): readonly TextPart[] {
  const [variable = "", number = ""] = unusedCharacters(text);
  const marks = { variable, number };
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const kept = text.replace(tokens, (token) => (token.startsWith('"') ? token : `"${number}${token}${number}"`));
  let value: unknown;
  try {
    value = JSON.parse(kept);
  } catch {
    return splitText(redactor.redact(text), "SECRET");
  }
  const names = new Names();
  const redacted = redactor.redact(value);
  const hasSecret = JSON.stringify(redacted).includes(redactedMark);
  const written = hasSecret ? JSON.stringify(named(redacted, "secret", names, marks)) : kept;
  const restored = written.replaceAll(new RegExp(`"${number}([^"]*)${number}"`, "g"), "$1");
  // Without secrets the text stays as it was written, with its white space.
  if (!hasSecret) return [text];
  return restored.split(variable).map((part, at): TextPart => (at % 2 === 0 ? part : { variable: part }));
}

function unusedCharacters(text: string): string[] {
  const found: string[] = [];
  for (let code = 0xe000; found.length < 2 && code < 0xf8ff; code += 1) {
    const character = String.fromCharCode(code);
    if (!text.includes(character)) found.push(character);
  }
  return found;
}

/** Replaces what was redacted by the name of a variable. */
function named(value: unknown, name: string, names: Names, marks: Marks): unknown {
  if (typeof value === "string") {
    return value.replaceAll(redactedMark, () => `${marks.variable}${names.nameFor(name)}${marks.variable}`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => named(item, name, names, marks));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item, key, names, marks)]));
}

/** Splits a text at the secrets that were redacted. */
export function splitText(text: string, name: string): readonly TextPart[] {
  return splitAt(text, redactedMark, name);
}

/** Splits a header or an address as a tap gives it, at its secrets. */
export function splitTapped(text: string, name: string): readonly TextPart[] {
  const parts = splitAt(text, redactedMark, name);
  return parts.flatMap((part) => (typeof part === "string" ? splitAt(part, tappedMark, name) : [part]));
}

function splitAt(text: string, mark: string, name: string): readonly TextPart[] {
  const parts = text.split(mark);
  const all = parts.flatMap((part, at): TextPart[] => (at === 0 ? [part] : [{ variable: variableOf(name) }, part]));
  return all.filter((part) => part !== "");
}

/** Splits an address at the secrets in its query. */
export function splitUrl(text: string): readonly TextPart[] {
  if (!URL.canParse(text)) return [text];
  const [start = "", query, ...rest] = text.split(/\?(.*)/s);
  if (query === undefined || rest.join("") !== "") return splitText(new MessageRedactor().redact(text), "secret");
  const parts = query.split("&").map((pair): readonly TextPart[] => {
    const [name = "", value] = pair.split(/=(.*)/s);
    if (value === undefined) return [pair];
    const cleaned = new MessageRedactor().redact({ [name]: value }) as { readonly [name: string]: string };
    return [`${name}=`, ...splitTapped(cleaned[name] ?? value, name)];
  });
  return [`${start}?`, ...parts.flatMap((part, at) => (at === 0 ? part : ["&", ...part]))];
}

/** Gives each secret a variable of its own. */
class Names {
  readonly #counts = new Map<string, number>();

  nameFor(member: string): string {
    const name = variableOf(member);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  }
}

/** Returns the name of a variable for a member: `apiKey` gives `API_KEY`, `authorization` gives `TOKEN`. */
function variableOf(member: string): string {
  if (/authorization$/i.test(member)) return "TOKEN";
  const words = member
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toUpperCase()
    .replace(/[^A-Z\d]+/g, "_");
  return words
    .replace(/^_+|_+$/g, "")
    .replace(/^(?=\d|$)/, "SECRET_")
    .replace(/_$/, "");
}

/** Quotes a text for a POSIX shell. Variables are expanded, everything else stays as it is. */
export function shellWord(parts: readonly TextPart[]): string {
  const words = parts.map((part) => {
    if (typeof part !== "string") return `"$${part.variable}"`;
    return /^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`;
  });
  return words.join("") || "''";
}

/** Writes a text with `$NAME` for its secrets. */
export function plainText(parts: readonly TextPart[]): string {
  return parts.map((part) => (typeof part === "string" ? part : `$${part.variable}`)).join("");
}

/** Writes a text as an expression of TypeScript that reads secrets from the environment. */
export function textExpression(parts: readonly TextPart[]): string {
  if (parts.every((part) => typeof part === "string")) return JSON.stringify(parts.join(""));
  const inside = parts.map((part) =>
    typeof part === "string"
      ? part.replace(/[`\\]|\$(?=\{)/g, "\\$&").replaceAll("\r", "\\r")
      : `\${process.env[${JSON.stringify(part.variable)}]}`,
  );
  return `\`${inside.join("")}\``;
}

/** Writes JSON as an expression of TypeScript that reads secrets from the environment. */
export function jsonExpression(parts: readonly TextPart[]): string {
  const [mark = ""] = unusedCharacters(plainText(parts));
  const text = parts.map((part) => (typeof part === "string" ? part : `${mark}${part.variable}${mark}`)).join("");
  return text.replace(/"(?:[^"\\]|\\.)*"(\s*:)?/g, (token, colon: string | undefined) => {
    const literal = colon === undefined ? token : token.slice(0, -colon.length);
    // As a name without brackets, it would set the prototype.
    if (colon !== undefined && JSON.parse(literal) === "__proto__") return `["__proto__"]${colon}`;
    if (!literal.includes(mark)) return token;
    const inner = (JSON.parse(literal) as string).split(mark);
    const expression = textExpression(inner.map((part, at) => (at % 2 === 0 ? part : { variable: part })));
    return colon === undefined ? expression : `[${expression}]${colon}`;
  });
}
