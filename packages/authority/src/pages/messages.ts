import type { ErrorOut, errors, KoaContextWithOIDC } from "oidc-provider";
import type { Settings } from "../settings.ts";
import { html, pageHeaders, toPage } from "./layout.ts";

/** A page that says what went wrong and what to do. */
export function problemPage(name: string, what: string, detail?: string): string {
  return toPage(
    "Something went wrong",
    name,
    html`<h1>This did not work</h1>
<p>${what}</p>
${detail !== undefined && html`<p class="soft">For whoever made the app: ${detail}</p>`}
<p class="soft">You can close this page.</p>`,
  );
}

const words: { readonly [error: string]: string } = {
  invalid_client: "The app that sent you here is not known to this server.",
  invalid_redirect_uri:
    "The app wants you to be sent to an address that it has not registered. That could be an attack.",
  invalid_client_metadata: "The app that sent you here describes itself in a way that cannot be accepted.",
};
const expired = "This sign-in has expired or was begun in another browser. Go back to the app and start again.";

/** Answers with a page, for errors that must not be told to the address in the request. */
export function renderProblem(
  { options }: Settings,
  context: KoaContextWithOIDC,
  out: ErrorOut,
  error: errors.OIDCProviderError | Error,
): void {
  const isServer = out.error === "server_error";
  const what =
    error.name === "SessionNotFound"
      ? expired
      : (words[out.error] ??
        (isServer ? "The server has failed. Try again later." : "The request was not understood."));
  context.type = "html";
  for (const [name, value] of Object.entries(pageHeaders)) context.set(name, value);
  const { error_description: description } = out;
  const detail = description === undefined ? out.error : `${out.error}: ${description}`;
  context.body = problemPage(options.name, what, isServer ? undefined : detail);
}

/** What is shown when a page is no longer good. */
export function expiredPage(name: string): string {
  return problemPage(name, expired);
}

/**
 * Goes on to an address by itself. A redirect would not do: browsers hold every redirect behind a form against its
 * `form-action`, up to where the app sends the person at last.
 */
export function leavingPage(authorityName: string, address: string): string {
  return toPage(
    "One moment",
    authorityName,
    html`<h1>One moment…</h1>
<p><a href="${address}">Go on</a> if nothing happens.</p>`,
    html`<meta http-equiv="refresh" content="0;url=${address}">
`,
  );
}
