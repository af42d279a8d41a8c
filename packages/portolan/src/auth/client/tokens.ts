import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  DPoP,
  genericTokenEndpointRequest,
  isDPoPNonceError,
  None,
  processGenericTokenEndpointResponse,
  processRevocationResponse,
  revocationRequest,
  type TokenEndpointResponse,
} from "oauth4webapi";
import type { SafeFetch } from "../../net/policy.ts";
import type { RegisteredClient } from "./credential.ts";
import type { Authority } from "./discovery.ts";
import { loadKey } from "./dpop.ts";
import { AuthFailure, plain, toAuthFailure } from "./errors.ts";

/** What the token endpoint gave. */
export interface GrantedToken {
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  readonly expiresInMs: number | undefined;
  readonly refreshToken: string | undefined;
  /** What it may be used for, if that is said. */
  readonly scopes: readonly string[] | undefined;
}

/** A token request: who asks whom, in which name. */
export interface TokenRequest {
  readonly authority: Authority;
  readonly client: RegisteredClient;
  /** Shows who the client is, where that is more than an id and a secret. */
  readonly clientAuth?: ClientAuth | undefined;
  readonly key: JsonWebKey | undefined;
  readonly fetch: SafeFetch;
  readonly signal?: AbortSignal | undefined;
  /** What is asked for is shown to another authorization server, not to the one that is to be called. */
  readonly isAssertion?: boolean;
}

/** Exchanges the code that a person came back with. */
export function exchangeCode(
  request: TokenRequest,
  callback: URLSearchParams,
  verifier: string,
  redirectUri: string,
  resource: string | undefined,
): Promise<GrantedToken> {
  const { metadata } = request.authority;
  const extra = resource === undefined ? {} : { resource };
  return converse(request, (client, clientAuth, options) =>
    authorizationCodeGrantRequest(metadata, client, clientAuth, callback, redirectUri, verifier, {
      ...options,
      additionalParameters: extra,
    }),
  );
}

/** Any other grant, by its parameters; those without a value are left out. */
export function requestToken(
  request: TokenRequest,
  grantType: string,
  parameters: { readonly [name: string]: string | undefined },
): Promise<GrantedToken> {
  const { metadata } = request.authority;
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return converse(request, (client, clientAuth, options) =>
    genericTokenEndpointRequest(metadata, client, clientAuth, grantType, new URLSearchParams(given), options),
  );
}

/** Tells the authorization server that a token is no longer wanted, where it wants to hear that. */
export async function revokeToken(request: TokenRequest, token: string): Promise<void> {
  const { authority, client, fetch } = request;
  if (authority.metadata.revocation_endpoint === undefined) return;
  const options = { [customFetch]: fetch, [allowInsecureRequests]: true };
  const sender = { client_id: client.clientId };
  const clientAuth = request.clientAuth ?? authOf(client);
  try {
    await processRevocationResponse(await revocationRequest(authority.metadata, sender, clientAuth, token, options));
  } catch (reason) {
    throw toAuthFailure(`The tokens are forgotten here, but ${plain(authority.issuer)} has not revoked them`, reason);
  }
}

/** What is meant where a status is all that is said. */
const unexplained: { readonly [status: number]: string } = { 400: "invalid_request", 401: "invalid_client" };
const sendable = /^[!-~]+$/;
const secretParameters: ReadonlySet<string> = new Set([
  ...["code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion", "subject_token"],
]);

interface ConversationOptions {
  readonly [customFetch]: SafeFetch;
  readonly [allowInsecureRequests]: true;
  readonly DPoP?: ReturnType<typeof DPoP>;
  readonly signal?: AbortSignal;
}

async function converse(
  request: TokenRequest,
  send: (client: { client_id: string }, auth: ClientAuth, options: ConversationOptions) => Promise<Response>,
): Promise<GrantedToken> {
  const { authority, client, key, fetch, signal } = request;
  const { metadata } = authority;
  if (metadata.token_endpoint === undefined) throw new AuthFailure(`${plain(authority.issuer)} has no token endpoint`);
  const sender = { client_id: client.clientId };
  const proofKey = key && (await loadKey(key));
  const secrets = new Set(client.clientSecret ? [client.clientSecret] : []);
  const watchedFetch: SafeFetch = (url, init) => {
    const form = init?.body instanceof URLSearchParams ? init.body : new URLSearchParams();
    for (const [name, value] of form) if (secretParameters.has(name) && value !== "") secrets.add(value);
    return fetch(url, init);
  };
  const options: ConversationOptions = {
    [customFetch]: watchedFetch,
    // Whether an address is safe enough is decided by the fetch, for every address.
    [allowInsecureRequests]: true,
    ...(proofKey && { DPoP: DPoP({}, proofKey.pair) }),
    ...(signal && { signal }),
  };
  const attempt = async () => {
    const response = await send(sender, request.clientAuth ?? authOf(client), options);
    checkStatus(response, authority.issuer);
    const types = request.isAssertion ? { recognizedTokenTypes: { n_a: () => {} } } : {};
    return processGenericTokenEndpointResponse(metadata, sender, await withoutIdToken(response), types);
  };
  try {
    const answer = await attempt().catch((reason) => {
      if (!proofKey || !isDPoPNonceError(reason)) throw reason;
      return attempt();
    });
    return toGranted(answer, key !== undefined, metadata);
  } catch (reason) {
    throw toAuthFailure(`${plain(authority.issuer)} gave no token`, reason, secrets);
  }
}

/** Throws where a failure is not explained as OAuth explains them: by its status, which says whether it is worth another try. */
function checkStatus({ status, headers }: Response, issuer: string): void {
  const isPassing = status >= 500 || status === 429;
  const isExplained = headers.get("content-type")?.includes("json") === true;
  if (status < 400 || (isExplained && !isPassing)) return;
  const error = unexplained[status];
  const what = `${plain(issuer)} gave no token: it answered ${status}${isPassing ? "; try again later" : ""}`;
  throw new AuthFailure(what, {
    code: isPassing ? "http-status" : "unauthorized",
    ...(error !== undefined && { error }),
  });
}

/** Nobody here reads it, so nothing that is wrong with it keeps anybody out. */
async function withoutIdToken(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const { status, headers } = response;
  const text = await response.text();
  try {
    const { id_token: _unused, ...rest } = JSON.parse(text) as { id_token?: unknown };
    return new Response(JSON.stringify(rest), { status, headers });
  } catch {
    return new Response(text, { status, headers });
  }
}

function toGranted(answer: TokenEndpointResponse, hasKey: boolean, metadata: AuthorizationServer): GrantedToken {
  const isBound = answer.token_type === "dpop";
  if (!sendable.test(answer.access_token)) {
    throw new AuthFailure(`${plain(metadata.issuer)} gave a token that cannot be sent in a header`);
  }
  if (isBound && !hasKey) throw new AuthFailure(`${plain(metadata.issuer)} gave a token that needs a key (DPoP)`);
  return {
    accessToken: answer.access_token,
    tokenType: isBound ? "DPoP" : "Bearer",
    expiresInMs: answer.expires_in === undefined ? undefined : answer.expires_in * 1_000,
    refreshToken: answer.refresh_token,
    scopes: answer.scope?.split(" ").filter((scope) => scope !== ""),
  };
}

function authOf({ method, clientSecret = "" }: RegisteredClient): ClientAuth {
  if (method === "client_secret_basic") return secretBasic(clientSecret);
  if (method === "client_secret_post") return ClientSecretPost(clientSecret);
  return None();
}

/** Encoded as forms are, and no more than that: many servers take what stands there as it is. */
function secretBasic(clientSecret: string): ClientAuth {
  const encode = (value: string) => new URLSearchParams([["", value]]).toString().slice(1);
  return (_as, { client_id: clientId }, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}`);
  };
}
