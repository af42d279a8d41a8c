import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { nameOf, PortolanError } from "../../../errors.ts";
import { defaultLoginMs, longestTimerMs, maxPortAttempts } from "../limits.ts";
import type { LoopbackOptions } from "../loopback.ts";
import { checkBrowserUrl, type RedirectAttempt } from "../redirect.ts";
import { openBrowser, showAddress } from "./browser.ts";

/** Starts to listen for the callback of one login. */
export async function beginLoopback(options: LoopbackOptions, registered?: string): Promise<RedirectAttempt> {
  const { host, path, ports } = chooseCallbackUrl(options, registered);
  let attempt: LoopbackAttempt | undefined;
  const listener: RequestListener = (request, response) => {
    if (attempt) attempt.answer(request, response);
    else sendPage(response, 404);
  };
  const { servers, port } = await listenOnFirst(ports, host === "localhost" ? ["127.0.0.1", "::1"] : [host], listener);
  attempt = new LoopbackAttempt(options, new URL(`http://${host}:${port}${path}`), servers);
  return attempt;
}

interface CallbackUrl {
  readonly host: "127.0.0.1" | "localhost";
  readonly path: string;
  /** Tried in this order; 0 is any free port. */
  readonly ports: readonly number[];
}

function chooseCallbackUrl({ host, port, path }: LoopbackOptions, registered: string | undefined): CallbackUrl {
  if (path !== undefined && new URL(path, "http://localhost").pathname !== path) {
    throw new PortolanError("invalid-argument", `path: expected one such as "/callback", got ${nameOf(path)}`);
  }
  const ports = port === undefined ? Array.from({ length: maxPortAttempts }, () => 0) : [port];
  const known = parseRegistered(registered);
  const isSame = <T>(wanted: T | undefined, had: T) => wanted === undefined || wanted === had;
  if (known && isSame(host, known.host) && isSame(port, known.port) && isSame(path, known.path)) {
    // When its port is taken, the path is still kept: authorization servers accept any port on loopback.
    return { host: known.host, path: known.path, ports: [known.port, ...ports] };
  }
  const random = `/callback/${randomBytes(16).toString("base64url")}`;
  return { host: host ?? "127.0.0.1", path: path ?? random, ports };
}

/** Returns the parts of a redirect URI, if `loopback` could have listened on it. */
function parseRegistered(registered: string | undefined) {
  const url = registered !== undefined && URL.canParse(registered) ? new URL(registered) : undefined;
  const { protocol, hostname: host, port, pathname: path } = url ?? {};
  if (protocol !== "http:" || (host !== "127.0.0.1" && host !== "localhost") || !path) return undefined;
  return registered === `http://${host}:${port}${path}` ? ({ host, port: Number(port), path } as const) : undefined;
}

class LoopbackAttempt implements RedirectAttempt {
  readonly redirectUri: string;
  readonly #options: LoopbackOptions;
  readonly #place: URL;
  readonly #servers: readonly Server[];
  readonly #back: Promise<URL>;
  #cameBack: (url: URL) => void = () => {};
  #gaveUp: (reason: Error) => void = () => {};
  #isOver = false;
  /** The `state` of the login: null if it has none, undefined before the person was sent to its page. */
  #state: string | null | undefined;

  constructor(options: LoopbackOptions, place: URL, servers: readonly Server[]) {
    this.redirectUri = place.href;
    this.#options = options;
    this.#place = place;
    this.#servers = servers;
    this.#back = new Promise((resolve, reject) => {
      this.#cameBack = resolve;
      this.#gaveUp = reject;
    });
    // It may reject before `visit` is called.
    this.#back.catch(() => {});
  }

  async visit(url: URL, signal: AbortSignal): Promise<URL> {
    checkBrowserUrl(url);
    signal.throwIfAborted();
    this.#state = url.searchParams.get("state");
    const { timeoutMs = defaultLoginMs } = this.#options;
    const tooLate = new PortolanError("timeout", `The browser did not come back within ${timeoutMs} ms`);
    const timer = setTimeout(() => this.#gaveUp(tooLate), Math.min(timeoutMs, longestTimerMs));
    const leave = () => this.#gaveUp(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      // The callback may arrive while the command that opens the browser still runs.
      return await Promise.race([this.#back, this.#send(url).then(() => this.#back)]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  async close(): Promise<void> {
    this.#gaveUp(new PortolanError("cancelled", "The login was cancelled"));
    await Promise.all(this.#servers.map(stop));
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const [path, query = ""] = split(request.url ?? "");
    // DNS rebinding: the Host header of a foreign page contains that page's name.
    if (request.headers.host !== this.#place.host) sendPage(response, 403);
    else if (path !== this.#place.pathname) sendPage(response, 404);
    else if (request.method !== "GET") sendPage(response, 405);
    else if (this.#isOver) sendPage(response, 410);
    // Anyone on this machine can call this page: only the answer to this very login ends the wait.
    else if (!isCallback(query, this.#state)) sendPage(response, 400);
    else {
      this.#isOver = true;
      // After the page was sent, because the program may exit as soon as it has the callback.
      response.on("close", () => this.#cameBack(new URL(`${this.redirectUri}?${query}`)));
      sendPage(response, new URLSearchParams(query).has("error") ? "refused" : 200);
    }
  }

  async #send(url: URL): Promise<void> {
    const { open = openBrowser, show = showAddress } = this.#options;
    try {
      await open(new URL(url));
    } catch {
      show(new URL(url));
    }
  }
}

function split(target: string): [string, string?] {
  const at = target.indexOf("?");
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

function isCallback(query: string, state: string | null | undefined): boolean {
  const parameters = new URLSearchParams(query);
  if (parameters.get("state") !== state || parameters.getAll("state").length > 1) return false;
  return ["code", "state", "error"].some((name) => parameters.has(name));
}

interface ListeningServers {
  readonly servers: readonly Server[];
  readonly port: number;
}

async function listenOnFirst(
  ports: readonly number[],
  addresses: string[],
  listener: RequestListener,
): Promise<ListeningServers> {
  let reason: NodeJS.ErrnoException | undefined;
  for (const port of ports) {
    try {
      return await listenOn(addresses, port, listener);
    } catch (error) {
      reason = error as NodeJS.ErrnoException;
      if (reason.code !== "EADDRINUSE") break;
    }
  }
  const text = `loopback: cannot listen on port ${ports.at(-1)} of this machine: ${reason?.message}`;
  throw new PortolanError("invalid-argument", `${text}; choose another port, or none to use any free one`, {
    cause: reason,
  });
}

/** Listens on each address with the same port: another program could listen on one that is left out. */
async function listenOn(addresses: string[], wanted: number, listener: RequestListener): Promise<ListeningServers> {
  const servers: Server[] = [];
  let port = wanted;
  try {
    for (const address of addresses) {
      const server = createServer(listener);
      if (!(await start(server, address, port))) continue;
      servers.push(server);
      port = (server.address() as AddressInfo).port;
    }
    return { servers, port };
  } catch (error) {
    await Promise.all(servers.map(stop));
    throw error;
  }
}

/** Starts a server. Resolves to false if this machine has no IPv6, where nothing can connect either. */
function start(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (host === "::1" && (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT")) resolve(false);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => resolve(true));
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const style = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 1.125rem/1.5 system-ui, sans-serif;
  background: light-dark(#f6f7f9, #16181d); color: light-dark(#1c2026, #e8eaee); }
main { max-width: 26rem; margin: 1rem; padding: 2.5rem; border-radius: 1rem; text-align: center;
  background: light-dark(#fff, #20242b); box-shadow: 0 .5rem 2rem #0002; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0; opacity: .8; text-wrap: balance; }
`;

/** Allows nothing: no script, no other resource, no frame, no form. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join("; ");

/** Statuses that have a page. A sign-in that the authorization server refused has its own, with status 200. */
export type PageStatus = 200 | "refused" | 400 | 403 | 404 | 405 | 410;

/** All pages are constant: nothing of a request is shown. */
const pages: { readonly [status in PageStatus]: string } = {
  200: toPage("Sign-in received", "You can close this window and return to the application."),
  refused: toPage("Not signed in", "The sign-in was refused. You can close this window; the application says why."),
  400: toPage(
    "Nothing received",
    "This is not the answer to the sign-in that the application waits for. Start the sign-in in the application.",
  ),
  403: toPage("Wrong host", "This page is available under one address only."),
  404: toPage("Not found", "This page is available under one address only."),
  405: toPage("Not allowed", "This page can only be read."),
  410: toPage("Already received", "This sign-in is already complete. You can close this window."),
};

/** Sends one of the constant pages. */
export function sendPage(response: ServerResponse, status: PageStatus): void {
  response.writeHead(status === "refused" ? 200 : status, {
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
