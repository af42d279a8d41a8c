import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { apiVersion, sessionHeader, type Verb } from "../api.ts";
import type { Assets } from "./assets.ts";
import type { EventHub } from "./events.ts";
import { ApiRefusal, toReply } from "./failure.ts";
import { maxRequestsAtOnce, maxRequestsPerSecond } from "./limits.ts";
import type { Replies } from "./replies.ts";
import { proveSecret, type Sessions } from "./sessions.ts";
import { checkTakes, type VerbRow } from "./verbs.ts";

/** The parts of a console that requests reach. */
export interface Site {
  readonly boot: string;
  readonly secret: string;
  readonly sessions: Sessions;
  readonly replies: Replies;
  readonly events: EventHub;
  readonly assets: Assets;
  readonly verbs: ReadonlyMap<string, VerbRow<Verb>>;
  readonly onError: (error: unknown) => void;
  /** The address of the console; empty until it listens. */
  origin: string;
  isClosing: boolean;
}

/** Returns the listener of the console's only port for pages. */
export function createListener(site: Site): RequestListener {
  // Programs without a session have a rate of their own, so that they cannot use up that of the person.
  const rates = { pages: createRate(), strangers: createRate() };
  return (request, response) => {
    response.on("error", () => {});
    serve(site, rates, request, response).catch((thrown) => {
      const { status, body } = toReply(thrown, site.onError);
      if (response.headersSent) response.destroy();
      else send(response, status, JSON.stringify(body), status === 429 ? { "retry-after": "1" } : {});
    });
  };
}

async function serve(site: Site, rates: Rates, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "", headers } = request;
  // Another name for this machine would be another site's (DNS rebinding).
  if (`http://${headers.host}` !== site.origin) {
    throw new ApiRefusal("wrong-host", "The console answers only under its own address.");
  }
  const path = url.split("?", 1)[0] ?? "";
  if (!path.startsWith("/api/")) {
    if (method !== "GET" && method !== "HEAD") throw wrongMethod("GET", response);
    return site.assets.serve(path, response);
  }
  if (site.isClosing) throw new ApiRefusal("closing", "The console is closing.");
  const verb = path.slice("/api/".length);
  if (verb === "alive") return prove(site, request, response);
  checkSender(site, request);
  if (verb === "events") {
    if (method !== "GET") throw wrongMethod("GET", response);
    site.sessions.check(headerOf(request, sessionHeader));
    return follow(site, request, response);
  }
  if (method !== "POST") throw wrongMethod("POST", response);
  const isHello = verb === "hello";
  // A session comes first, so that nobody else learns which verbs there are.
  if (!isHello) site.sessions.check(headerOf(request, sessionHeader));
  const rate = isHello ? rates.strangers : rates.pages;
  if (!rate.begin()) throw new ApiRefusal("too-many", "Too many requests at once. Send fewer, a little later.");
  try {
    const reply = await perform(site, verb, request);
    send(response, 200, reply);
  } finally {
    rate.end();
  }
}

/** Refuses everything that a page of another origin can send. */
function checkSender({ origin }: Site, request: IncomingMessage): void {
  const isGet = request.method === "GET";
  const from = request.headers.origin;
  if (headerOf(request, "Sec-Fetch-Site") !== "same-origin" || (isGet ? (from ?? origin) : from) !== origin) {
    throw new ApiRefusal("wrong-origin", "Only pages of the console may send this.");
  }
  const version = headerOf(request, "Portolan-Api");
  if (version !== String(apiVersion)) {
    throw new ApiRefusal("wrong-version", `The header Portolan-Api must be ${apiVersion}.`, {
      next: "Reload the page, which may come from another version.",
    });
  }
}

async function perform(site: Site, verb: string, request: IncomingMessage): Promise<string> {
  const row = site.verbs.get(verb);
  if (!row) throw new ApiRefusal("not-found", "There is no such verb.");
  const type = headerOf(request, "Content-Type") ?? "";
  if (!/^application\/json(;\s*charset=utf-8)?$/i.test(type)) {
    throw new ApiRefusal("wrong-type", "Expected a body of type application/json.");
  }
  const text = await readBody(request, row.maxBytes);
  let takes: unknown;
  try {
    takes = JSON.parse(text);
  } catch {
    throw new ApiRefusal("bad-request", "The body is not JSON.");
  }
  checkTakes(row, takes);
  const work = async () => JSON.stringify(await row.run(takes as never));
  if (!row.changes) return work();
  return site.replies.once((takes as { request: string }).request, `${verb} ${text}`, work);
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = () => new ApiRefusal("too-large", `Expected a body of at most ${maxBytes} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ApiRefusal("bad-request", "The body is not UTF-8.");
  }
}

function follow({ events }: Site, request: IncomingMessage, response: ServerResponse): void {
  if (events.isFull) throw new ApiRefusal("too-many", "Too many pages read the events of this console.");
  response.writeHead(200, { ...plainHeaders, "content-type": "text/event-stream", "x-accel-buffering": "no" });
  response.flushHeaders();
  request.socket.setNoDelay(true);
  request.socket.setTimeout(0);
  events.follow(response, headerOf(request, "Last-Event-ID"));
}

/** Shows to another process of this user that this is the console whose secret it has read. */
function prove({ boot, secret }: Site, request: IncomingMessage, response: ServerResponse): void {
  const challenge = headerOf(request, "Portolan-Challenge") ?? "";
  if (request.method !== "GET" || !/^[\w-]{16,64}$/.test(challenge)) {
    throw new ApiRefusal("bad-request", "Expected a challenge.");
  }
  send(response, 200, JSON.stringify({ boot, proof: proveSecret(secret, challenge) }));
}

/** Returns a header that was sent once. */
function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : undefined;
}

function wrongMethod(allowed: string, response: ServerResponse): ApiRefusal {
  response.setHeader("allow", allowed);
  return new ApiRefusal("wrong-method", `Expected ${allowed}.`);
}

/** Headers of everything that is not part of the page. */
const plainHeaders = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
};

function send(response: ServerResponse, status: number, body: string, more: { [name: string]: string } = {}): void {
  // A refused body is not read to its end.
  const close = status >= 400 ? { connection: "close" } : {};
  response.writeHead(status, { ...plainHeaders, "content-type": "application/json; charset=utf-8", ...close, ...more });
  response.end(body);
}

/** Counts requests. */
interface Rate {
  /** Returns false if one more would be too many. */
  begin(): boolean;
  end(): void;
}

interface Rates {
  /** Of requests with a session. */
  readonly pages: Rate;
  /** Of `hello`. */
  readonly strangers: Rate;
}

function createRate(): Rate {
  let running = 0;
  let left = maxRequestsPerSecond;
  let since = performance.now();
  return {
    begin() {
      const now = performance.now();
      left = Math.min(maxRequestsPerSecond, left + ((now - since) * maxRequestsPerSecond) / 1000);
      since = now;
      if (running >= maxRequestsAtOnce || left < 1) return false;
      running += 1;
      left -= 1;
      return true;
    },
    end() {
      running -= 1;
    },
  };
}
