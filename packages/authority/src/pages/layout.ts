import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #fff; --back: #f3f4f6; --line: #d0d7de;
  --go: #0b57d0; --go-ink: #fff; --warn: #fff4d6; --warn-ink: #6b4700; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --paper: #161b22; --back: #0d1117;
  --line: #30363d; --go: #8ab4f8; --go-ink: #0b1a33; --warn: #3a2d0b; --warn-ink: #f4d58d; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--back);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { width: 100%; max-width: 27rem; background: var(--paper); border: 1px solid var(--line); border-radius: 14px;
  padding: 1.75rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 1.25rem 0 .4rem; }
p { margin: 0 0 .8rem; }
main > :last-child, form > :last-child { margin-bottom: 0; }
.brand { color: var(--soft); font-size: .85rem; font-weight: 600; border-bottom: 1px solid var(--line);
  padding-bottom: .7rem; margin-bottom: 1.1rem; }
ul { margin: 0 0 1rem; padding-left: 1.2rem; }
li { margin: .2rem 0; }
dl { margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 10px; }
dl div { padding: .55rem .8rem; }
dl div + div { border-top: 1px solid var(--line); }
dt { color: var(--soft); font-size: .85rem; }
dd { margin: 0; }
label { display: block; font-weight: 600; margin: .9rem 0 .3rem; }
input { width: 100%; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line);
  border-radius: 8px; padding: .6rem .7rem; }
button { font: inherit; font-weight: 600; border-radius: 8px; padding: .65rem 1rem; cursor: pointer; width: 100%;
  border: 1px solid var(--line); background: transparent; color: inherit; }
button.go { background: var(--go); border-color: var(--go); color: var(--go-ink); }
button.link { width: auto; padding: 0; border: 0; font-weight: 400; text-decoration: underline; color: var(--go); }
:focus-visible { outline: 3px solid var(--go); outline-offset: 2px; }
.row { display: grid; grid-template-columns: 1fr 1fr; gap: .75rem; margin-top: 1.25rem; }
.alone { margin-top: 1.25rem; }
.soft { color: var(--soft); font-size: .9rem; }
.note { background: var(--warn); color: var(--warn-ink); border-radius: 10px; padding: .7rem .85rem; font-size: .92rem; }
.bad { color: var(--bad); font-weight: 600; }
a { color: var(--go); }
`;

const digest = createHash("sha256").update(style).digest("base64");

/** Headers of every page: no scripts, no other resources, no frames, no caching. */
export const pageHeaders: { readonly [name: string]: string } = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${digest}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** Builds a whole page under the name of the authority; `head` may contain a refresh. */
export function toPage(title: string, authorityName: string, body: Html, head?: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}<title>${title} – ${authorityName}</title>
<style>${{ html: style }}</style>
</head>
<body>
<main>
<p class="brand">${authorityName}</p>
${body}
</main>
</body>
</html>
`.html;
}

/** A fragment of HTML that is already escaped. */
export interface Html {
  readonly html: string;
}

type Part = string | Html | undefined | false | readonly Html[];

/** Template tag for HTML: inserted strings are escaped, `Html` fragments are not. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { html: strings.map((text, index) => text + toHtml(parts[index])).join("") };
}

function toHtml(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string") return toText(part);
  return "html" in part ? part.html : part.map((one) => one.html).join("");
}

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function toText(text: string): string {
  // Control and format characters could hide text or reverse it, so that a name looks like another one.
  return text.replace(/[\p{Cc}\p{Cf}]/gu, " ").replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
