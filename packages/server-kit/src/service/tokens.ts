import { type Context, type RequestContext, ToolError } from "portolan/server";
import { signInWaitMs } from "./limits.ts";
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
  /** Lets the user sign in at the service, if that is needed and can be done in the middle of a call. */
  signIn(ctx: Context): Promise<void>;
  /** The sentence for a person whose token the service no longer accepts, without its full stop. */
  readonly wayBack: string;
}

/** Uses one token that the person has set. */
export function fixedToken(service: Service, token: string): TokenSource {
  return {
    isShared: true,
    tokenFor: async () => token,
    refused: async () => false,
    signIn: async () => {},
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
    signIn: async () => {},
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
  /** Lets people sign in at the service while a call waits. Default: they sign in before their first request. */
  readonly signInPage?: SignInPage;
}

/** A page where people sign in at a service. It identifies the person by the browser, never by the address. */
export interface SignInPage {
  /** An address without secrets, the same for all people. */
  readonly address: string;
  /** Resolves when the person is signed in at the service; at once if that is so already. */
  finished(holder: AccountHolder, signal: AbortSignal): Promise<void>;
}

/** Uses the token of the person who calls. Every request must come from a signed-in person. */
export function personalTokens(service: Service, accounts: PersonalAccounts): TokenSource {
  const { name } = service;
  const { signInPage: page } = accounts;
  const wayBack = page
    ? `Sign in at ${page.address}, then try again`
    : `Sign in again: reconnect to this server, which opens the sign-in page of ${name}`;
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
    async signIn(ctx) {
      const holder = holderOf(ctx.principal);
      // Without a page or a person the first request says what to do.
      if (!page || !holder || !ctx.mayAsk("elicitation.url")) return;
      // Remembered, so that a call that runs again after the question asks it again, and finds its answer.
      if (await ctx.once("is-signed-in", async () => (await tokenOf(holder)) !== undefined)) return;
      const { action } = await ctx.openUrl("sign-in", {
        message: `Sign in at ${name}, so that this server can use your account there`,
        url: page.address,
        ready: (signal) => finished(service, page, holder, signal),
      });
      if (action === "accept") return;
      throw new ToolError(`Not signed in at ${name}: the user did not open the page. Nothing was done. ${wayBack}`);
    },
    wayBack,
  };
}

/** Waits until the person is signed in. Throws a `ToolError` if that takes too long. */
async function finished(
  { name }: Service,
  page: SignInPage,
  holder: AccountHolder,
  signal: AbortSignal,
): Promise<void> {
  const late = AbortSignal.timeout(signInWaitMs);
  try {
    await page.finished(holder, AbortSignal.any([signal, late]));
  } catch (reason) {
    if (!late.aborted || signal.aborted) throw reason;
    throw new ToolError(`The sign-in at ${name} was not finished in time. Finish it, then try again`);
  }
}

function holderOf({ subject, clientId }: Context["principal"]): AccountHolder | undefined {
  return subject === undefined ? undefined : { subject, clientId: clientId ?? "" };
}

/** Returns undefined for the error of a person who is not signed in. */
function rethrowUnlessSignedOut(reason: unknown): undefined {
  if ((reason as { readonly code?: unknown } | null)?.code !== "unauthorized") throw reason;
  return undefined;
}
