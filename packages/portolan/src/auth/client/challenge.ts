import type { Credential } from "./credential.ts";
import type { Authority, ResourceMetadata } from "./discovery.ts";
import { AuthFailure, plain } from "./errors.ts";
import type { OAuthOptions } from "./oauth.ts";

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

/** What scopes follow from. */
export interface ScopeSources {
  readonly refused: Refused;
  readonly resource: ResourceMetadata | undefined;
  readonly previous: Credential | undefined;
  readonly authority: Authority;
}

/** What the server asks for now, else what it says it may ask for; and what was asked for before. */
export function scopesFor(sources: ScopeSources, { scopes = [], offline = true, grant }: OAuthOptions): string[] {
  const { refused, resource, previous, authority } = sources;
  const wanted = refused.scopes ?? resource?.scopes ?? [];
  const isOffered = offline && !grant && authority.metadata.scopes_supported?.includes("offline_access");
  const named = [...(previous?.scopes ?? []), ...wanted, ...scopes];
  // Alone it would say that nothing else is wanted, where saying nothing leaves the choice to the authorization server.
  const later = isOffered && named.length > 0 ? ["offline_access"] : [];
  return [...new Set([...named, ...later])];
}

/** Throws where a server asks for scopes that a person was asked for already: another question would not help. */
export function checkStepUp(server: URL, { scopes = [] }: Refused, previous: Credential | undefined): void {
  if (!previous || scopes.some((scope) => !previous.scopes.includes(scope))) return;
  throw new AuthFailure(
    `${server.origin} wants the scopes ${plain(scopes.join(" "))}, which were asked for and not given; ` +
      "log out and in again to be asked once more",
  );
}
