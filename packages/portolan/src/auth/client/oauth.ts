import { nameOf, PortolanError } from "../../errors.ts";
import { createSafeFetch } from "../../net/index.ts";
import type { FetchPolicy } from "../../net/policy.ts";
import { Account, type AuthorizedRequest, type Challenged } from "./account.ts";
import { Vault } from "./credential.ts";
import { addressPolicy } from "./discovery.ts";
import { AuthFailure } from "./errors.ts";
import type { MachineGrant } from "./grants.ts";
import type { DeferredRedirect, Redirect } from "./redirect.ts";
import type { RegistrationOptions } from "./registration.ts";
import { type CredentialStore, memoryStore } from "./store.ts";

/** The authorization of a client at any number of servers, for `auth` of `connect`. */
export interface OAuth {
  authorize(request: AuthorizedRequest): Promise<{ readonly [name: string]: string }>;
  challenged(challenge: Challenged): Promise<"retry" | "fail">;
  /** Signs in at a server now, and not when it first asks. */
  login(server: string | URL, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** Forgets the tokens for a server and has its authorization server revoke them. */
  logout(server: string | URL): Promise<void>;
  /** Goes on with a deferred login: takes the address that the person came back with, and says which server it was for. */
  finish(callback: string | URL): Promise<{ readonly server: string }>;
}

/** More servers than one program speaks to; whoever was not spoken to for longest is read from the store again. */
const maxAccounts = 1_000;

/** Authorizes by OAuth 2.1, as each server says it wants it: finds its authorization server, registers, signs in, renews. */
export function oauth(options: OAuthOptions = {}): OAuth {
  const { store = memoryStore(), account = "" } = options;
  if (options.redirect && options.grant) {
    throw new PortolanError("invalid-argument", "oauth: expected a redirect or a grant, got both");
  }
  const vault = new Vault(store, account, options.client?.clientId ?? options.grant?.clientId ?? "");
  const accounts = new Map<string, Account>();

  const accountOf = (server: URL): Account => {
    const { href } = server;
    const found =
      accounts.get(href) ?? new Account(server, vault, createSafeFetch(addressPolicy(server, options)), options);
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
        throw new AuthFailure("finish: no login waits for this address: it was finished before, or took too long");
      }
      await accountOf(new URL(pending.server)).finish(pending, url);
      return { server: pending.server };
    },
  };
}

/** As links name their servers: without a fragment. */
function toUrl(address: string | URL): URL {
  if (!URL.canParse(address)) {
    throw new PortolanError("invalid-argument", `oauth: expected an address, got ${nameOf(address)}`);
  }
  const url = new URL(address);
  url.hash = "";
  return url;
}

/** Something that happened on the way to a token; nothing of it is secret. */
export interface OAuthEvent {
  readonly kind: "registered" | "visiting" | "signed-in" | "granted" | "renewed" | "expired" | "signed-out";
  readonly server: string;
  readonly issuer: string;
  readonly scopes?: readonly string[];
}

export interface OAuthOptions extends RegistrationOptions {
  /** How people get to the sign-in page and back: `loopback()`, `paste()` or `deferred(address)`; nobody signs in without. */
  readonly redirect?: Redirect | DeferredRedirect;
  /** How this program gets tokens in its own name instead: `clientCredentials`, `enterpriseManaged`, `workloadIdentity`. */
  readonly grant?: MachineGrant;
  /** Where tokens and registrations are kept; in memory unless said. */
  readonly store?: CredentialStore;
  /** Whose tokens these are, for a store that holds those of several people. */
  readonly account?: string;
  /** Asked for besides what servers say they need. */
  readonly scopes?: readonly string[];
  /** Whether tokens are bound to a key of this program: where a server insists on it unless said. */
  readonly dpop?: boolean;
  /** Whether to ask for a token that can be renewed while nobody is there, where that must be asked for; true unless said. */
  readonly offline?: boolean;
  /** What may be fetched that servers name; public https addresses, and the server's own host, unless said. */
  readonly policy?: FetchPolicy;
  /** Issuers that are known to support PKCE although their metadata does not say so. */
  readonly pkceAssumedFor?: readonly string[];
  /** Chooses among the authorization servers of one server; one that was used before, else the first, unless given. */
  readonly chooseIssuer?: (issuers: readonly string[], server: URL) => string;
  /** How long a person may take to sign in; 10 min unless said. */
  readonly loginMs?: number;
  readonly onEvent?: (event: OAuthEvent) => void;
  readonly now?: () => number;
}
