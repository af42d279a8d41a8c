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
import { AuthFailure, oneLine, toAuthFailure } from "./errors.ts";
import type { Jwk } from "./grants.ts";

/** The response of the token endpoint. */
export interface GrantedToken {
  readonly accessToken: string;
  readonly tokenType: "Bearer" | "DPoP";
  readonly expiresInMs: number | undefined;
  readonly refreshToken: string | undefined;
  /** The granted scopes, if the response names them. */
  readonly scopes: readonly string[] | undefined;
}

/** The parties of a token request. */
export interface TokenRequest {
  readonly authority: Authority;
  readonly client: RegisteredClient;
  /** Authenticates the client where `client.method` is not enough, for example with a private key. */
  readonly clientAuth?: ClientAuth | undefined;
  readonly key: Jwk | undefined;
  readonly fetch: SafeFetch;
  readonly signal?: AbortSignal | undefined;
  /** The result is an assertion for another authorization server, not an access token. */
  readonly isAssertion?: boolean;
}

/** Exchanges an authorization code for a token. */
export function exchangeCode(
  request: TokenRequest,
  callback: URLSearchParams,
  verifier: string,
  redirectUri: string,
  resource: string | undefined,
): Promise<GrantedToken> {
  const { metadata } = request.authority;
  const extra = resource === undefined ? {} : { resource };
  return sendTokenRequest(request, (client, clientAuth, options) =>
    authorizationCodeGrantRequest(metadata, client, clientAuth, callback, redirectUri, verifier, {
      ...options,
      additionalParameters: extra,
    }),
  );
}

/** Requests a token by any other grant; parameters without a value are left out. */
export function requestToken(
  request: TokenRequest,
  grantType: string,
  parameters: { readonly [name: string]: string | undefined },
): Promise<GrantedToken> {
  const { metadata } = request.authority;
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return sendTokenRequest(request, (client, clientAuth, options) =>
    genericTokenEndpointRequest(metadata, client, clientAuth, grantType, new URLSearchParams(given), options),
  );
}

/** Revokes a token, if the authorization server has an endpoint for it. */
export async function revokeToken(request: TokenRequest, token: string): Promise<void> {
  const { authority, client, fetch } = request;
  if (authority.metadata.revocation_endpoint === undefined) return;
  const options = { [customFetch]: fetch, [allowInsecureRequests]: true };
  const sender = { client_id: client.clientId };
  const clientAuth = request.clientAuth ?? authOf(client);
  try {
    await processRevocationResponse(await revocationRequest(authority.metadata, sender, clientAuth, token, options));
  } catch (reason) {
    throw toAuthFailure(`The tokens are deleted here, but ${oneLine(authority.issuer)} has not revoked them`, reason);
  }
}

/** The OAuth error that a status stands for, where the response has no OAuth error of its own. */
const errorByStatus: { readonly [status: number]: string } = { 400: "invalid_request", 401: "invalid_client" };
const sendable = /^[!-~]+$/;
const secretParameters: ReadonlySet<string> = new Set([
  ...["code", "code_verifier", "refresh_token", "client_secret", "client_assertion", "assertion", "subject_token"],
]);

interface TokenRequestOptions {
  readonly [customFetch]: SafeFetch;
  readonly [allowInsecureRequests]: true;
  readonly DPoP?: ReturnType<typeof DPoP>;
  readonly signal?: AbortSignal;
}

async function sendTokenRequest(
  request: TokenRequest,
  send: (client: { client_id: string }, auth: ClientAuth, options: TokenRequestOptions) => Promise<Response>,
): Promise<GrantedToken> {
  const { authority, client, key, fetch, signal } = request;
  const { metadata } = authority;
  if (metadata.token_endpoint === undefined)
    throw new AuthFailure(`${oneLine(authority.issuer)} has no token endpoint`);
  const sender = { client_id: client.clientId };
  const dpopKey = key && (await loadKey(key));
  const secrets = new Set(client.clientSecret ? [client.clientSecret] : []);
  const watchedFetch: SafeFetch = (url, init) => {
    const form = init?.body instanceof URLSearchParams ? init.body : new URLSearchParams();
    for (const [name, value] of form) if (secretParameters.has(name) && value !== "") secrets.add(value);
    return fetch(url, init);
  };
  const options: TokenRequestOptions = {
    [customFetch]: watchedFetch,
    // `fetch` decides for each URL whether it may go without https.
    [allowInsecureRequests]: true,
    ...(dpopKey && { DPoP: DPoP({}, dpopKey.pair) }),
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
      if (!dpopKey || !isDPoPNonceError(reason)) throw reason;
      return attempt();
    });
    return toGranted(answer, key !== undefined, metadata);
  } catch (reason) {
    throw toAuthFailure(`${oneLine(authority.issuer)} issued no token`, reason, secrets);
  }
}

/** Throws for a failed response without an OAuth error; its status says whether another attempt may succeed. */
function checkStatus({ status, headers }: Response, issuer: string): void {
  const isPassing = status >= 500 || status === 429;
  const isExplained = headers.get("content-type")?.includes("json") === true;
  if (status < 400 || (isExplained && !isPassing)) return;
  const error = errorByStatus[status];
  const what = `${oneLine(issuer)} issued no token: it answered with status ${status}${isPassing ? "; try again later" : ""}`;
  throw new AuthFailure(what, {
    code: isPassing ? "http-status" : "unauthorized",
    ...(error !== undefined && { error }),
  });
}

/** Removes the ID token from a response: it is not used, so a faulty one must not prevent the login. */
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
    throw new AuthFailure(`${oneLine(metadata.issuer)} issued a token that cannot be sent in a header`);
  }
  if (isBound && !hasKey) throw new AuthFailure(`${oneLine(metadata.issuer)} issued a token that needs a DPoP key`);
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

/** Encodes id and secret as form values only: many servers do not decode any further. */
function secretBasic(clientSecret: string): ClientAuth {
  const encode = (value: string) => new URLSearchParams([["", value]]).toString().slice(1);
  return (_as, { client_id: clientId }, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}`);
  };
}
