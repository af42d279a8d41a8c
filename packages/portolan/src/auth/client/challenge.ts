/** One scheme of a `WWW-Authenticate` header, and what it says. */
export interface AuthScheme {
  /** In small letters. */
  readonly scheme: string;
  /** By their names in small letters. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What a server says about a request that it did not let in. */
export interface Refused {
  readonly schemes: readonly string[];
  readonly error: string | undefined;
  /** The error in words. */
  readonly why: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly metadataUrl: string | undefined;
}

const maxChars = 16 * 1024;
const maxSchemes = 16;
const parameter = /([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/y;
const scheme = /[\w!#$%&'*+.^`|~-]+/y;
const between = /[\s,]*/y;

/**
 * The schemes that a header offers, as many as can be read; the rest of a malformed one is left out. What other schemes
 * say in another form is read as if they said it in this one.
 */
export function parseSchemes(header: string): AuthScheme[] {
  const text = header.slice(0, maxChars);
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = skip(text, 0);
  while (at < text.length && found.length <= maxSchemes) {
    parameter.lastIndex = at;
    const said = found.length > 0 ? parameter.exec(text) : null;
    if (said) {
      const [whole, name = "", quoted, plain = ""] = said;
      const { parameters } = found.at(-1) as { parameters: Map<string, string> };
      // The first one counts: a second one may have been smuggled in behind it.
      const key = name.toLowerCase();
      if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, "$1") ?? plain);
      at = skip(text, at + whole.length);
      continue;
    }
    scheme.lastIndex = at;
    const [name] = scheme.exec(text) ?? [];
    if (name === undefined) break;
    found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    at = skip(text, at + name.length);
  }
  return found;
}

function skip(text: string, at: number): number {
  between.lastIndex = at;
  between.exec(text);
  return between.lastIndex;
}

/** What the schemes of OAuth say, taken together. */
export function readRefusal(header: string | undefined): Refused {
  const known = parseSchemes(header ?? "").filter((one) => one.scheme === "bearer" || one.scheme === "dpop");
  const first = (name: string) => known.map(({ parameters }) => parameters.get(name)).find((one) => one !== undefined);
  const scopes = (first("scope") ?? "").split(/\s+/).filter((scope) => scope !== "");
  return {
    schemes: known.map((one) => one.scheme),
    error: first("error"),
    why: first("error_description"),
    // An empty list is not one: it says as little as none.
    scopes: scopes.length > 0 ? scopes : undefined,
    metadataUrl: first("resource_metadata"),
  };
}
