/** Returns true if a path matches a pattern. */
export type Glob = (segments: readonly string[]) => boolean;

type Token = { readonly any: true } | { readonly one: (character: string) => boolean };

const maxAlternatives = 64;
/** Characters of all alternatives together. */
const maxExpandedLength = 8_000;

/**
 * Compiles a glob: `*` and `?` within a name, `**` for any folders, `[a-z]`, `{one,other}`. A pattern without a slash
 * matches the name at any depth. The time to match is at most proportional to the length of all alternatives of the
 * pattern together (64, and 8,000 characters) times the length of the path, without a slash of its last name. This can be
 * much for one path of many, so callers take turns of the event loop between two paths, and have a deadline.
 */
export function compileGlob(pattern: string, { ignoreCase = false }: { ignoreCase?: boolean } = {}): Glob {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const expanded = expandBraces(fold(pattern));
  const ofNames = expanded.filter((alternative) => !alternative.includes("/")).map((name) => tokensOf(name));
  const ofPaths = expanded
    .filter((alternative) => alternative.includes("/"))
    .map((path) => path.split("/").flatMap((part) => (part === "" ? [] : [tokensOf(part)])));
  return (segments) => {
    const name = [...fold(segments.at(-1) ?? "")];
    if (ofNames.some((part) => part === "**" || matchesName(part, name))) return true;
    if (ofPaths.length === 0) return false;
    const folded = segments.map((segment) => [...fold(segment)]);
    return ofPaths.some((parts) => fits(parts, folded, (part) => part === "**", matchesName));
  };
}

function tokensOf(part: string): Token[] | "**" {
  return part === "**" ? "**" : tokenize(part);
}

function matchesName(part: Token[] | "**", name: readonly string[]): boolean {
  return part !== "**" && fits(part, name, isAny, (token, character) => "one" in token && token.one(character));
}

function isAny(token: Token): boolean {
  return "any" in token;
}

/** Matches wildcards; backtracks to the last wildcard only, which is sufficient and never exponential. */
function fits<P, T>(
  parts: readonly P[],
  items: readonly T[],
  isWild: (part: P) => boolean,
  isMatch: (part: P, item: T) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let wild = -1;
  let retry = 0;
  while (item < items.length) {
    const current = parts[part];
    const value = items[item] as T;
    if (current !== undefined && isWild(current)) {
      wild = part;
      retry = item;
      part += 1;
    } else if (current !== undefined && isMatch(current, value)) {
      part += 1;
      item += 1;
    } else if (wild >= 0) {
      retry += 1;
      part = wild + 1;
      item = retry;
    } else return false;
  }
  return parts.slice(part).every(isWild);
}

function tokenize(part: string): Token[] {
  const characters = [...part];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at];
    const close = character === "[" ? characters.indexOf("]", at + 2) : -1;
    if (character === "*") tokens.push({ any: true });
    else if (character === "?") tokens.push({ one: () => true });
    else if (close > 0) {
      tokens.push({ one: classOf(characters.slice(at + 1, close)) });
      at = close;
    } else {
      if (character === "\\" && at + 1 < characters.length) at += 1;
      const wanted = characters[at];
      tokens.push({ one: (given) => given === wanted });
    }
  }
  return tokens;
}

function classOf(inner: readonly string[]): (character: string) => boolean {
  const isNegated = inner[0] === "!" || inner[0] === "^";
  const members = isNegated ? inner.slice(1) : inner;
  const ranges: [low: string, high: string][] = [];
  for (let at = 0; at < members.length; at += 1) {
    const low = members[at] ?? "";
    const high = members[at + 2];
    if (members[at + 1] === "-" && high !== undefined) {
      ranges.push([low, high]);
      at += 2;
    } else ranges.push([low, low]);
  }
  return (character) => ranges.some(([low, high]) => low <= character && character <= high) !== isNegated;
}

/** Expands braces into several different patterns; stops expanding when there would be too many. */
export function expandBraces(pattern: string): string[] {
  let expanded = [pattern];
  while (expanded.some((one) => braces.test(one))) {
    const next = [...new Set(expanded.flatMap(expandFirst))];
    const length = next.reduce((sum, one) => sum + one.length, 0);
    if (next.length > maxAlternatives || length > maxExpandedLength) return expanded;
    expanded = next;
  }
  return expanded;
}

const braces = /\{([^{}]*,[^{}]*)\}/;

function expandFirst(pattern: string): string[] {
  const found = braces.exec(pattern);
  if (!found) return [pattern];
  const [whole, inner = ""] = found;
  const before = pattern.slice(0, found.index);
  const after = pattern.slice(found.index + whole.length);
  return inner.split(",").map((choice) => before + choice + after);
}
