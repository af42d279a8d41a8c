import type { Credential } from "./credential.ts";
import type { Authority, ResourceMetadata } from "./discovery.ts";
import { AuthFailure, oneLine } from "./errors.ts";
import { maxChallengeChars, maxChallengeSchemes } from "./limits.ts";
import type { OAuthOptions } from "./oauth.ts";

/** The OAuth challenges of a `WWW-Authenticate` header, combined. */
export interface ParsedChallenge {
  readonly schemes: readonly string[];
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly metadataUrl: string | undefined;
}

/** Parses a `WWW-Authenticate` header; only the schemes Bearer and DPoP count. */
export function readChallenge(header: string | undefined): ParsedChallenge {
  const known = parseSchemes(header ?? "").filter((one) => one.scheme === "bearer" || one.scheme === "dpop");
  const first = (name: string) => known.map(({ parameters }) => parameters.get(name)).find((one) => one !== undefined);
  const scopes = (first("scope") ?? "").split(/\s+/).filter((scope) => scope !== "");
  return {
    schemes: known.map((one) => one.scheme),
    error: first("error"),
    description: first("error_description"),
    // An empty list means the same as none.
    scopes: scopes.length > 0 ? scopes : undefined,
    metadataUrl: first("resource_metadata"),
  };
}

/** One scheme of a `WWW-Authenticate` header with its parameters. */
export interface AuthScheme {
  /** In lower case. */
  readonly scheme: string;
  /** By their names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const parameter = /([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/y;
const scheme = /[\w!#$%&'*+.^`|~-]+/y;
const between = /[\s,]*/y;

/**
 * Parses the schemes of a header, up to the first part that is malformed. Schemes with another syntax, such as
 * `Negotiate`, are read as if they had parameters.
 */
export function parseSchemes(header: string): AuthScheme[] {
  const text = header.slice(0, maxChallengeChars);
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = skip(text, 0);
  while (at < text.length && found.length <= maxChallengeSchemes) {
    parameter.lastIndex = at;
    const match = found.length > 0 ? parameter.exec(text) : null;
    if (match) {
      const [whole, name = "", quoted, unquoted = ""] = match;
      const { parameters } = found.at(-1) as { parameters: Map<string, string> };
      // The first value counts: a second one may have been injected behind it.
      const key = name.toLowerCase();
      if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, "$1") ?? unquoted);
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

/** The sources that name scopes to request. */
export interface ScopeSources {
  readonly challenge: ParsedChallenge;
  readonly resource: ResourceMetadata | undefined;
  readonly previous: Credential | undefined;
  readonly authority: Authority;
}

/**
 * Returns the scopes to request: those of the challenge, else those of the resource metadata; with the ones requested
 * before and those of the options.
 */
export function scopesFor(sources: ScopeSources, { scopes = [], offline = true, grant }: OAuthOptions): string[] {
  const { challenge, resource, previous, authority } = sources;
  const wanted = challenge.scopes ?? resource?.scopes ?? [];
  const isOffered = offline && !grant && authority.metadata.scopes_supported?.includes("offline_access");
  const named = [...(previous?.scopes ?? []), ...wanted, ...scopes];
  // Alone it would ask for no access at all, where an empty scope lets the authorization server choose.
  const later = isOffered && named.length > 0 ? ["offline_access"] : [];
  return [...new Set([...named, ...later])];
}

/** Throws if a server asks for scopes that the person was already asked for: another login would not change the answer. */
export function checkStepUp(server: URL, { scopes = [] }: ParsedChallenge, previous: Credential | undefined): void {
  if (!previous || scopes.some((scope) => !previous.scopes.includes(scope))) return;
  throw new AuthFailure(
    `${server.origin} requires the scopes ${oneLine(scopes.join(" "))}, which were requested and not granted; ` +
      "log out and sign in again to be asked once more",
  );
}
