import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";

const style = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 1.125rem/1.5 system-ui, sans-serif;
  background: light-dark(#f6f7f9, #16181d); color: light-dark(#1c2026, #e8eaee); }
main { max-width: 26rem; margin: 1rem; padding: 2.5rem; border-radius: 1rem; text-align: center;
  background: light-dark(#fff, #20242b); box-shadow: 0 .5rem 2rem #0002; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0; opacity: .8; text-wrap: balance; }
`;

/** Nothing runs, loads, is framed or sent: not even what a mistake would let into the page. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join("; ");

/** The statuses that have a page. */
export type PageStatus = 200 | 400 | 403 | 404 | 405 | 410;

/** All that is ever answered: nothing of a request is in it. */
const pages: { readonly [status in PageStatus]: string } = {
  200: toPage("Sign-in received", "You can close this window and return to the application."),
  400: toPage("Nothing received", "This address is for the end of a sign-in. Begin it in the application."),
  403: toPage("Not for this address", "This page is reached by one address only."),
  404: toPage("Nothing here", "This page is reached by one address only."),
  405: toPage("Nothing here", "This page can only be read."),
  410: toPage("Already received", "The sign-in was received before. You can close this window."),
};

/** Answers with a page that never changes. */
export function sendPage(response: ServerResponse, status: PageStatus): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(pages[status]);
}

function toPage(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${style}</style></head>
<body><main><h1>${title}</h1><p>${text}</p></main></body>
</html>
`;
}
