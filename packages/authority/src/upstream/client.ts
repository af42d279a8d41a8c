import * as oauth from "oauth4webapi";
import { PortolanError } from "portolan";
import { upstreamMetadataMs, upstreamTimeoutMs } from "../limits.ts";
import type { JsonMembers, UpstreamOptions } from "./options.ts";

/** Tokens of the upstream provider. They stay here; clients get tokens of the authority. */
export interface UpstreamTokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Milliseconds since the epoch; absent if the provider did not state it. */
  readonly expiresAt?: number;
}

/** The values of one upstream login that its callback must match. */
export interface UpstreamLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The upstream provider no longer accepts a token. */
export class UpstreamSessionEnded extends Error {
  override readonly name = "UpstreamSessionEnded";
}

/** The OAuth client of the upstream provider. */
export class UpstreamClient {
  readonly #options: UpstreamOptions;
  readonly #redirectUri: string;
  readonly #client: oauth.Client;
  readonly #authentication: oauth.ClientAuth;
  #found: { readonly server: Promise<oauth.AuthorizationServer>; readonly at: number } | undefined;

  constructor(options: UpstreamOptions, redirectUri: string) {
    this.#options = options;
    this.#redirectUri = redirectUri;
    this.#client = { client_id: options.clientId };
    const { clientSecret } = options;
    this.#authentication = clientSecret === undefined ? oauth.None() : secretOf(clientSecret);
  }

  /** Returns the URL where a person signs in. */
  async addressFor({ state, nonce, verifier }: UpstreamLogin): Promise<string> {
    const server = await this.#server();
    const { clientId, scopes = ["openid"], parameters = {} } = this.#options;
    const url = new URL(endpoint(server, "authorization_endpoint"));
    const all = {
      ...parameters,
      response_type: "code",
      client_id: clientId,
      redirect_uri: this.#redirectUri,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      state,
      ...(scopes.includes("openid") && { nonce }),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Exchanges the code of a callback. Returns the person's subject and tokens. */
  async redeem(query: URLSearchParams, { state, nonce, verifier }: UpstreamLogin): Promise<[string, UpstreamTokens]> {
    const server = await this.#server();
    try {
      return await this.#redeem(server, query, { state, nonce, verifier });
    } catch (cause) {
      throw unavailable("redeem a login", cause);
    }
  }

  async #redeem(
    server: oauth.AuthorizationServer,
    query: URLSearchParams,
    { state, nonce, verifier }: UpstreamLogin,
  ): Promise<[string, UpstreamTokens]> {
    const checked = oauth.validateAuthResponse(server, this.#client, query, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      this.#client,
      this.#authentication,
      checked,
      this.#redirectUri,
      verifier,
      this.#tokenRequest(),
    );
    const isOpenId = (this.#options.scopes ?? ["openid"]).includes("openid");
    const answer = await oauth.processAuthorizationCodeResponse(server, this.#client, response, {
      ...(isOpenId && { expectedNonce: nonce, requireIdToken: true }),
    });
    const subject =
      oauth.getValidatedIdTokenClaims(answer)?.sub ?? (await this.#subjectOf(server, answer.access_token));
    return [subject, toTokens(answer)];
  }

  /** Renews tokens. Throws `UpstreamSessionEnded` if they cannot be renewed any more. */
  async renew({ refreshToken }: UpstreamTokens): Promise<UpstreamTokens> {
    if (refreshToken === undefined) throw new UpstreamSessionEnded("there is no refresh token");
    const server = await this.#server();
    try {
      const response = await oauth.refreshTokenGrantRequest(
        server,
        this.#client,
        this.#authentication,
        refreshToken,
        this.#tokenRequest(),
      );
      const renewed = toTokens(await oauth.processRefreshTokenResponse(server, this.#client, response));
      return { refreshToken, ...renewed };
    } catch (cause) {
      if (cause instanceof oauth.ResponseBodyError && cause.error === "invalid_grant") {
        throw new UpstreamSessionEnded("the refresh token is no longer accepted");
      }
      throw unavailable("renew a token", cause);
    }
  }

  /** Resolves to true if an access token is active; `undefined` if the provider has no way to ask. */
  async isActive({ accessToken }: UpstreamTokens): Promise<boolean | undefined> {
    const server = await this.#server();
    try {
      if (server.introspection_endpoint !== undefined) {
        const response = await oauth.introspectionRequest(
          server,
          this.#client,
          this.#authentication,
          accessToken,
          this.#request(),
        );
        return (await oauth.processIntrospectionResponse(server, this.#client, response)).active;
      }
      if (server.userinfo_endpoint === undefined) return undefined;
      const response = await oauth.userInfoRequest(server, this.#client, accessToken, this.#request());
      if (response.ok) return this.#saysActive(response);
      await response.body?.cancel();
      if (response.status === 401 || (response.status === 403 && !isLimited(response))) return false;
      throw new PortolanError("http-status", `userinfo answered with status ${response.status}`);
    } catch (cause) {
      if (cause instanceof oauth.WWWAuthenticateChallengeError && cause.status === 401) {
        // The provider has refused our own credentials, which says nothing about the token.
        if (server.introspection_endpoint === undefined) return false;
      }
      throw unavailable("check a token", cause);
    }
  }

  /** Some providers answer with status 200 that a token is no longer valid. */
  async #saysActive(response: Response): Promise<boolean> {
    const { subjectOf } = this.#options;
    if (!subjectOf) {
      await response.body?.cancel();
      return true;
    }
    return subjectOf((await response.json()) as JsonMembers) !== undefined;
  }

  /** Revokes tokens, if the provider has an endpoint for it. */
  async revoke({ refreshToken, accessToken }: UpstreamTokens): Promise<void> {
    const server = await this.#server();
    if (server.revocation_endpoint === undefined) return;
    const response = await oauth.revocationRequest(
      server,
      this.#client,
      this.#authentication,
      refreshToken ?? accessToken,
      this.#request(),
    );
    await oauth.processRevocationResponse(response);
  }

  async #subjectOf(server: oauth.AuthorizationServer, accessToken: string): Promise<string> {
    const response = await oauth.userInfoRequest(server, this.#client, accessToken, this.#request());
    const claims = (await response.json()) as JsonMembers;
    const { subjectOf = ({ sub }) => (typeof sub === "string" ? sub : undefined) } = this.#options;
    const subject = subjectOf(claims);
    if (typeof subject === "string" && subject !== "") return subject;
    throw new PortolanError("answer-invalid", "upstream: userinfo does not identify the person; pass subjectOf");
  }

  #server(): Promise<oauth.AuthorizationServer> {
    const known = this.#found;
    if (known && performance.now() - known.at < upstreamMetadataMs) return known.server;
    const server = this.#discover();
    const at = performance.now();
    if (known) {
      // Old metadata is used while newer is fetched, and longer if it cannot be: then the provider itself may still work.
      this.#found = { server: known.server, at };
      server.then(
        () => {
          this.#found = { server, at };
        },
        () => {},
      );
      return known.server;
    }
    const first = server.catch((cause) => {
      this.#found = undefined;
      throw unavailable("find its metadata", cause);
    });
    this.#found = { server: first, at };
    return first;
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    const { issuer, endpoints, secretIn } = this.#options;
    if (endpoints) {
      return {
        issuer,
        authorization_endpoint: endpoints.authorization,
        token_endpoint: endpoints.token,
        ...(secretIn === "body" && { token_endpoint_auth_methods_supported: ["client_secret_post"] }),
        ...(endpoints.userinfo !== undefined && { userinfo_endpoint: endpoints.userinfo }),
        ...(endpoints.introspection !== undefined && { introspection_endpoint: endpoints.introspection }),
        ...(endpoints.revocation !== undefined && { revocation_endpoint: endpoints.revocation }),
      };
    }
    let last: unknown;
    for (const algorithm of ["oidc", "oauth2"] as const) {
      try {
        const response = await oauth.discoveryRequest(new URL(issuer), { algorithm, ...this.#request() });
        return await oauth.processDiscoveryResponse(new URL(issuer), response);
      } catch (cause) {
        last = cause;
      }
    }
    throw last;
  }

  #tokenRequest() {
    const { toTokenResponse = (body) => body } = this.#options;
    const send = async (url: string, init: oauth.CustomFetchOptions<"POST", URLSearchParams>) =>
      toStandard(await fetch(url, init), toTokenResponse);
    return { ...this.#request(), [oauth.customFetch]: send };
  }

  #request() {
    return {
      signal: () => AbortSignal.timeout(upstreamTimeoutMs),
      // The operator configures this URL; http is accepted on loopback only.
      [oauth.allowInsecureRequests]: this.#options.issuer.startsWith("http://"),
    };
  }
}

/** Returns a failure that has the status of a success with the status that OAuth 2.0 has for it. */
async function toStandard(response: Response, convert: (body: JsonMembers) => JsonMembers): Promise<Response> {
  const text = await response.text();
  const { status, headers } = response;
  const body = text.startsWith("{") ? convert(JSON.parse(text) as JsonMembers) : undefined;
  if (!body) return new Response(text, { status, headers });
  const isFailure = response.ok && typeof body["error"] === "string" && body["access_token"] === undefined;
  return Response.json(body, { status: isFailure ? 400 : status });
}

/** Returns true for a 403 by which a service such as GitHub limits requests: it says nothing about the token. */
function isLimited({ headers }: Response): boolean {
  return headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0";
}

function endpoint(server: oauth.AuthorizationServer, name: "authorization_endpoint"): string {
  const found = server[name];
  if (found === undefined) throw new PortolanError("answer-invalid", `upstream: its metadata has no ${name}`);
  return found;
}

function toTokens(answer: oauth.TokenEndpointResponse): UpstreamTokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = answer;
  return {
    accessToken,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresIn !== undefined && { expiresAt: Date.now() + expiresIn * 1_000 }),
  };
}

/** Converts a failure to an error without its cause, which may contain codes and tokens. */
function unavailable(what: string, cause: unknown): PortolanError {
  if (cause instanceof PortolanError) return cause;
  const {
    message,
    error,
    error_description: description,
  } = cause as Error & {
    readonly error?: string;
    readonly error_description?: string;
  };
  const said = error === undefined ? message : [error, description].filter(Boolean).join(": ");
  return new PortolanError("connection-closed", `upstream: could not ${what}: ${said}`);
}

/** Sends the secret as the metadata prefers; form-encoded only, because many servers do not decode any further. */
function secretOf(clientSecret: string): oauth.ClientAuth {
  const post = oauth.ClientSecretPost(clientSecret);
  const encode = (value: string) => new URLSearchParams([["", value]]).toString().slice(1);
  return (server, client, body, headers) => {
    const offered = server.token_endpoint_auth_methods_supported;
    if (offered && !offered.includes("client_secret_basic")) return post(server, client, body, headers);
    headers.set("authorization", `Basic ${btoa(`${encode(client.client_id)}:${encode(clientSecret)}`)}`);
  };
}
