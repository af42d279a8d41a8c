import type { Dialect } from "./database.ts";

/** A token of a statement; `code` is everything that is neither quoted, comment nor space. */
interface Token {
  readonly kind: "code" | "quoted" | "comment" | "space";
  readonly text: string;
}

const patterns: { readonly [D in Dialect]: RegExp } = {
  sqlite:
    /(?<space>[\s\uFEFF]+)|(?<comment>--[^\n]*|\/\*.*?(?:\*\/|$))|(?<quoted>(['"`])(?:(?!\4).|\4\4)*\4?|\[[^\]]*\]?)|[\w$\u0080-\uFFFF]+|./sy,
  postgresql:
    /(?<space>\s+)|(?<comment>--[^\n]*|\/\*)|(?<quoted>[eE]'(?:[^'\\]|''|\\.)*'?|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|(\$(?:[A-Za-z_\u0080-\uFFFF][\w\u0080-\uFFFF]*)?\$).*?(?:\4|$))|[A-Za-z_\u0080-\uFFFF][\w$\u0080-\uFFFF]*|::|:=|./sy,
};

/** Returns a statement without the comments, space and semicolons after it. */
export function trimEnd(sql: string, dialect: Dialect): string {
  const tokens = [...read(sql, dialect)];
  while (tokens.length > 0) {
    const last = tokens.at(-1);
    if (last?.kind !== "space" && last?.kind !== "comment" && last?.text !== ";") break;
    tokens.pop();
  }
  return tokens.map(({ text }) => text).join("");
}

/**
 * Replaces `:name` by `$1`, `$2`, … for a database that knows positions only. Unknown names stay, and so does a colon
 * after a value, as in `list[1:last]`.
 */
export function toPositions(sql: string, names: readonly string[]): { readonly sql: string; readonly used: string[] } {
  const used: string[] = [];
  let out = "";
  let [isAfterColon, isAfterValue] = [false, false];
  for (const { kind, text } of read(sql, "postgresql")) {
    if (isAfterColon && kind === "code" && names.includes(text)) {
      if (!used.includes(text)) used.push(text);
      out = `${out.slice(0, -1)}$${used.indexOf(text) + 1}`;
    } else out += text;
    isAfterColon = kind === "code" && text === ":" && !isAfterValue;
    isAfterValue = kind === "quoted" || (kind === "code" && /[\w$\])\u0080-\uFFFF]$/.test(text));
  }
  return { sql: out, used };
}

function* read(sql: string, dialect: Dialect): Generator<Token> {
  const pattern = new RegExp(patterns[dialect]);
  for (let at = 0; at < sql.length; at = pattern.lastIndex) {
    pattern.lastIndex = at;
    const found = pattern.exec(sql);
    if (!found) return;
    const { space, comment, quoted } = found.groups ?? {};
    // PostgreSQL's comments nest, which no regular expression can match.
    if (comment === "/*") pattern.lastIndex = endOfComment(sql, at);
    const kind =
      space !== undefined ? "space" : comment !== undefined ? "comment" : quoted !== undefined ? "quoted" : "code";
    yield { kind, text: sql.slice(at, pattern.lastIndex) };
  }
}

function endOfComment(sql: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  let depth = 0;
  for (let found = mark.exec(sql); found; found = mark.exec(sql)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return sql.length;
}
