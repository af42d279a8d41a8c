import type { Client } from "oidc-provider";
import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { isLoopback } from "./redirects.ts";
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
