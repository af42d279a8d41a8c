import type { FetchPolicy } from "../../net/policy.ts";
import type { MachineGrant } from "./grants.ts";
import type { DeferredRedirect, Redirect } from "./redirect.ts";
import type { RegistrationOptions } from "./registration.ts";
import type { CredentialStore } from "./store.ts";

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
