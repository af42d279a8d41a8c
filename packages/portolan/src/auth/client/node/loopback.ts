import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { nameOf, PortolanError } from "../../../errors.ts";
import type { LoopbackOptions } from "../loopback.ts";
import { checkVisitable, type RedirectAttempt } from "../redirect.ts";
import { openBrowser, showAddress } from "./browser.ts";

const defaultTimeoutMs = 600_000;
const longestTimerMs = 2 ** 31 - 1;
/** How often a port is sought that is free on both loopback addresses. */
const maxTries = 10;

/** Listens for the end of one login. */
export async function beginLoopback(options: LoopbackOptions, registered?: string): Promise<RedirectAttempt> {
  const { host, path, ports } = choosePlace(options, registered);
  let attempt: LoopbackAttempt | undefined;
  const listener: RequestListener = (request, response) => {
    if (attempt) attempt.answer(request, response);
    else sendPage(response, 404);
  };
  const { servers, port } = await listenOnFirst(ports, host === "localhost" ? ["127.0.0.1", "::1"] : [host], listener);
  attempt = new LoopbackAttempt(options, new URL(`http://${host}:${port}${path}`), servers);
  return attempt;
}

interface Place {
  readonly host: "127.0.0.1" | "localhost";
  readonly path: string;
  /** To be tried in this order; 0 is one that is free. */
  readonly ports: readonly number[];
}

function choosePlace({ host, port, path }: LoopbackOptions, registered: string | undefined): Place {
  if (path !== undefined && new URL(path, "http://localhost").pathname !== path) {
    throw new PortolanError("invalid-argument", `path: expected one such as "/callback", got ${nameOf(path)}`);
  }
  const ports = port === undefined ? Array.from({ length: maxTries }, () => 0) : [port];
  const known = parseRegistered(registered);
  const isSame = <T>(wanted: T | undefined, had: T) => wanted === undefined || wanted === had;
  if (known && isSame(host, known.host) && isSame(port, known.port) && isSame(path, known.path)) {
    // When its port is taken the path still counts: authorization servers let a port of this machine differ.
    return { host: known.host, path: known.path, ports: [known.port, ...ports] };
  }
  const random = `/callback/${randomBytes(16).toString("base64url")}`;
  return { host: host ?? "127.0.0.1", path: path ?? random, ports };
}

/** The parts of an address that `loopback` could have listened on. */
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

  constructor(options: LoopbackOptions, place: URL, servers: readonly Server[]) {
    this.redirectUri = place.href;
    this.#options = options;
    this.#place = place;
    this.#servers = servers;
    this.#back = new Promise((resolve, reject) => {
      this.#cameBack = resolve;
      this.#gaveUp = reject;
    });
    // It may fail before anybody has asked.
    this.#back.catch(() => {});
  }

  async visit(url: URL, signal: AbortSignal): Promise<URL> {
    checkVisitable(url);
    signal.throwIfAborted();
    const { timeoutMs = defaultTimeoutMs } = this.#options;
    const tooLate = new PortolanError("timeout", `Nobody came back from the browser within ${timeoutMs} ms`);
    const timer = setTimeout(() => this.#gaveUp(tooLate), Math.min(timeoutMs, longestTimerMs));
    const leave = () => this.#gaveUp(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      // A browser that takes its time to open does not hold up whoever comes back.
      return await Promise.race([this.#back, this.#send(url).then(() => this.#back)]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  async close(): Promise<void> {
    this.#gaveUp(new PortolanError("cancelled", "The login was given up"));
    await Promise.all(this.#servers.map(stop));
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const [path, query = ""] = split(request.url ?? "");
    // A page of elsewhere whose name was made to lead here has that name in its Host.
    if (request.headers.host !== this.#place.host) sendPage(response, 403);
    else if (path !== this.#place.pathname) sendPage(response, 404);
    else if (request.method !== "GET") sendPage(response, 405);
    else if (this.#isOver) sendPage(response, 410);
    else if (!isCallback(query)) sendPage(response, 400);
    else {
      this.#isOver = true;
      // Once the page is on its way, for the program may end as soon as it has what it wants.
      response.on("close", () => this.#cameBack(new URL(`${this.redirectUri}?${query}`)));
      sendPage(response, 200);
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

function isCallback(query: string): boolean {
  const parameters = new URLSearchParams(query);
  return ["code", "state", "error"].some((name) => parameters.has(name));
}

interface Listening {
  readonly servers: readonly Server[];
  readonly port: number;
}

async function listenOnFirst(
  ports: readonly number[],
  addresses: string[],
  listener: RequestListener,
): Promise<Listening> {
  let reason: NodeJS.ErrnoException | undefined;
  for (const port of ports) {
    try {
      return await listenOn(addresses, port, listener);
    } catch (error) {
      reason = error as NodeJS.ErrnoException;
      if (reason.code !== "EADDRINUSE") break;
    }
  }
  const text = `loopback: nothing can listen on port ${ports.at(-1)} of this machine: ${reason?.message}`;
  throw new PortolanError("invalid-argument", `${text}; choose another, or none for one that is free`, {
    cause: reason,
  });
}

/** One server for each address, all on the same port: on one that is left out somebody else could wait. */
async function listenOn(addresses: string[], wanted: number, listener: RequestListener): Promise<Listening> {
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

/** Makes the server listen; false when this machine has no IPv6, so that nobody can be found there. */
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
