import {
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from "oauth4webapi";
import type { SafeFetch } from "../../net/policy.ts";
import type { PendingLogin, RegisteredClient } from "./credential.ts";
import type { Authority } from "./discovery.ts";
import { AuthFailure, oneLine, toAuthFailure } from "./errors.ts";
import type { Jwk } from "./grants.ts";
import { exchangeCode, type GrantedToken } from "./tokens.ts";

export interface LoginRequest {
  readonly server: string;
  readonly authority: Authority;
  readonly resource: string | undefined;
  readonly client: RegisteredClient;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly key: Jwk | undefined;
}

/** Creates the authorization request: the URL to send the person to, and the state to keep until they come back. */
export async function beginLogin(request: LoginRequest): Promise<{ url: URL; pending: PendingLogin }> {
  const { authority, client, redirectUri, scopes, resource, server, key } = request;
  const { issuer, metadata, isGuessed } = authority;
  if (metadata.authorization_endpoint === undefined) {
    throw new AuthFailure(`${oneLine(issuer)} has no authorization endpoint, so nobody can sign in there`);
  }
  const state = generateRandomState();
  const verifier = generateRandomCodeVerifier();
  const url = new URL(metadata.authorization_endpoint);
  const parameters: { [name: string]: string | undefined } = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource,
    scope: scopes.length > 0 ? scopes.join(" ") : undefined,
    // Some authorization servers issue no refresh token without it.
    prompt: scopes.includes("offline_access") ? "consent" : undefined,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  const pending = { server, issuer, isGuessed, resource, client, redirectUri, state, verifier, scopes, key };
  return { url, pending };
}

/** Throws unless the authorization server says that it supports PKCE with S256. */
export function checkPkce({ issuer, metadata }: Authority, assumed: readonly string[]): void {
  const methods = metadata.code_challenge_methods_supported;
  if (methods?.includes("S256")) return;
  if (methods === undefined && assumed.includes(issuer)) return;
  throw new AuthFailure(
    `${oneLine(issuer)} does not say that it supports PKCE with S256, without which a login can be stolen; ` +
      "if you know that it does, list it in pkceAssumedFor",
  );
}

/** Checks that a callback answers this login, and exchanges its code for a token. */
export async function completeLogin(
  pending: PendingLogin,
  callback: URL,
  authority: Authority,
  fetch: SafeFetch,
): Promise<GrantedToken> {
  const { client, redirectUri, state, verifier, resource, key } = pending;
  let answer: URLSearchParams;
  try {
    checkRedirectUri(callback, redirectUri);
    answer = validateAuthResponse(authority.metadata, { client_id: client.clientId }, callback.searchParams, state);
    if (!answer.has("code")) throw new Error("the callback has no code");
  } catch (reason) {
    throw toAuthFailure(`Sign-in at ${oneLine(authority.issuer)} failed`, reason);
  }
  return exchangeCode({ authority, client, key, fetch }, answer, verifier, redirectUri, resource);
}

function checkRedirectUri(callback: URL, redirectUri: string): void {
  const { origin, pathname, protocol, host } = new URL(redirectUri);
  const isSame = callback.origin === origin && callback.protocol === protocol && callback.host === host;
  if (!isSame || callback.pathname !== pathname) throw new Error("the callback came to another URL");
}
