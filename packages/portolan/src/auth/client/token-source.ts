import { checkResolvedAddress } from "../../net/index.ts";
import type { SafeFetch } from "../../net/policy.ts";
import { checkStepUp, type ParsedChallenge, scopesFor } from "./challenge.ts";
import type { Credential, PendingLogin, RegisteredClient, Vault } from "./credential.ts";
import {
  type Authority,
  fetchPolicyFor,
  findAuthority,
  findResource,
  guessAuthority,
  type ResourceMetadata,
} from "./discovery.ts";
import { createKey } from "./dpop.ts";
import { AuthFailure, LoginRequired, oneLine } from "./errors.ts";
import type { Jwk } from "./grants.ts";
import { defaultLoginMs, defaultTokenLifeMs, renewBeforeExpiryMs } from "./limits.ts";
import { beginLogin, checkPkce, completeLogin, type LoginRequest } from "./login.ts";
import type { OAuthEvent, OAuthOptions } from "./oauth.ts";
import type { Redirect } from "./redirect.ts";
import { isTooNarrow, knownClient, register, withSecret } from "./registration.ts";
import type { Steps } from "./steps.ts";
import { type GrantedToken, requestToken } from "./tokens.ts";

/** Why another token is needed, and by which means it may be acquired. */
export interface TokenNeed {
  /** The token that was refused or is about to expire; empty when there was none. */
  readonly stale: string;
  readonly challenge: ParsedChallenge;
  readonly isStepUp: boolean;
  readonly mayRenew: boolean;
  readonly mayLogin: boolean;
}

/** A token and its origin: found in the store, renewed, or newly granted. */
export interface AcquiredToken {
  readonly how: "found" | "renewed" | "granted";
  readonly credential: Credential | undefined;
}

/** The parameters of a request for a new token. */
interface TokenParameters {
  readonly authority: Authority;
  /** The server that the token is for, as its metadata names it. */
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  /** The scopes that the refused token lacks. */
  readonly missing?: readonly string[] | undefined;
  readonly key: Jwk | undefined;
}

/** Errors that say nothing about the token or the client: the next attempt may succeed. */
const transientErrors: readonly unknown[] = [undefined, "server_error", "temporarily_unavailable", "slow_down"];

/** Acquires tokens for one server: by renewal, in the program's own name, or by having a person sign in. */
export class TokenSource {
  readonly #server: URL;
  readonly #vault: Vault;
  readonly #fetch: SafeFetch;
  readonly #options: OAuthOptions;
  readonly #steps: (() => Promise<Steps>) | undefined;

  constructor(server: URL, vault: Vault, fetch: SafeFetch, options: OAuthOptions, steps?: () => Promise<Steps>) {
    this.#server = server;
    this.#vault = vault;
    this.#fetch = fetch;
    this.#options = options;
    this.#steps = steps;
  }

  /** Acquires another token than the stored one. The caller holds the lock of this server. */
  async acquire(need: TokenNeed, stored: Credential | undefined, signal: AbortSignal): Promise<AcquiredToken> {
    if (!need.mayLogin && stored) return this.#repeat(stored, signal);
    const { challenge } = need;
    const resource = await findResource(this.#server, challenge.metadataUrl, this.#fetch);
    const authority = await this.#findAuthority(resource, stored);
    const isSameIssuer = stored?.issuer === authority.issuer;
    if (stored && isSameIssuer && need.mayRenew && !need.isStepUp) {
      const credential = await this.#renew(stored, signal);
      if (credential) return { how: "renewed", credential };
    }
    const previous = isSameIssuer ? stored : undefined;
    if (need.isStepUp) checkStepUp(this.#server, challenge, previous);
    const parameters: TokenParameters = {
      authority,
      resource: resource?.resource,
      scopes: scopesFor({ challenge, resource, previous, authority }, this.#options),
      missing: need.isStepUp ? challenge.scopes?.filter((scope) => !previous?.scopes.includes(scope)) : undefined,
      key: this.#needsKey(challenge, resource) ? (previous?.key ?? (await createKey())) : undefined,
    };
    return { how: "granted", credential: await this.#grant(parameters, signal) };
  }

  /** Completes a deferred login. */
  async finish(pending: PendingLogin, callback: URL): Promise<Credential> {
    return this.#complete(pending, callback, await this.authorityOf(pending));
  }

  emit(kind: OAuthEvent["kind"], { issuer, scopes }: { issuer: string; scopes: readonly string[] }): void {
    try {
      // The query is left out: it may contain secrets.
      const server = this.#server.origin + this.#server.pathname;
      this.#options.onEvent?.({ kind, server, issuer, scopes });
    } catch {
      // A listener that throws does not break the login.
    }
  }

  async #findAuthority(resource: ResourceMetadata | undefined, stored: Credential | undefined): Promise<Authority> {
    const issuers = resource?.issuers ?? [];
    const [first] = issuers;
    if (first === undefined) return guessAuthority(this.#server, this.#fetch);
    const { chooseIssuer, client, grant } = this.#options;
    const familiar = [client?.issuer, grant?.issuer, stored?.issuer].find((one) => one && issuers.includes(one));
    return findAuthority(chooseIssuer?.(issuers, this.#server) ?? familiar ?? first, this.#fetch);
  }

  /** Finds the authorization server that issued a token, or is about to. */
  authorityOf({ issuer, isGuessed }: Pick<Credential, "issuer" | "isGuessed">): Promise<Authority> {
    return isGuessed ? guessAuthority(this.#server, this.#fetch) : findAuthority(issuer, this.#fetch);
  }

  /** Gets the same kind of token again, from the same issuer and with the same scopes. */
  async #repeat(stored: Credential, signal: AbortSignal): Promise<AcquiredToken> {
    if (!this.#options.grant) return { how: "renewed", credential: await this.#renew(stored, signal) };
    const { resource, scopes, key } = stored;
    const parameters = { authority: await this.authorityOf(stored), resource, scopes, key };
    return { how: "granted", credential: await this.#grant(parameters, signal) };
  }

  /** Renews a token. Returns `undefined` when there is no refresh token, or it is no longer valid. */
  async #renew(stored: Credential, signal: AbortSignal): Promise<Credential | undefined> {
    const { refreshToken, issuer, key, resource } = stored;
    if (refreshToken === undefined) return undefined;
    const client = withSecret(stored.client, this.#options);
    const authority = await this.authorityOf(stored);
    try {
      // Not aborted once it is sent: the response may contain the only refresh token that works next time.
      signal.throwIfAborted();
      const request = { authority, client, key, fetch: this.#fetch };
      const token = await requestToken(request, "refresh_token", { refresh_token: refreshToken, resource });
      const renewed = this.#toCredential(token, { ...stored, refreshToken: token.refreshToken ?? refreshToken });
      await this.#store(renewed);
      this.emit("renewed", renewed);
      return renewed;
    } catch (reason) {
      const error = reason instanceof AuthFailure ? reason.error : undefined;
      if (transientErrors.includes(error)) throw reason;
      await this.#store({ ...stored, accessToken: "", refreshToken: undefined });
      await this.#forgetClient(client, issuer, error);
      this.emit("expired", stored);
      return undefined;
    }
  }

  /** Deletes a registration that the authorization server no longer knows, so that the next login registers again. */
  async #forgetClient(client: RegisteredClient, issuer: string, error: string | undefined): Promise<void> {
    const isUnknown = error === "invalid_client" || error === "unauthorized_client" || error === "invalid_scope";
    if (isUnknown && client.isDynamic) await this.#vault.writeClient(issuer, undefined);
  }

  async #grant(parameters: TokenParameters, signal: AbortSignal): Promise<Credential> {
    const { grant } = this.#options;
    signal.throwIfAborted();
    if (!grant) return this.#login(parameters, signal);
    const { authority, resource, scopes, key } = parameters;
    const { issuer, isGuessed } = authority;
    const bound = grant.issuer ?? (await this.#vault.bind(grant.clientId, issuer));
    if (bound !== issuer) {
      throw new AuthFailure(
        `The grant is for ${oneLine(bound)}, but the server names ${oneLine(issuer)}; ` +
          "if that is right, give the grant the credentials for it",
      );
    }
    const context = { authority, resource, scopes, key, fetch: this.#fetch, signal };
    const { token, client } = await grant.request(context);
    const named = { issuer, isGuessed, resource, client, scopes, key };
    const credential = this.#toCredential(token, { ...named, refreshToken: undefined });
    await this.#store(credential);
    this.emit("granted", credential);
    return credential;
  }

  async #login(parameters: TokenParameters, signal: AbortSignal): Promise<Credential> {
    const { redirect } = this.#options;
    const { authority, missing } = parameters;
    if (!redirect) {
      const why = missing ? `more scopes (${oneLine(missing.join(" "))}): a person must` : "a person to";
      throw new AuthFailure(
        `${this.#server.origin} requires ${why} sign in at ${oneLine(authority.issuer)}; ` +
          "give oauth() a redirect, such as loopback(), or a grant",
        { code: "login-required", ...(missing && { scopes: missing }) },
      );
    }
    checkPkce(authority, this.#options.pkceAssumedFor ?? []);
    const context = { vault: this.#vault, fetch: this.#fetch, now: this.#options.now ?? Date.now };
    const { scopes, key, resource } = parameters;
    const known = await knownClient(authority, this.#options, context);
    let usable = known;
    const toRequest = async (redirectUri: string): Promise<LoginRequest> => {
      const isUsable = usable !== undefined && (!usable.isDynamic || usable.redirectUri === redirectUri);
      const all = [...new Set([...(known?.scopes ?? []), ...scopes])];
      const client = isUsable && usable ? usable : await register(authority, redirectUri, all, this.#options, context);
      if (client !== usable) this.emit("registered", { issuer: authority.issuer, scopes: all });
      return { server: this.#server.href, authority, resource, client, redirectUri, scopes, key };
    };
    if (!("isDeferred" in redirect)) {
      return this.#visit(redirect, usable, toRequest, signal).catch((reason) => {
        const isRefused = reason instanceof AuthFailure && reason.error === "invalid_scope";
        if (!isRefused || !known || !isTooNarrow(known, scopes)) throw reason;
        usable = undefined;
        return this.#visit(redirect, known, toRequest, signal);
      });
    }
    const { url, pending } = await beginLogin(await toRequest(redirect.redirectUri));
    await this.#checkPage(url);
    await this.#vault.keepPending(pending, this.loginMs);
    throw new LoginRequired(this.#server.origin, url, pending.state);
  }

  async #visit(
    redirect: Redirect,
    known: RegisteredClient | undefined,
    toRequest: (redirectUri: string) => Promise<LoginRequest>,
    signal: AbortSignal,
  ): Promise<Credential> {
    const attempt = await redirect.begin(known?.redirectUri);
    try {
      const request = await toRequest(attempt.redirectUri);
      const { url, pending } = await beginLogin(request);
      await this.#checkPage(url);
      if (pending.client.isDynamic) await this.#vault.writeVisit(this.#server.href, pending.issuer);
      this.emit("visiting", pending);
      const limit = AbortSignal.timeout(this.loginMs);
      const step = (await this.#steps?.())?.visit(url);
      const callback = await attempt.visit(url, AbortSignal.any([signal, limit])).catch(async (reason) => {
        step?.failed(limit.aborted ? "nobody came back in time" : reason);
        // The page may have said that the client is unknown. Nobody tells this program, so it registers again next time.
        const isOld = pending.client.clientId === known?.clientId;
        if (pending.client.isDynamic && (limit.aborted || (signal.aborted && isOld)))
          await this.#vault.writeClient(pending.issuer, undefined);
        throw limit.aborted ? new AuthFailure(`Sign-in at ${oneLine(pending.issuer)} timed out`) : reason;
      });
      step?.done(callback);
      // Not aborted from here on: the person has done their part.
      return await this.#complete(pending, callback, request.authority);
    } finally {
      await attempt.close();
    }
  }

  async #complete(pending: PendingLogin, callback: URL, authority: Authority): Promise<Credential> {
    const { issuer, isGuessed, resource, client, scopes, key } = pending;
    const token = await completeLogin(pending, callback, authority, this.#fetch).catch(async (reason) => {
      await this.#forgetClient(client, issuer, reason instanceof AuthFailure ? reason.error : undefined);
      throw reason;
    });
    const { redirectUri } = pending;
    // Only now: a mistyped client must not replace one that works.
    if (this.#options.newClient) await this.#vault.writeClient(issuer, { ...client, redirectUri });
    const named = { issuer, isGuessed, resource, client, scopes, key };
    const credential = this.#toCredential(token, { ...named, refreshToken: token.refreshToken });
    await this.#store(credential);
    if (client.isDynamic) await this.#vault.writeVisit(this.#server.href, undefined);
    this.emit("signed-in", credential);
    return credential;
  }

  get loginMs(): number {
    return this.#options.loginMs ?? defaultLoginMs;
  }

  /** Throws unless the policy lets a browser open this page, by the addresses that its host resolves to. */
  async #checkPage(url: URL): Promise<void> {
    await checkResolvedAddress(url, fetchPolicyFor(this.#server, this.#options));
  }

  #needsKey({ schemes }: ParsedChallenge, resource: ResourceMetadata | undefined): boolean {
    const isOnlyScheme = schemes.includes("dpop") && !schemes.includes("bearer");
    return this.#options.dpop ?? (resource?.needsDpop || isOnlyScheme);
  }

  #toCredential(token: GrantedToken, base: Omit<Credential, "accessToken" | "tokenType" | "renewAt">): Credential {
    const { accessToken, tokenType, expiresInMs = defaultTokenLifeMs, scopes = [] } = token;
    const now = (this.#options.now ?? Date.now)();
    return {
      ...base,
      accessToken,
      tokenType,
      // For a token that lives less than five minutes, after nine tenths of its life.
      renewAt: now + Math.max(expiresInMs - renewBeforeExpiryMs, expiresInMs * 0.9),
      scopes: [...new Set([...base.scopes, ...scopes])],
    };
  }

  /** Writes a credential to the store. A configured client secret stays in the configuration. */
  #store(credential: Credential): Promise<void> {
    const { clientSecret: _configured, ...client } = credential.client;
    const isConfigured = this.#options.client !== undefined || this.#options.grant !== undefined;
    return this.#vault.writeCredential(this.#server.href, isConfigured ? { ...credential, client } : credential);
  }
}
