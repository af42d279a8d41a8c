import { nameOf, PortolanError } from "../../errors.ts";
import { createSafeFetch } from "../../net/index.ts";
import type { FetchPolicy, SafeFetch } from "../../net/policy.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { Account, type AuthChallenge, type AuthorizedRequest } from "./account.ts";
import { Vault } from "./credential.ts";
import { fetchPolicyFor } from "./discovery.ts";
import { AuthFailure } from "./errors.ts";
import type { MachineGrant } from "./grants.ts";
import { maxAccounts } from "./limits.ts";
import type { DeferredRedirect, Redirect } from "./redirect.ts";
import type { RegistrationOptions } from "./registration.ts";
import type { OAuthStep, Steps } from "./steps.ts";
import { type CredentialStore, memoryStore } from "./store.ts";

/** Options of `oauth`. */
export interface OAuthOptions extends RegistrationOptions {
  /**
   * How a person gets to the sign-in page and back: `loopback()`, `paste()` or `deferred(url)`. Without it and without
   * a `grant`, a request that needs a login rejects with code `login-required`.
   */
  readonly redirect?: Redirect | DeferredRedirect;
  /** How this program gets tokens in its own name: `clientCredentials`, `enterpriseManaged` or `workloadIdentity`. */
  readonly grant?: MachineGrant;
  /** Stores tokens and registrations. Default: `memoryStore()`. */
  readonly store?: CredentialStore;
  /** Separates the tokens of several people in one store. */
  readonly account?: string;
  /** Scopes to request in addition to those that the server names. */
  readonly scopes?: readonly string[];
  /** Binds tokens to a key of this program (DPoP). Default: only where the server requires it. */
  readonly dpop?: boolean;
  /** Requests the scope `offline_access`, where the authorization server has it, to get a refresh token. Default: true. */
  readonly offline?: boolean;
  /** Which URLs named by servers may be fetched. Default: public https URLs and the server's own host. */
  readonly policy?: FetchPolicy;
  /** Issuers that support PKCE although their metadata does not say so. */
  readonly pkceAssumedFor?: readonly string[];
  /** Chooses among the authorization servers that a server names. Default: the one used before, else the first. */
  readonly chooseIssuer?: (issuers: readonly string[], server: URL) => string;
  /** How long a person may take to sign in. Default: 10 minutes. */
  readonly loginMs?: number;
  /** How long a request waits while another program with the same store signs in. Default: `loginMs` and a minute. */
  readonly loginWaitMs?: number;
  /** Hears of each login, renewal and logout, without secrets. */
  readonly onEvent?: (event: OAuthEvent) => void;
  /** Called when each step on the way to a token begins and ends, with what was sent and received. Secrets are masked. */
  readonly onStep?: (step: OAuthStep) => void;
  /** The time in milliseconds since 1970, for tests. Default: the clock of the system. */
  readonly now?: () => number;
}

/** One step on the way to a token. It contains no secrets. */
export interface OAuthEvent {
  readonly kind:
    | "registered"
    | "visiting"
    | "signed-in"
    | "granted"
    | "renewed"
    | "expired"
    | "signed-out"
    /** A logout has forgotten the registration of a login that was not finished. */
    | "unregistered";
  readonly server: string;
  readonly issuer: string;
  readonly scopes?: readonly string[];
}

/** The authorization of a client at any number of servers, for `auth` of `connect`. */
export interface OAuth {
  authorize(request: AuthorizedRequest): Promise<{ readonly [name: string]: string }>;
  challenged(challenge: AuthChallenge): Promise<"retry" | "fail">;
  /** Signs in at a server now, instead of when its first request is refused. */
  login(server: string | URL, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Deletes the tokens for a server and revokes them at its authorization server. After a login that was not finished, the
   * registration is forgotten, and the next login registers again.
   */
  logout(server: string | URL): Promise<void>;
  /** Completes a deferred login with the URL that the person came back to. Returns the server it was for. */
  finish(callback: string | URL): Promise<{ readonly server: string }>;
}

const optionNames: OptionNames<OAuthOptions> = {
  ...{ redirect: 1, grant: 1, store: 1, account: 1, scopes: 1, dpop: 1, offline: 1, policy: 1, pkceAssumedFor: 1 },
  ...{ chooseIssuer: 1, loginMs: 1, loginWaitMs: 1, onEvent: 1, onStep: 1, now: 1 },
  ...{ client: 1, clientMetadataUrl: 1, clientName: 1, clientMetadata: 1, newClient: 1, askClient: 1 },
};

/** Creates an OAuth 2.1 client: it finds each server's authorization server, registers, signs in and renews tokens. */
export function oauth(options: OAuthOptions = {}): OAuth {
  checkOptions(options, optionNames, "oauth");
  const { store = memoryStore(), account = "" } = options;
  if (options.redirect && options.grant) {
    throw new PortolanError("invalid-argument", "oauth: expected a redirect or a grant, got both");
  }
  const vault = new Vault(store, account, options.client?.clientId ?? options.grant?.clientId ?? "");
  const accounts = new Map<string, Account>();

  const { onStep } = options;
  let loaded: Promise<Steps> | undefined;
  const load = (listener: NonNullable<OAuthOptions["onStep"]>) => {
    loaded ??= import("./steps.ts").then(({ Steps }) => new Steps(listener));
    return loaded;
  };
  const create = (server: URL): Account => {
    const fetch = createSafeFetch(fetchPolicyFor(server, options));
    if (!onStep) return new Account(server, vault, fetch, options);
    const told: SafeFetch = async (url, init) => (await load(onStep)).fetch(fetch, server, url, init);
    return new Account(server, vault, told, options, () => load(onStep));
  };
  const accountOf = (server: URL): Account => {
    const { href } = server;
    const found = accounts.get(href) ?? create(server);
    accounts.delete(href);
    accounts.set(href, found);
    for (const oldest of accounts.keys()) {
      if (accounts.size <= maxAccounts) break;
      accounts.delete(oldest);
    }
    return found;
  };

  return {
    authorize: (request) => accountOf(request.server).headers(request),
    challenged: (challenge) => accountOf(challenge.request.server).challenged(challenge),
    login: async (server, { signal = new AbortController().signal } = {}) => accountOf(toUrl(server)).login(signal),
    logout: async (server) => accountOf(toUrl(server)).logout(),
    async finish(callback) {
      const url = toUrl(callback);
      const pending = await vault.takePending(url.searchParams.get("state") ?? "");
      if (!pending) {
        throw new AuthFailure(
          "finish: no login is waiting for this URL; it was finished before, or it expired. Start the login again",
        );
      }
      await accountOf(new URL(pending.server)).finish(pending, url);
      return { server: pending.server };
    },
  };
}

/** Parses a URL and removes its fragment, as transports do with the URL of their server. */
function toUrl(address: string | URL): URL {
  if (!URL.canParse(address)) {
    throw new PortolanError("invalid-argument", `oauth: expected a URL, got ${nameOf(address)}`);
  }
  const url = new URL(address);
  url.hash = "";
  return url;
}
