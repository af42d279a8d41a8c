// The public part of the package: declarations that users get must not need those of the provider.
import type { Introspection, Issuer } from "portolan/auth/server";
import type { AuthorityListener } from "./listener.ts";
import type { AuthorityOptions } from "./options.ts";
import type { Person } from "./users.ts";

/** Selects grants: of a person, of a client, or of a person to a client. */
export interface GrantFilter {
  readonly subject?: string;
  readonly clientId?: string;
}

/** The accounts that people have connected at a service. */
export interface ServiceAccounts {
  /** Returns an access token of the person. Rejects with code `unauthorized` if the person has connected no account. */
  tokenOf(holder: Pick<Person, "subject">): Promise<string>;
  /** Forgets the account of a person whose token the service no longer accepts. */
  ended(holder: Pick<Person, "subject">): Promise<void>;
  /** The page where people connect their accounts. */
  readonly signInPage: {
    /** Its address has no secrets: it asks the browser who the person is. */
    readonly address: string;
    /** Resolves when the person has connected an account; at once if that is so already. */
    finished(holder: Pick<Person, "subject">, signal: AbortSignal): Promise<void>;
  };
}

/** An authorization server. */
export interface Authority {
  /** Serves all paths below the issuer, and its metadata at the root of its host. */
  readonly handle: AuthorityListener;
  /** For `issuers` of `protect`: how resource servers verify the tokens of this authority. */
  readonly protection: Issuer | Introspection;
  /**
   * Returns an access token of the upstream provider for a person who uses a client, so that a server can make calls on
   * their behalf. Rejects with code `unauthorized` when the person must sign in again.
   */
  upstreamToken(holder: { readonly subject: string; readonly clientId: string }): Promise<string>;
  /** Returns the accounts of people at one of the `services`. Throws for another name. */
  accountsAt(name: string): ServiceAccounts;
  /** Revokes grants. Refresh tokens and opaque access tokens end at once, JWTs when they expire. */
  revoke(filter: GrantFilter): Promise<void>;
  /** Refuses new requests. Resolves when the requests under way are answered. */
  close(): Promise<void>;
}

/** Creates an OAuth 2.1 authorization server for MCP servers that have none. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const { createAuthority: create } = await withoutRuntimeWarning(() => import("./authority.ts"));
  return create(options);
}

/**
 * Loads the provider without its warning on Node.js 20. We test it on that version, so the warning says nothing that an
 * operator or a user could act upon.
 */
async function withoutRuntimeWarning<T>(load: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = (...words) => {
    if (!/oidc-provider WARNING: Unsupported runtime/.test(String(words[0]))) warn.apply(console, words);
  };
  try {
    return await load();
  } finally {
    console.warn = warn;
  }
}
