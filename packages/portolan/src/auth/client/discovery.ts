import type { AuthorizationServer } from "oauth4webapi";
import { PortolanError } from "../../errors.ts";
import type { FetchPolicy, SafeFetch } from "../../net/policy.ts";
import { metadataPlaces } from "../well-known.ts";
import { AuthFailure, plain } from "./errors.ts";
import type { OAuthOptions } from "./oauth.ts";

/** What a server says about who authorizes its callers. */
export interface ResourceMetadata {
  /** As the server writes it: tokens are asked for in this name. */
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  readonly needsDpop: boolean;
}

/** An authorization server, and the name that it is known by here: the one that its metadata was looked up with. */
export interface Authority {
  readonly issuer: string;
  readonly metadata: AuthorizationServer;
  /** Whether it was found as servers of the first revision with authorization wanted it: below the server's own address. */
  readonly isGuessed: boolean;
}

type Document = { readonly [member: string]: unknown };

const resourcePath = "/.well-known/oauth-protected-resource";

/**
 * The metadata of a protected server: where it says (`named`), else where it should be; undefined when there is none.
 * Wherever it is, it must be the metadata of this server.
 */
export async function findResource(
  server: URL,
  named: string | undefined,
  fetch: SafeFetch,
): Promise<ResourceMetadata | undefined> {
  const path = server.pathname === "/" ? "" : server.pathname;
  const places = [`${server.origin}${resourcePath}${path}${server.search}`];
  if (path !== "" || server.search !== "") places.push(`${server.origin}${resourcePath}`);
  if (named !== undefined) places.unshift(checkNamed(named, server));
  for (const place of new Set(places)) {
    const found = await read(place, fetch);
    if (found !== undefined) return toResource(found, place, server);
  }
  if (named === undefined) return undefined;
  throw new AuthFailure(`${plain(server.origin)} names metadata that is not there: ${shown(named)}`);
}

function checkNamed(named: string, server: URL): string {
  const url = URL.canParse(named, server) ? new URL(named, server) : undefined;
  if (url && (url.origin === server.origin || url.protocol === "https:")) return url.href;
  throw new AuthFailure(`${server.origin} names metadata at ${shown(named)}, which is neither its own nor https`, {
    code: "address-refused",
  });
}

function toResource(document: Document, place: string, server: URL): ResourceMetadata {
  const { resource, authorization_servers: issuers, dpop_bound_access_tokens_required: needsDpop } = document;
  if (typeof resource !== "string" || !covers(resource, server)) {
    const said = typeof resource === "string" ? shown(resource) : "nothing";
    throw new AuthFailure(`${shown(place)}: expected the metadata of ${shown(server.href)}, got that of ${said}`);
  }
  return {
    resource,
    issuers: strings(issuers) ?? [],
    scopes: strings(document["scopes_supported"]),
    needsDpop: needsDpop === true,
  };
}

/** Whether a resource is the server or holds it: the same origin, and the path of the one begins that of the other. */
function covers(resource: string, server: URL): boolean {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  if (!url || url.origin !== server.origin || url.hash !== "" || url.username !== "") return false;
  const ended = (path: string) => (path.endsWith("/") ? path : `${path}/`);
  return ended(server.pathname).startsWith(ended(url.pathname));
}

/** The authorization server with this identifier, by its metadata, which must say the same identifier to the letter. */
export async function findAuthority(issuer: string, fetch: SafeFetch): Promise<Authority> {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.search !== "" || url.hash !== "") {
    throw new AuthFailure(`The server names an authorization server that is no address: ${plain(issuer)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new AuthFailure(`The server names an authorization server with credentials in its address: ${url.host}`, {
      code: "address-refused",
    });
  }
  let other: string | undefined;
  for (const place of metadataPlaces(url)) {
    const found = await read(place, fetch);
    if (found === undefined) continue;
    if (found["issuer"] === issuer) return { issuer, metadata: toMetadata(found, place), isGuessed: false };
    other ??= String(found["issuer"]);
  }
  const why = other === undefined ? "it has no metadata" : `its metadata is that of ${plain(other)}`;
  throw new AuthFailure(`The authorization server ${plain(issuer)} cannot be used: ${why}`);
}

/** The server's own origin as authorization server, for servers that name none: by its metadata, or by custom. */
export async function guessAuthority(server: URL, fetch: SafeFetch): Promise<Authority> {
  const issuer = server.origin;
  for (const place of metadataPlaces(new URL(issuer))) {
    const found = await read(place, fetch);
    if (found !== undefined) return { issuer, metadata: toMetadata(found, place), isGuessed: true };
  }
  // The revision that knows these endpoints wants PKCE of everybody.
  const metadata = {
    issuer,
    code_challenge_methods_supported: ["S256"],
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
  };
  return { issuer, metadata, isGuessed: true };
}

function toMetadata(document: Document, place: string): AuthorizationServer {
  if (typeof document["issuer"] !== "string") {
    throw new AuthFailure(`${shown(place)}: expected an issuer, got ${typeof document["issuer"]}`);
  }
  for (const member of ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]) {
    const value = document[member];
    if (value === undefined || (typeof value === "string" && URL.canParse(value))) continue;
    throw new AuthFailure(`${shown(place)}: expected an address as ${member}`);
  }
  return document as unknown as AuthorizationServer;
}

/** A JSON object; undefined where there is none, which servers say in many ways. */
async function read(place: string, fetch: SafeFetch): Promise<Document | undefined> {
  const response = await fetch(place, { headers: { accept: "application/json" } });
  if (response.status >= 500 || response.status === 429) {
    throw new PortolanError("http-status", `GET ${shown(place)} answered ${response.status}`);
  }
  if (response.status !== 200) return undefined;
  try {
    const value: unknown = await response.json();
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Document;
  } catch {}
  return undefined;
}

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : undefined;
}

/** An address as it may be shown. */
function shown(address: string): string {
  return plain(address.replace(/[?#].*$/s, ""));
}

const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/** What may be fetched and opened for a server: what its user has named is trusted that much more than what it names. */
export function addressPolicy(server: URL, { policy, grant }: OAuthOptions): FetchPolicy {
  const named = [server, ...(grant?.addresses ?? []).filter((address) => URL.canParse(address))];
  const hosts = named.map((address) => new URL(address).hostname);
  const own = hosts.flatMap((host) => (loopbackHosts.includes(host) ? loopbackHosts : [host]));
  const isHere = loopbackHosts.includes(server.hostname);
  const privateHosts = [...(policy?.privateHosts ?? []), ...own];
  return { ...(!isHere && { neighbourOf: server.hostname }), ...policy, privateHosts };
}
