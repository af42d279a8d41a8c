import { PortolanError } from "../../errors.ts";
import { isLoopbackHost } from "../../net/check-address.ts";

/** How a person gets to an authorization server and back, while the program waits. */
export interface Redirect {
  /** Makes ready for one login; `registered` is where the client has said it is found, to be used again if it can be. */
  begin(registered?: string): Promise<RedirectAttempt>;
}

/** One login on its way. */
export interface RedirectAttempt {
  /** Where the authorization server sends the person back to. */
  readonly redirectUri: string;
  /** Sends the person to `url`, which was checked; resolves to the address they came back with, whatever it says. */
  visit(url: URL, signal: AbortSignal): Promise<URL>;
  /** Releases what was made ready, however the login ended. */
  close(): Promise<void>;
}

/** For programs that cannot wait for the person: a web back end, which the authorization server calls by itself. */
export interface DeferredRedirect {
  readonly redirectUri: string;
  readonly isDeferred: true;
}

/** Ends what needs a login with a LoginRequired, which names the address to send the person to; `finish` goes on. */
export function deferred(redirectUri: string): DeferredRedirect {
  return { redirectUri, isDeferred: true };
}

/** Refuses an address that no person may be sent to: whatever is not https, or http on this machine. */
export function checkVisitable(url: URL): void {
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))) return;
  const text = `A person is sent to https only, or http on this machine; got a ${url.protocol} address`;
  throw new PortolanError("address-refused", text);
}
