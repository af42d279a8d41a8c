import type { ErrorOut, errors, KoaContextWithOIDC } from "oidc-provider";
import type { Settings } from "../settings.ts";
import { html, pageHeaders, toPage } from "./layout.ts";

/** Returns a page with an error and what to do. `detail` is for the developer of the app. */
export function errorPage(name: string, what: string, detail?: string): string {
  return toPage(
    "Something went wrong",
    name,
    html`<h1>This did not work</h1>
<p>${what}</p>
${detail !== undefined && html`<p class="soft">For the developer of the app: ${detail}</p>`}
<p class="soft">You can close this page.</p>`,
  );
}

const words: { readonly [error: string]: string } = {
  invalid_client: "The app that sent you here is not known to this server.",
  invalid_redirect_uri:
    "The app wants you to be sent to an address that it has not registered. That could be an attack.",
  invalid_client_metadata: "The app that sent you here has metadata that cannot be accepted.",
};
const expired = "This sign-in has expired, or was started in another browser. Go back to the app and start again.";

/** Renders an error as a page, where it must not be sent to the redirect URI of the request. */
export function renderError(
  { options }: Settings,
  context: KoaContextWithOIDC,
  out: ErrorOut,
  error: errors.OIDCProviderError | Error,
): void {
  const isServer = out.error === "server_error";
  const what =
    error.name === "SessionNotFound"
      ? expired
      : (words[out.error] ?? (isServer ? "The server failed. Try again later." : "The request is not valid."));
  context.type = "html";
  for (const [name, value] of Object.entries(pageHeaders)) context.set(name, value);
  const { error_description: description } = out;
  const detail = description === undefined ? out.error : `${out.error}: ${description}`;
  context.body = errorPage(options.name, what, isServer ? undefined : detail);
}

/** Returns the page for an expired or foreign interaction. */
export function expiredPage(name: string): string {
  return errorPage(name, expired);
}

/**
 * Returns a page that redirects by itself. An HTTP redirect would not work: browsers check every redirect after a form
 * against `form-action`, up to the URL of the app.
 */
export function redirectPage(authorityName: string, address: string): string {
  return toPage(
    "One moment",
    authorityName,
    html`<h1>One moment…</h1>
<p><a href="${address}">Go on</a> if nothing happens.</p>`,
    html`<meta http-equiv="refresh" content="0;url=${address}">
`,
  );
}
