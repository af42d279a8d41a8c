import { retryAfterSeconds } from "./limits.ts";
import { errorPage } from "./pages/messages.ts";
import { UnknownSecretError } from "./rows.ts";
import type { Settings } from "./settings.ts";

/** The response to a request that failed: for people as a page, for clients as OAuth error. */
export interface FailureResponse {
  readonly status: 500 | 503;
  readonly headers: { readonly [name: string]: string };
  readonly page: string;
  readonly body: { readonly error: string; readonly error_description: string };
}

/** Codes of errors that an operator has to clear: the disk is full or cannot be written. */
const fullCodes: readonly string[] = ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "limit-reached"];

/** Returns the response to a failure: 503 if the request may succeed later, because the storage or a secret is missing now. */
export function toFailureResponse({ rows, options }: Settings, error: unknown): FailureResponse {
  const isUnknownSecret = error instanceof UnknownSecretError;
  const isFull = fullCodes.includes(String((error as { code?: unknown } | null)?.code));
  const description = isUnknownSecret
    ? "the server is being reconfigured and cannot read this yet"
    : isFull
      ? "the server cannot store anything now"
      : rows.isStorageFailure(error)
        ? "the server cannot use its storage now"
        : undefined;
  const what = isUnknownSecret
    ? "This server is being reconfigured and cannot go on with this sign-in yet. Go back to the app and try again in a minute."
    : "The server failed. Try again later.";
  const page = errorPage(options.name, what);
  if (description === undefined) {
    const body = { error: "server_error", error_description: "the server failed" };
    return { status: 500, headers: {}, page, body };
  }
  const headers = { "retry-after": String(retryAfterSeconds) };
  return { status: 503, headers, page, body: { error: "temporarily_unavailable", error_description: description } };
}
