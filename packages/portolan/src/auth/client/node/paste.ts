import { randomBytes, randomInt } from "node:crypto";
import { createInterface } from "node:readline";
import { nameOf, PortolanError } from "../../../errors.ts";
import { maxPasteQuestions } from "../limits.ts";
import type { PasteOptions } from "../paste.ts";
import { checkBrowserUrl, type RedirectAttempt } from "../redirect.ts";
import { showAddress } from "./browser.ts";

const question = "After you sign in, the browser shows a page that cannot be opened. Paste its whole URL here: ";
const repeated = "That is not the URL that the browser was sent back to. Paste the whole URL here: ";

/** Prepares one login whose callback URL is pasted. */
export async function beginPaste(options: PasteOptions, registered?: string): Promise<RedirectAttempt> {
  const redirectUri = options.redirectUri ?? loopbackOnly(registered) ?? randomRedirectUri();
  if (!URL.canParse(redirectUri)) {
    throw new PortolanError("invalid-argument", `redirectUri: expected a URL, got ${nameOf(redirectUri)}`);
  }
  return { redirectUri, visit: (url, signal) => visit(url, signal, redirectUri, options), close: async () => {} };
}

async function visit(url: URL, signal: AbortSignal, redirectUri: string, options: PasteOptions): Promise<URL> {
  checkBrowserUrl(url);
  signal.throwIfAborted();
  const { show = showAddress } = options;
  const prompter = options.ask ? { ask: options.ask, close: () => {} } : createPrompter();
  try {
    show(new URL(url));
    for (let asked = 0; asked < maxPasteQuestions; asked += 1) {
      const text = await prompter.ask(asked === 0 ? question : repeated, signal);
      signal.throwIfAborted();
      const back = parsePasted(text, redirectUri);
      if (back) return back;
    }
  } finally {
    prompter.close();
  }
  // Without the pasted text, which may contain the code.
  throw new PortolanError(
    "answer-invalid",
    `Expected the URL that the browser was sent back to, got something else ${maxPasteQuestions} times; start the login again`,
  );
}

/** Returns the callback URL that a pasted text means: a whole URL, one without its scheme, or only the query. */
function parsePasted(text: string, redirectUri: string): URL | undefined {
  const bare = text
    .trim()
    .replace(/^["'`<]+|["'`>]+$/g, "")
    .trim();
  const place = new URL(redirectUri);
  const whole = bare.startsWith(place.host) ? `${place.protocol}//${bare}` : bare;
  const query = whole.includes("://") ? queryAt(whole, place) : whole.replace(/^[?#]/, "").replace(/#.*/, "");
  if (query === undefined || /\s/.test(query)) return undefined;
  const parameters = new URLSearchParams(query);
  if (!parameters.has("code") && !parameters.has("error")) return undefined;
  place.search = query;
  return place;
}

/** Only the redirect URI counts: the sign-in URL has a state parameter, too. */
function queryAt(text: string, { host, pathname }: URL): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.host === host && url.pathname === pathname ? url.search.slice(1) : undefined;
}

interface Prompter {
  ask(question: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** One reader for all questions: lines that arrive together would be lost with a reader per question. */
function createPrompter(): Prompter {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  const lines = reader[Symbol.asyncIterator]();
  return {
    async ask(question, signal) {
      const leave = () => reader.close();
      signal.addEventListener("abort", leave, { once: true });
      try {
        reader.setPrompt(question);
        reader.prompt();
        const { done, value } = await lines.next();
        signal.throwIfAborted();
        if (!done) return value;
        throw new PortolanError("cancelled", "The input ended before a URL was pasted");
      } finally {
        signal.removeEventListener("abort", leave);
      }
    },
    close: () => reader.close(),
  };
}

/** A registered redirect URI on this machine. Elsewhere a server may listen that does not expect the code. */
function loopbackOnly(registered: string | undefined): string | undefined {
  const url = registered !== undefined && URL.canParse(registered) ? new URL(registered) : undefined;
  return url?.protocol === "http:" && /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname) ? registered : undefined;
}

/** A random path on a port of the dynamic range, where no service is registered. */
function randomRedirectUri(): string {
  return `http://127.0.0.1:${randomInt(49_152, 65_536)}/callback/${randomBytes(16).toString("base64url")}`;
}
