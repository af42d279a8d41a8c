import { PortolanError } from "../../errors.ts";
import { isLoopbackHost } from "../../net/check-address.ts";

/** Brings a person to an authorization server and back, while the program waits. */
export interface Redirect {
  /** Prepares one login. `registered` is the redirect URI that the client is registered with; reuse it if possible. */
  begin(registered?: string): Promise<RedirectAttempt>;
}

/** One login under way. */
export interface RedirectAttempt {
  /** The URL that the authorization server sends the person back to. */
  readonly redirectUri: string;
  /** Sends the person to `url`, which was checked before. Resolves to the URL they came back to, unchecked. */
  visit(url: URL, signal: AbortSignal): Promise<URL>;
  /** Releases the resources of the login, however it ended. */
  close(): Promise<void>;
}

/** A redirect for programs that cannot wait for the person, such as a web back end with a callback route. */
export interface DeferredRedirect {
  readonly redirectUri: string;
  readonly isDeferred: true;
}

/**
 * Defers logins: a request that needs one rejects with `LoginRequired`, which has the URL to send the person to.
 * `finish` of the authorization completes it.
 */
export function deferred(redirectUri: string): DeferredRedirect {
  return { redirectUri, isDeferred: true };
}

/** Throws unless a browser may be sent to this URL: https, or http on this machine. */
export function checkBrowserUrl(url: URL): void {
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))) return;
  const text = `Sign-in pages must use https, or http on this machine; got a ${url.protocol} URL`;
  throw new PortolanError("address-refused", text);
}
