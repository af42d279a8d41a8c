import { html } from "./html.ts";
import { toPage } from "./layout.ts";

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
