import type { AuthorizationServer } from "oauth4webapi";
import { PortolanError } from "../../errors.ts";
import type { FetchPolicy, SafeFetch } from "../../net/policy.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { metadataUrls, resourceMetadataPath } from "../well-known.ts";
import { AuthFailure, oneLine } from "./errors.ts";
import type { OAuthOptions } from "./oauth.ts";

/** The metadata of a protected resource (RFC 9728). */
export interface ResourceMetadata {
  /** The identifier as the server writes it; token requests name it. */
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
  readonly needsDpop: boolean;
}

/** An authorization server. `issuer` is the identifier that its metadata was looked up with. */
export interface Authority {
  readonly issuer: string;
  readonly metadata: AuthorizationServer;
  /** Guessed from the server's own URL, as the first revision with authorization requires, and not named by the server. */
  readonly isGuessed: boolean;
}

type Document = { readonly [member: string]: unknown };

/**
 * Returns the metadata of a protected server: from the URL that its challenge names, else from the well-known URLs;
 * `undefined` when there is none. Throws if the metadata is that of another resource.
 */
export async function findResource(
  server: URL,
  named: string | undefined,
  fetch: SafeFetch,
): Promise<ResourceMetadata | undefined> {
  const path = server.pathname === "/" ? "" : server.pathname;
  const urls = [`${server.origin}${resourceMetadataPath}${path}${server.search}`];
  if (path !== "" || server.search !== "") urls.push(`${server.origin}${resourceMetadataPath}`);
  if (named !== undefined) urls.unshift(checkNamed(named, server));
  for (const url of new Set(urls)) {
    const found = await read(url, fetch);
    if (found !== undefined) return toResource(found, url, server);
  }
  if (named === undefined) return undefined;
  throw new AuthFailure(`${oneLine(server.origin)} names metadata that does not exist: ${withoutQuery(named)}`);
}

function checkNamed(named: string, server: URL): string {
  const url = URL.canParse(named, server) ? new URL(named, server) : undefined;
  if (url && (url.origin === server.origin || url.protocol === "https:")) return url.href;
  throw new AuthFailure(
    `${server.origin} names metadata at ${withoutQuery(named)}, which is neither same-origin nor https`,
    {
      code: "address-refused",
    },
  );
}

function toResource(document: Document, url: string, server: URL): ResourceMetadata {
  const { resource, authorization_servers: issuers, dpop_bound_access_tokens_required: needsDpop } = document;
  if (typeof resource !== "string" || !covers(resource, server)) {
    const said = typeof resource === "string" ? withoutQuery(resource) : "nothing";
    throw new AuthFailure(
      `${withoutQuery(url)}: expected the metadata of ${withoutQuery(server.href)}, got that of ${said}`,
    );
  }
  return {
    resource,
    issuers: strings(issuers) ?? [],
    scopes: strings(document["scopes_supported"]),
    needsDpop: needsDpop === true,
  };
}

/** True if a resource covers the server: the same origin, and its path is a prefix of the server's path. */
function covers(resource: string, server: URL): boolean {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  if (!url || url.origin !== server.origin || url.hash !== "" || url.username !== "") return false;
  const ended = (path: string) => (path.endsWith("/") ? path : `${path}/`);
  return ended(server.pathname).startsWith(ended(url.pathname));
}

/** Finds the authorization server with this identifier. Its metadata must contain exactly the same identifier. */
export async function findAuthority(issuer: string, fetch: SafeFetch): Promise<Authority> {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url?.search !== "" || url.hash !== "") {
    throw new AuthFailure(`The server names an authorization server that is not a valid URL: ${oneLine(issuer)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new AuthFailure(`The server names an authorization server with credentials in its URL: ${url.host}`, {
      code: "address-refused",
    });
  }
  let other: string | undefined;
  for (const metadataUrl of metadataUrls(url)) {
    const found = await read(metadataUrl, fetch);
    if (found === undefined) continue;
    if (found["issuer"] === issuer) return { issuer, metadata: toMetadata(found, metadataUrl), isGuessed: false };
    other ??= String(found["issuer"]);
  }
  const why = other === undefined ? "it has no metadata" : `its metadata is that of ${oneLine(other)}`;
  throw new AuthFailure(`The authorization server ${oneLine(issuer)} cannot be used: ${why}`);
}

/** Returns the server's own origin as authorization server, for servers that name none; without metadata, by default paths. */
export async function guessAuthority(server: URL, fetch: SafeFetch): Promise<Authority> {
  const issuer = server.origin;
  for (const url of metadataUrls(new URL(issuer))) {
    const found = await read(url, fetch);
    if (found !== undefined) return { issuer, metadata: toMetadata(found, url), isGuessed: true };
  }
  // The revision that defines these default endpoints requires PKCE of every authorization server.
  const metadata = {
    issuer,
    code_challenge_methods_supported: ["S256"],
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
  };
  return { issuer, metadata, isGuessed: true };
}

function toMetadata(document: Document, url: string): AuthorizationServer {
  if (typeof document["issuer"] !== "string") {
    throw new AuthFailure(`${withoutQuery(url)}: expected an issuer, got ${typeof document["issuer"]}`);
  }
  for (const member of ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]) {
    const value = document[member];
    if (value === undefined || (typeof value === "string" && URL.canParse(value))) continue;
    throw new AuthFailure(`${withoutQuery(url)}: expected a URL as ${member}`);
  }
  return document as unknown as AuthorizationServer;
}

/** Fetches a JSON object. Returns `undefined` if there is none; servers report that with various statuses and pages. */
async function read(url: string, fetch: SafeFetch): Promise<Document | undefined> {
  const response = await request(url, fetch);
  if (response.status >= 500 || response.status === 429) {
    throw new PortolanError("http-status", `GET ${withoutQuery(url)} answered ${response.status}`);
  }
  if (response.status !== 200) return undefined;
  try {
    const value: unknown = await response.json();
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Document;
  } catch {}
  return undefined;
}

/** Requests metadata with the newest protocol version, so that the server can answer for that version. */
async function request(url: string, fetch: SafeFetch): Promise<Response> {
  const headers = { accept: "application/json" };
  try {
    const response = await fetch(url, { headers: { ...headers, "mcp-protocol-version": revisions[0]?.version ?? "" } });
    if (response.status !== 400) return response;
  } catch (reason) {
    if (!("document" in globalThis || "importScripts" in globalThis)) throw reason;
  }
  // The server refuses versions that it does not know, or its CORS rules do not allow the header.
  return fetch(url, { headers });
}

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : undefined;
}

/** Returns a URL for an error message, without its query and fragment, which may contain secrets. */
function withoutQuery(address: string): string {
  return oneLine(address.replace(/[?#].*$/s, ""));
}

const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/** Returns the fetch policy for a server. Hosts that the user has named may be private; hosts that the server names may not. */
export function fetchPolicyFor(server: URL, { policy, grant }: OAuthOptions): FetchPolicy {
  const named = [server, ...(grant?.addresses ?? []).filter((address) => URL.canParse(address))];
  const hosts = named.map((address) => new URL(address).hostname);
  const own = hosts.flatMap((host) => (loopbackHosts.includes(host) ? loopbackHosts : [host]));
  const isHere = loopbackHosts.includes(server.hostname);
  const privateHosts = [...(policy?.privateHosts ?? []), ...own];
  return { ...(!isHere && { neighbourOf: server.hostname }), ...policy, privateHosts };
}
