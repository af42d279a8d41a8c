import { type Context, type RequestContext, ToolError } from "portolan/server";
import type { Service } from "./service.ts";

/** The part of a handler's context that a request to a service needs: who asks, until when, and where to report a wait. */
export type CallerContext = Pick<RequestContext<unknown>, "principal" | "signal" | "status">;

/** Gives the access tokens for requests on behalf of a caller. */
export interface TokenSource {
  /** All callers use the same account. */
  readonly isShared: boolean;
  /**
   * Returns the token of a caller, or an empty text if requests need none. Throws a `ToolError` that says how to sign in if
   * there is none.
   */
  tokenFor(context: CallerContext): Promise<string>;
  /** Hears that the service refused a token. Resolves to true if `tokenFor` has another one now. */
  refused(context: CallerContext, token: string): Promise<boolean>;
  /** What the person does about a token that the service no longer accepts, as a sentence without its full stop. */
  readonly wayBack: string;
}

/** Uses one token that the person has set. */
export function fixedToken(service: Service, token: string): TokenSource {
  return {
    isShared: true,
    tokenFor: async () => token,
    refused: async () => false,
    wayBack: `Make a new token at ${service.tokenPage} and set ${service.tokenVariable} to it`,
  };
}

/** Refuses every request: there is no token. */
export function noToken(service: Service): TokenSource {
  const wayBack = `Make a token at ${service.tokenPage}, set ${service.tokenVariable} to it, and start the server again`;
  return {
    isShared: true,
    tokenFor: async () => {
      throw new ToolError(`Not signed in at ${service.name}. ${wayBack}`);
    },
    refused: async () => false,
    wayBack,
  };
}

/** The person for whom a call is made, and the program that makes it. */
export interface AccountHolder {
  readonly subject: string;
  readonly clientId: string;
}

/** The accounts of many people, such as those that an authority keeps. */
export interface PersonalAccounts {
  /** Returns the person's token. Rejects if there is none, so that the person has to sign in. */
  tokenOf(holder: AccountHolder): Promise<string>;
  /** Hears that the service no longer accepts a person's token. The person's sign-in should end. */
  ended?(holder: AccountHolder): Promise<void>;
}

/** Uses the token of the person who calls. Every request must come from a signed-in person. */
export function personalTokens(service: Service, accounts: PersonalAccounts): TokenSource {
  const { name } = service;
  const wayBack = `Sign in again: reconnect to this server, which opens the sign-in page of ${name}`;
  const tokenOf = (holder: AccountHolder) =>
    // The reason is for the operator; it may name the account.
    accounts.tokenOf(holder).catch(rethrowUnlessSignedOut);
  return {
    isShared: false,
    async tokenFor({ principal }) {
      const holder = holderOf(principal);
      const token = holder && (await tokenOf(holder));
      if (token === undefined) throw new ToolError(`Not signed in at ${name}. ${wayBack}`);
      return token;
    },
    async refused({ principal }, token) {
      const holder = holderOf(principal);
      if (!holder) return false;
      const present = await tokenOf(holder);
      if (present !== undefined && present !== token) return true;
      await accounts.ended?.(holder);
      return false;
    },
    wayBack,
  };
}

function holderOf({ subject, clientId }: Context["principal"]): AccountHolder | undefined {
  return subject === undefined ? undefined : { subject, clientId: clientId ?? "" };
}

/** Returns undefined for the error of a person who is not signed in. */
function rethrowUnlessSignedOut(reason: unknown): undefined {
  if ((reason as { readonly code?: unknown } | null)?.code !== "unauthorized") throw reason;
  return undefined;
}
