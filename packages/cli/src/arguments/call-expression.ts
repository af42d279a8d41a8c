import { Failure } from "../failure.ts";

/** A call as programs write it: `files.read(path: "README.md", lines: 5)`. */
export interface CallExpression {
  /** The text before the parenthesis. */
  readonly name: string;
  /** Its arguments as words of a command line. */
  readonly words: readonly string[];
}

/** Parses a call as programs write it. Returns undefined for any other word. */
export function parseCall(word: string): CallExpression | undefined {
  const [, name = "", inside = ""] = /^([^()\s=:{}"']+)\(([\s\S]*)\)\s*;?\s*$/.exec(word) ?? [];
  if (name === "") return undefined;
  const pairs = splitAtCommas(inside);
  return { name, words: pairs.map((pair) => toWord(pair, name)) };
}

/** Returns `key=text` for a value whose type the schema decides, and `key:=json` for an object or a list. */
function toWord(pair: string, name: string): string {
  if (pair.startsWith("{") && pair.endsWith("}")) return pair;
  const [, quoted, bare, value = ""] = /^(?:"([^"]+)"|'?([\w.$-]+)'?)\s*[:=]\s*([\s\S]+)$/.exec(pair) ?? [];
  const key = quoted ?? bare;
  if (key === undefined) {
    throw new Failure("usage", `${name}(…): expected name: value, got ${JSON.stringify(pair)}`, {
      next: "separate arguments are name=value: portolan call --help",
    });
  }
  if (/^[[{]/.test(value)) return `${key}:=${value}`;
  return `${key}=${unquote(value)}`;
}

function unquote(value: string): string {
  if (/^'[\s\S]*'$/.test(value)) return value.slice(1, -1).replaceAll("\\'", "'");
  if (!/^"[\s\S]*"$/.test(value)) return value;
  try {
    return JSON.parse(value) as string;
  } catch {
    return value.slice(1, -1);
  }
}

/** Splits at the commas that are outside of quotes and brackets. */
function splitAtCommas(text: string): string[] {
  const parts: string[] = [];
  let part = "";
  let depth = 0;
  let quote = "";
  for (const sign of text) {
    const isEscaped = quote !== "" && part.endsWith("\\");
    if (quote !== "") quote = sign === quote && !isEscaped ? "" : quote;
    else if (sign === '"' || (sign === "'" && /^$|[\s:=,([{]$/.test(part))) quote = sign;
    else if ("[{(".includes(sign)) depth += 1;
    else if ("]})".includes(sign)) depth -= 1;
    if (sign === "," && depth === 0 && quote === "") {
      parts.push(part);
      part = "";
    } else part += sign;
  }
  return [...parts, part].map((each) => each.trim()).filter((each) => each !== "");
}
