import { checkResolvedAddress } from "../../net/index.ts";
import type { SafeFetch } from "../../net/policy.ts";
import type { Refused } from "./challenge.ts";
import { checkStepUp, scopesFor } from "./challenge.ts";
import type { Credential, PendingLogin, RegisteredClient, Vault } from "./credential.ts";
import {
  type Authority,
  addressPolicy,
  findAuthority,
  findResource,
  guessAuthority,
  type ResourceMetadata,
} from "./discovery.ts";
import { createKey } from "./dpop.ts";
import { AuthFailure, LoginRequired, plain } from "./errors.ts";
import { beginLogin, checkPkce, completeLogin, type LoginRequest } from "./login.ts";
import type { OAuthEvent, OAuthOptions } from "./oauth.ts";
import type { Redirect } from "./redirect.ts";
import { isTooNarrow, knownClient, register, withSecret } from "./registration.ts";
import { type GrantedToken, requestToken } from "./tokens.ts";

/** Why another token is needed, and what may be done for it. */
export interface Need {
  /** The token that was not enough; empty when there was none. */
  readonly stale: string;
  readonly refused: Refused;
  readonly isStepUp: boolean;
  readonly mayRenew: boolean;
  readonly mayLogin: boolean;
}

/** A token that somebody else had got already, one by renewal, or a new one. */
export interface Obtained {
  readonly how: "found" | "renewed" | "granted";
  readonly credential: Credential | undefined;
}

/** What is known when tokens are asked for. */
interface Situation {
  readonly authority: Authority;
  /** What tokens are for. */
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
  readonly key: JsonWebKey | undefined;
}

const defaultLoginMs = 10 * 60_000;
/** A token is renewed so long before its end, or after nine tenths of its life. */
const renewalMs = 30_000;
const defaultLifeMs = 60 * 60_000;
/** Answers that say nothing about the token or the client. */
const passing: readonly unknown[] = [undefined, "server_error", "temporarily_unavailable", "slow_down"];

/** Gets tokens for one server: by renewal, in the program's own name, or by having a person sign in. */
export class Obtaining {
  readonly #server: URL;
  readonly #vault: Vault;
  readonly #fetch: SafeFetch;
  readonly #options: OAuthOptions;

  constructor(server: URL, vault: Vault, fetch: SafeFetch, options: OAuthOptions) {
    this.#server = server;
    this.#vault = vault;
    this.#fetch = fetch;
    this.#options = options;
  }

  /** Another token than the one that is kept. Nobody else does the same meanwhile. */
  async obtain(need: Need, kept: Credential | undefined, signal: AbortSignal): Promise<Obtained> {
    if (!need.mayLogin && kept) return this.#repeat(kept, signal);
    const resource = await this.#findResource(need.refused);
    const authority = await this.#findAuthority(resource, kept);
    const isSameIssuer = kept?.issuer === authority.issuer;
    if (kept && isSameIssuer && need.mayRenew && !need.isStepUp) {
      const credential = await this.#renew(kept, signal);
      if (credential) return { how: "renewed", credential };
    }
    const previous = isSameIssuer ? kept : undefined;
    if (need.isStepUp) checkStepUp(this.#server, need.refused, previous);
    const situation: Situation = {
      authority,
      resource: resource?.resource,
      scopes: scopesFor({ refused: need.refused, resource, previous, authority }, this.#options),
      key: this.#needsKey(need.refused, resource) ? (previous?.key ?? (await createKey())) : undefined,
    };
    return { how: "granted", credential: await this.#grant(situation, signal) };
  }

  /** Takes up a login where it was left. */
  async finish(pending: PendingLogin, callback: URL): Promise<Credential> {
    return this.#complete(pending, callback, await this.authorityOf(pending));
  }

  tell(kind: OAuthEvent["kind"], { issuer, scopes }: { issuer: string; scopes: readonly string[] }): void {
    try {
      // Without its query, which may hold what is secret.
      const server = this.#server.origin + this.#server.pathname;
      this.#options.onEvent?.({ kind, server, issuer, scopes });
    } catch {
      // A listener that throws spoils nothing.
    }
  }

  #findResource(refused: Refused): Promise<ResourceMetadata | undefined> {
    return findResource(this.#server, refused.metadataUrl, this.#fetch);
  }

  async #findAuthority(resource: ResourceMetadata | undefined, kept: Credential | undefined): Promise<Authority> {
    const issuers = resource?.issuers ?? [];
    const [first] = issuers;
    if (first === undefined) return guessAuthority(this.#server, this.#fetch);
    const { chooseIssuer, client, grant } = this.#options;
    const familiar = [client?.issuer, grant?.issuer, kept?.issuer].find((one) => one && issuers.includes(one));
    return this.#lookUp(chooseIssuer?.(issuers, this.#server) ?? familiar ?? first);
  }

  #lookUp(issuer: string): Promise<Authority> {
    return findAuthority(issuer, this.#fetch);
  }

  /** Whoever gave a token, or is about to. */
  authorityOf({ issuer, isGuessed }: Pick<Credential, "issuer" | "isGuessed">): Promise<Authority> {
    return isGuessed ? guessAuthority(this.#server, this.#fetch) : this.#lookUp(issuer);
  }

  /** The same token once more, from whoever gave it and for no more than before. */
  async #repeat(kept: Credential, signal: AbortSignal): Promise<Obtained> {
    if (!this.#options.grant) return { how: "renewed", credential: await this.#renew(kept, signal) };
    const { resource, scopes, key } = kept;
    const situation = { authority: await this.authorityOf(kept), resource, scopes, key };
    return { how: "granted", credential: await this.#grant(situation, signal) };
  }

  /** The renewed token; undefined when there is nothing to renew, or no longer. */
  async #renew(kept: Credential, signal: AbortSignal): Promise<Credential | undefined> {
    const { refreshToken, issuer, key, resource } = kept;
    if (refreshToken === undefined) return undefined;
    const client = withSecret(kept.client, this.#options);
    const authority = await this.authorityOf(kept);
    try {
      // Not given up once it is sent: the token that comes with the answer is the only one that renews the next time.
      signal.throwIfAborted();
      const request = { authority, client, key, fetch: this.#fetch };
      const token = await requestToken(request, "refresh_token", { refresh_token: refreshToken, resource });
      const renewed = this.#toCredential(token, { ...kept, refreshToken: token.refreshToken ?? refreshToken });
      await this.#keep(renewed);
      this.tell("renewed", renewed);
      return renewed;
    } catch (reason) {
      const error = reason instanceof AuthFailure ? reason.error : undefined;
      if (passing.includes(error)) throw reason;
      await this.#keep({ ...kept, accessToken: "", refreshToken: undefined });
      await this.#forgetClient(client, issuer, error);
      this.tell("expired", kept);
      return undefined;
    }
  }

  /** Who is not known any more registers again the next time. */
  async #forgetClient(client: RegisteredClient, issuer: string, error: string | undefined): Promise<void> {
    const isUnknown = error === "invalid_client" || error === "unauthorized_client" || error === "invalid_scope";
    if (isUnknown && client.isDynamic) await this.#vault.writeClient(issuer, undefined);
  }

  async #grant(situation: Situation, signal: AbortSignal): Promise<Credential> {
    const { grant } = this.#options;
    signal.throwIfAborted();
    if (!grant) return this.#login(situation, signal);
    const { authority, resource, scopes, key } = situation;
    const { issuer, isGuessed } = authority;
    const bound = grant.issuer ?? (await this.#vault.bind(grant.clientId, issuer));
    if (bound !== issuer) {
      throw new AuthFailure(
        `The grant is for ${plain(bound)}, but the server names ${plain(issuer)}; ` +
          "if that is right, give the grant the credentials for it",
      );
    }
    const context = { authority, resource, scopes, key, fetch: this.#fetch, signal };
    const { token, client } = await grant.request(context);
    const named = { issuer, isGuessed, resource, client, scopes, key };
    const credential = this.#toCredential(token, { ...named, refreshToken: undefined });
    await this.#keep(credential);
    this.tell("granted", credential);
    return credential;
  }

  async #login(situation: Situation, signal: AbortSignal): Promise<Credential> {
    const { redirect } = this.#options;
    const { authority } = situation;
    if (!redirect) {
      throw new AuthFailure(
        `${this.#server.origin} wants a person to sign in at ${plain(authority.issuer)}; ` +
          "give oauth() a redirect, such as loopback(), or a grant",
        { code: "login-required" },
      );
    }
    checkPkce(authority, this.#options.pkceAssumedFor ?? []);
    const context = { vault: this.#vault, fetch: this.#fetch, now: this.#options.now ?? Date.now };
    const { scopes, key, resource } = situation;
    const known = await knownClient(authority, this.#options, context);
    let usable = known;
    const toRequest = async (redirectUri: string): Promise<LoginRequest> => {
      const isUsable = usable !== undefined && (!usable.isDynamic || usable.redirectUri === redirectUri);
      const all = [...new Set([...(known?.scopes ?? []), ...scopes])];
      const client = isUsable && usable ? usable : await register(authority, redirectUri, all, this.#options, context);
      if (client !== usable) this.tell("registered", { issuer: authority.issuer, scopes: all });
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
      this.tell("visiting", pending);
      const limit = AbortSignal.timeout(this.loginMs);
      const callback = await attempt.visit(url, AbortSignal.any([signal, limit])).catch(async (reason) => {
        // People who never come back may have been shown that the client is unknown: it registers again the next time.
        if (limit.aborted && pending.client.isDynamic) await this.#vault.writeClient(pending.issuer, undefined);
        throw limit.aborted ? new AuthFailure(`Nobody signed in at ${plain(pending.issuer)} in time`) : reason;
      });
      // Not given up any more: the person has done their part.
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
    const named = { issuer, isGuessed, resource, client, scopes, key };
    const credential = this.#toCredential(token, { ...named, refreshToken: token.refreshToken });
    await this.#keep(credential);
    this.tell("signed-in", credential);
    return credential;
  }

  /** How long a person may take to sign in. */
  get loginMs(): number {
    return this.#options.loginMs ?? defaultLoginMs;
  }

  /** Only pages are opened: https ones, and those of this machine where the server is one of them. */
  async #checkPage(url: URL): Promise<void> {
    await checkResolvedAddress(url, addressPolicy(this.#server, this.#options));
  }

  #needsKey({ schemes }: Refused, resource: ResourceMetadata | undefined): boolean {
    const isOnlyWay = schemes.includes("dpop") && !schemes.includes("bearer");
    return this.#options.dpop ?? (resource?.needsDpop || isOnlyWay);
  }

  #toCredential(token: GrantedToken, base: Omit<Credential, "accessToken" | "tokenType" | "renewAt">): Credential {
    const { accessToken, tokenType, expiresInMs = defaultLifeMs, scopes = [] } = token;
    const now = (this.#options.now ?? Date.now)();
    return {
      ...base,
      accessToken,
      tokenType,
      renewAt: now + Math.max(expiresInMs - renewalMs, expiresInMs * 0.9),
      scopes: [...new Set([...base.scopes, ...scopes])],
    };
  }

  #keep(credential: Credential): Promise<void> {
    const { clientSecret: _configured, ...client } = credential.client;
    const isConfigured = this.#options.client !== undefined || this.#options.grant !== undefined;
    return this.#vault.writeCredential(this.#server.href, isConfigured ? { ...credential, client } : credential);
  }
}
