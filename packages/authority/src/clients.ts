import type { Client } from "oidc-provider";
import { createSafeFetch, type FetchPolicy } from "portolan/net";
import type { Settings } from "./settings.ts";

/** What a person is told of the program that asks. */
export interface ClientFacts {
  readonly name: string;
  /** Who vouches for the name: the operator, a host that the metadata came from, or nobody. */
  readonly vouched: "operator" | "host" | "nobody";
  /** The host behind the client's own address, where it has one. */
  readonly host: string | undefined;
  /** Where the person is sent back to. */
  readonly returnsTo: string;
  /** Whether any program on the person's machine could be the one that asks. */
  readonly isLocal: boolean;
}

/** Fetches what clients say of themselves: small, from where they say and nowhere else, as the operator allows. */
export function fetchDocuments(option: boolean | FetchPolicy): typeof globalThis.fetch {
  const policy: FetchPolicy = { maxBytes: 64 * 1024, redirects: "never", ...(typeof option === "object" && option) };
  const fetchSafely = createSafeFetch(policy);
  return async (input, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    const response = await fetchSafely(String(input), { method: init?.method ?? "GET", headers });
    const document = await response
      .clone()
      .json()
      .catch(() => undefined);
    if (document?.client_id !== String(input) || document.token_endpoint_auth_method !== undefined) return response;
    // A document is for all to read: who names no method has no secret, whatever the default is elsewhere.
    const described = JSON.stringify({ ...document, token_endpoint_auth_method: "none" });
    const { "content-length": _, ...rest } = Object.fromEntries(response.headers);
    return new Response(described, { status: response.status, headers: rest });
  };
}

export function factsOf(client: Client, redirectUri: string, { options }: Settings): ClientFacts {
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

const maxLength = 2_000;
const loopback: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host name is this machine. */
export function isLoopback(hostname: string): boolean {
  return loopback.includes(hostname);
}

/** Why nobody may be sent to an address with a code; undefined when it is fine. `schemes` are private ones to allow. */
export function problemOfRedirect(uri: unknown, schemes: readonly string[] = []): string | undefined {
  if (typeof uri !== "string" || uri.length > maxLength || !URL.canParse(uri)) {
    return `expected addresses of at most ${maxLength} characters`;
  }
  // What a parser would silently drop must not be there: the comparison is by letter.
  if (/[\s\\*#]/.test(uri)) return "expected no spaces, backslashes, wildcards or fragments";
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== "" || password !== "" || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) return "expected no user name";
  if (protocol === "https:") return hostname === "" ? "expected a host" : undefined;
  if (protocol === "http:") return isLoopback(hostname) ? undefined : "expected https, or http on loopback";
  // spec: RFC 8252 7.1, a private scheme is a domain name backwards.
  if (/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol) || schemes.includes(protocol.slice(0, -1))) return undefined;
  return "expected https, http on loopback, or a private scheme such as com.example.app:";
}

/** Whether a redirect is a registered one: to the letter, but for the port of a loopback address. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const bare = withoutPort(uri);
  return bare !== undefined && registered.some((one) => withoutPort(one) === bare);
}

/** A loopback address without its port, otherwise to the letter. */
function withoutPort(uri: string): string | undefined {
  if (problemOfRedirect(uri) !== undefined) return undefined;
  const match = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?([/?].*)?$/.exec(uri);
  return match ? `${match[1]}${match[2] ?? ""}` : undefined;
}
