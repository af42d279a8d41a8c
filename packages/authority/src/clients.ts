import type { Client } from "oidc-provider";
import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { maxDocumentBytes, maxRedirectUriChars } from "./limits.ts";
import type { Settings } from "./settings.ts";

/** The facts about a client that a person sees on the consent page. */
export interface ClientDescription {
  readonly name: string;
  /** The party that vouches for the name: the operator, the host of the metadata document, or nobody. */
  readonly vouched: "operator" | "host" | "nobody";
  /** The host of the client metadata document, if there is one. */
  readonly host: string | undefined;
  /** The host or scheme that the person is sent back to. */
  readonly returnsTo: string;
  /** Any program on the person's machine could be the client. */
  readonly isLocal: boolean;
}

/** Creates the fetch for client metadata documents: small, without redirects, and as the operator allows. */
export function fetchDocuments(option: boolean | FetchPolicy): typeof globalThis.fetch {
  const policy: FetchPolicy = {
    maxBytes: maxDocumentBytes,
    redirects: "never",
    ...(typeof option === "object" && option),
  };
  const fetchSafely = createSafeFetch(policy);
  return async (input, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    const response = await fetchSafely(String(input), { method: init?.method ?? "GET", headers });
    const document = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (document?.client_id !== String(input) || document.token_endpoint_auth_method !== undefined) return response;
    // A public document cannot contain a secret, so a missing method means "none", whatever the default is elsewhere.
    const described = JSON.stringify({ ...document, token_endpoint_auth_method: "none" });
    const { "content-length": _, ...rest } = Object.fromEntries(response.headers);
    return new Response(described, { status: response.status, headers: rest });
  };
}

export function describeClient(client: Client, redirectUri: string, { options }: Settings): ClientDescription {
  const { clientId, clientName } = client;
  const isKnown = options.clients?.some((known) => known.clientId === clientId) === true;
  const isDocument = !isKnown && clientId.startsWith("https://");
  const { protocol, host, hostname } = new URL(redirectUri);
  const isWeb = protocol === "https:" || protocol === "http:";
  return {
    name: clientName ?? (isDocument ? new URL(clientId).host : "An app without a name"),
    vouched: isKnown ? "operator" : isDocument ? "host" : "nobody",
    host: isDocument ? new URL(clientId).host : undefined,
    returnsTo: isWeb ? host : protocol,
    isLocal: !isWeb || isLoopback(hostname),
  };
}

const loopback: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** True if a host name is this machine. */
export function isLoopback(hostname: string): boolean {
  return loopback.includes(hostname);
}

/** Returns why a code must not be sent to this URI; `undefined` if it may. `schemes` are allowed private ones. */
export function redirectProblem(uri: unknown, schemes: readonly string[] = []): string | undefined {
  if (typeof uri !== "string" || uri.length > maxRedirectUriChars || !URL.canParse(uri)) {
    return `expected a URI of at most ${maxRedirectUriChars} characters`;
  }
  // Characters that a parser would silently drop are refused: redirect URIs are compared as strings.
  if (/[\s\\*#]/.test(uri)) return "expected no spaces, backslashes, wildcards or fragments";
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== "" || password !== "" || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) return "expected no user name";
  if (protocol === "https:") return hostname === "" ? "expected a host" : undefined;
  if (protocol === "http:") return isLoopback(hostname) ? undefined : "expected https, or http on loopback";
  // RFC 8252, section 7.1: a private scheme is a reversed domain name.
  if (/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol) || schemes.includes(protocol.slice(0, -1))) return undefined;
  return "expected https, http on loopback, or a private scheme such as com.example.app:";
}

/** True if a redirect URI is registered: equal strings, except for the port of a loopback URI. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const bare = withoutPort(uri);
  return bare !== undefined && registered.some((one) => withoutPort(one) === bare);
}

/** Returns a loopback URI without its port, otherwise unchanged. */
function withoutPort(uri: string): string | undefined {
  if (redirectProblem(uri) !== undefined) return undefined;
  const match = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?([/?].*)?$/.exec(uri);
  return match ? `${match[1]}${match[2] ?? ""}` : undefined;
}
