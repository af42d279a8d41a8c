import { AuthorizationResponseError, ResponseBodyError } from "oauth4webapi";
import { PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { maxShownChars } from "./limits.ts";

/** The reason why there is no token. It contains no token, code or secret, and neither does its cause. */
export class AuthFailure extends PortolanError {
  /** The server did not run the request, because it refused the caller. */
  readonly neverRan = true;
  /** The OAuth error code, where the authorization server has sent one. */
  readonly error: string | undefined;
  /** The scopes that the server requires and the token lacks, where a sign-in could add them. */
  readonly scopes: readonly string[] | undefined;

  constructor(message: string, options: AuthFailureOptions = {}) {
    super(options.code ?? "unauthorized", message);
    this.name = "AuthFailure";
    this.error = options.error;
    this.scopes = options.scopes;
  }
}

interface AuthFailureOptions extends Partial<Pick<AuthFailure, "error" | "scopes">> {
  readonly code?: PortolanErrorCode;
}

/** A person must sign in at `authorizationUrl` before the request can be made. */
export class LoginRequired extends AuthFailure {
  /** The URL to send the person to; `finish` of the authorization takes the URL that they come back to. */
  readonly authorizationUrl: string;
  /** Identifies this login: the `state` parameter of the URL that the person comes back to. */
  readonly state: string;

  constructor(server: string, authorizationUrl: URL, state: string) {
    super(
      `${server} requires a person to sign in; send them to authorizationUrl, ` +
        "then pass the URL they come back to to finish()",
      { code: "login-required" },
    );
    this.name = "LoginRequired";
    this.authorizationUrl = authorizationUrl.href;
    this.state = state;
  }
}

/** Converts a failed exchange with an authorization server to an error without secrets. */
export function toAuthFailure(what: string, reason: unknown, secrets: Iterable<string> = []): Error {
  if (reason instanceof ResponseBodyError || reason instanceof AuthorizationResponseError) {
    const { error, error_description: description } = reason;
    let text = description === undefined ? error : `${error}: ${description}`;
    // Some authorization servers quote the secret that they refuse.
    for (const secret of secrets) text = text.replaceAll(secret, "…");
    return new AuthFailure(`${what}: ${oneLine(text)}`, { error });
  }
  if (reason instanceof PortolanError) return reason;
  return new AuthFailure(`${what}: ${oneLine(reason instanceof Error ? reason.message : String(reason))}`);
}

/** Returns another party's text as one line of limited length, without control characters. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+/g, " ").trim();
  return line.length > maxShownChars ? `${line.slice(0, maxShownChars)}…` : line;
}
