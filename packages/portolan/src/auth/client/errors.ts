import { AuthorizationResponseError, ResponseBodyError } from "oauth4webapi";
import { PortolanError, type PortolanErrorCode } from "../../errors.ts";

const maxShown = 200;

/** Why there is no token. Says neither a token nor a code nor a secret, and has no cause that would. */
export class AuthFailure extends PortolanError {
  /** The server does nothing for whom it does not know. */
  readonly neverRan = true;
  /** As OAuth names it, where an authorization server has said so. */
  readonly error: string | undefined;

  constructor(message: string, options: { readonly code?: PortolanErrorCode; readonly error?: string } = {}) {
    super(options.code ?? "unauthorized", message);
    this.name = "AuthFailure";
    this.error = options.error;
  }
}

/** A person has to sign in, at this address, before the request can be made. */
export class LoginRequired extends AuthFailure {
  /** Where to send the person; `finish` of the authorization takes the address that they come back with. */
  readonly authorizationUrl: string;
  /** Names this login: the `state` that the person comes back with. */
  readonly state: string;

  constructor(server: string, authorizationUrl: URL, state: string) {
    super(
      `${server} wants a person to sign in; send them to authorizationUrl, then give finish() where they came back`,
      {
        code: "login-required",
      },
    );
    this.name = "LoginRequired";
    this.authorizationUrl = authorizationUrl.href;
    this.state = state;
  }
}

/** What went wrong in a conversation with an authorization server, in words that give nothing away. */
export function toAuthFailure(what: string, reason: unknown, secrets: Iterable<string> = []): Error {
  if (reason instanceof ResponseBodyError || reason instanceof AuthorizationResponseError) {
    const { error, error_description: description } = reason;
    let said = description === undefined ? error : `${error}: ${description}`;
    // Some repeat what they refuse.
    for (const secret of secrets) said = said.replaceAll(secret, "…");
    return new AuthFailure(`${what}: ${plain(said)}`, { error });
  }
  if (reason instanceof PortolanError) return reason;
  return new AuthFailure(`${what}: ${plain(reason instanceof Error ? reason.message : String(reason))}`);
}

/** Text of somebody else on one line. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+/g, " ").trim();
  return line.length > maxShown ? `${line.slice(0, maxShown)}…` : line;
}
