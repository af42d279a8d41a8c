import { checkWebAddress } from "../../net/index.ts";
import type { SafeFetch } from "../../net/policy.ts";
import type { Refused } from "./challenge.ts";
import type { Credential, PendingLogin, RegisteredClient, Vault } from "./credential.ts";
import { type Authority, findAuthority, findResource, guessAuthority, type ResourceMetadata } from "./discovery.ts";
import { AuthFailure, LoginRequired, plain } from "./failure.ts";
import { beginLogin, checkPkce, completeLogin, type LoginRequest } from "./login.ts";
import { addressPolicy } from "./policy.ts";
import { createKey } from "./proof.ts";
import type { Redirect } from "./redirect.ts";
import { knownClient, register } from "./registration.ts";
import type { OAuthEvent, OAuthOptions } from "./settings.ts";
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
  readonly resource: ResourceMetadata | undefined;
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
    if (!need.mayLogin && kept && !this.#options.grant) {
      return { how: "renewed", credential: await this.#renew(kept, signal) };
    }
    const resource = await this.#findResource(need.refused);
    const authority = await this.#findAuthority(resource, kept);
    const isSameIssuer = kept?.issuer === authority.issuer;
    if (kept && isSameIssuer && need.mayRenew && !need.isStepUp) {
      const credential = await this.#renew(kept, signal);
      if (credential) return { how: "renewed", credential };
    }
    const previous = isSameIssuer ? kept : undefined;
    if (need.isStepUp) this.#checkStepUp(need.refused, previous);
    const situation: Situation = {
      authority,
      resource,
      scopes: this.#scopesFor(need.refused, resource, previous, authority),
      key: this.#needsKey(need.refused, resource) ? (previous?.key ?? (await createKey())) : undefined,
    };
    return { how: "granted", credential: await this.#grant(situation, signal) };
  }

  /** Takes up a login where it was left. */
  async finish(pending: PendingLogin, callback: URL): Promise<Credential> {
    const { issuer, isGuessed } = pending;
    const authority = isGuessed ? await guessAuthority(this.#server, this.#fetch) : await this.#lookUp(issuer);
    return this.#complete(pending, callback, authority);
  }

  tell(kind: OAuthEvent["kind"], { issuer, scopes }: { issuer: string; scopes: readonly string[] }): void {
    try {
      this.#options.onEvent?.({ kind, server: this.#server.href, issuer, scopes });
    } catch {
      // A listener that throws spoils nothing.
    }
  }

  #findResource(refused: Refused): Promise<ResourceMetadata | undefined> {
    const { metadataOrigins: origins = [] } = this.#options;
    return findResource({ server: this.#server, named: refused.metadataUrl, origins }, this.#fetch);
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

  /** The renewed token; undefined when there is nothing to renew, or no longer. */
  async #renew(kept: Credential, signal: AbortSignal): Promise<Credential | undefined> {
    const { refreshToken, issuer, isGuessed, key, resource } = kept;
    if (refreshToken === undefined) return undefined;
    const client = this.#withSecret(kept.client);
    const authority = isGuessed ? await guessAuthority(this.#server, this.#fetch) : await this.#lookUp(issuer);
    try {
      const request = { authority, client, key, fetch: this.#fetch, signal };
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
    const isUnknown = error === "invalid_client" || error === "unauthorized_client";
    if (isUnknown && client.isDynamic) await this.#vault.writeClient(issuer, undefined);
  }

  async #grant(situation: Situation, signal: AbortSignal): Promise<Credential> {
    const { grant } = this.#options;
    if (!grant) return this.#login(situation, signal);
    const { authority, resource, scopes, key } = situation;
    const { issuer, isGuessed } = authority;
    if (grant.issuer !== undefined && grant.issuer !== issuer) {
      throw new AuthFailure(`The grant is for ${plain(grant.issuer)}, but the server names ${plain(issuer)}`);
    }
    const context = { authority, resource: resource?.resource, scopes, key, fetch: this.#fetch, signal };
    const { token, client } = await grant.request(context);
    const named = { issuer, isGuessed, resource: resource?.resource, client, scopes, key };
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
    const known = await knownClient(authority, this.#options, context);
    const toRequest = async (redirectUri: string): Promise<LoginRequest> => {
      const isUsable = known !== undefined && (!known.isDynamic || known.redirectUri === redirectUri);
      const client = isUsable
        ? known
        : await register(authority, redirectUri, situation.scopes, this.#options, context);
      if (!isUsable) this.tell("registered", { issuer: authority.issuer, scopes: situation.scopes });
      const { scopes, key, resource } = situation;
      return { server: this.#server.href, authority, resource: resource?.resource, client, redirectUri, scopes, key };
    };
    if (!("isDeferred" in redirect)) return this.#visit(redirect, known, toRequest, signal);
    const { url, pending } = await beginLogin(await toRequest(redirect.redirectUri));
    this.#checkPage(url);
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
      this.#checkPage(url);
      this.tell("visiting", pending);
      const limit = AbortSignal.timeout(this.loginMs);
      const callback = await attempt.visit(url, AbortSignal.any([signal, limit])).catch(async (reason) => {
        // People who never come back may have been shown that the client is unknown: it registers again the next time.
        if (limit.aborted && pending.client.isDynamic) await this.#vault.writeClient(pending.issuer, undefined);
        throw limit.aborted ? new AuthFailure(`Nobody signed in at ${plain(pending.issuer)} in time`) : reason;
      });
      return await this.#complete(pending, callback, request.authority, signal);
    } finally {
      await attempt.close();
    }
  }

  async #complete(
    pending: PendingLogin,
    callback: URL,
    authority: Authority,
    signal?: AbortSignal,
  ): Promise<Credential> {
    const { issuer, isGuessed, resource, client, scopes, key } = pending;
    const token = await completeLogin(pending, callback, authority, this.#fetch, signal).catch(async (reason) => {
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
  #checkPage(url: URL): void {
    checkWebAddress(url, addressPolicy(this.#server, this.#options));
  }

  #checkStepUp({ scopes = [] }: Refused, previous: Credential | undefined): void {
    if (!previous || scopes.some((scope) => !previous.scopes.includes(scope))) return;
    throw new AuthFailure(
      `${this.#server.origin} wants the scopes ${plain(scopes.join(" "))}, which were asked for and not given; ` +
        "log out and in again to be asked once more",
    );
  }

  /** What the server asks for now, else what it says it may ask for; and what was asked for before. */
  #scopesFor(
    refused: Refused,
    resource: ResourceMetadata | undefined,
    previous: Credential | undefined,
    { metadata }: Authority,
  ): string[] {
    const { scopes = [], offline = true, grant } = this.#options;
    const wanted = refused.scopes ?? resource?.scopes ?? [];
    const isOffered = offline && !grant && metadata.scopes_supported?.includes("offline_access");
    const later = isOffered ? ["offline_access"] : [];
    return [...new Set([...(previous?.scopes ?? []), ...wanted, ...scopes, ...later])];
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

  /** A secret that is configured stays where it is configured. */
  #withSecret(client: RegisteredClient): RegisteredClient {
    const { clientSecret } = this.#options.client ?? {};
    return clientSecret === undefined ? client : { ...client, clientSecret };
  }

  #keep(credential: Credential): Promise<void> {
    const { clientSecret: _configured, ...client } = credential.client;
    const isConfigured = this.#options.client !== undefined || this.#options.grant !== undefined;
    return this.#vault.writeCredential(this.#server.href, isConfigured ? { ...credential, client } : credential);
  }
}
