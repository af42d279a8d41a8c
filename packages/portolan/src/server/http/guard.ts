import { nameOf, PortolanError } from "../../errors.ts";
import { checkMessage, type Message, type Unreadable } from "../../jsonrpc/message.ts";
import type { BodyProblem, HttpHeaders, HttpRequest } from "./adapter.ts";
import { defaultBodyBytes, defaultBodyMs, maxAcceptedTypes, minBodyBytesPerSecond } from "./limits.ts";
import { accessControlOf, type HttpLimits, type ServeHttpOptions } from "./options.ts";

/** A refusal of a request because of its headers. */
export interface Denial {
  readonly status: 403 | 415;
  readonly why: string;
  readonly headers?: HttpHeaders;
}

/** Protects a server from foreign web pages and DNS rebinding. */
export interface Guard {
  /** Returns why a request is refused; undefined if it may pass. Call it first, before the body is read. */
  check(request: HttpRequest): Denial | undefined;
  /** Returns the headers that let a page of an allowed origin read the response; none for other origins. */
  corsHeaders(request: HttpRequest): HttpHeaders;
  /** Returns whether this is the CORS preflight request of an allowed origin. */
  isPreflight(request: HttpRequest): boolean;
}

export function createGuard(options: ServeHttpOptions): Guard {
  const hosts = options.allowedHosts && new Set(options.allowedHosts.map(toHostEntry));
  const origins = new Set((options.allowedOrigins ?? []).map(toOriginEntry));
  const checksHost = hosts !== undefined || accessControlOf(options) === undefined;
  // Nearly all requests have the same Host header.
  let lastHost: string | undefined;

  function isHostAllowed(value: string | undefined): boolean {
    if (!checksHost || (value !== undefined && value === lastHost)) return true;
    const host = parseHost(value);
    if (host === undefined) return false;
    if (!(hosts ? hosts.has(withoutDefaultPort(host)) : loopbackNames.includes(host.name))) return false;
    lastHost = value;
    return true;
  }

  function isListed(origin: string): boolean {
    if (origins.size === 0) return false;
    return origins.has(parseOrigin(origin) ?? origin);
  }

  /** Returns whether a page of this machine sends the request to its own host and port. */
  function isOwnPage(origin: string, request: HttpRequest): boolean {
    const host = parseHost(request.header("host"));
    if (host === undefined || !loopbackNames.includes(host.name)) return false;
    const parsed = parseOrigin(origin);
    return parsed === `http://${withoutPort(host, "80")}` || parsed === `https://${withoutPort(host, "443")}`;
  }

  return {
    check(request) {
      const host = request.header("host");
      if (!isHostAllowed(host)) {
        return { status: 403, why: `Host ${nameOf(host)} is not allowed by this server (allowedHosts)` };
      }
      const origin = request.header("origin");
      if (origin !== undefined && !isListed(origin) && !isOwnPage(origin, request)) {
        return { status: 403, why: `Origin ${nameOf(origin)} is not allowed by this server (allowedOrigins)` };
      }
      // A cross-site request without an Origin header comes from a web page too.
      if (origin === undefined && request.header("sec-fetch-site")?.toLowerCase() === "cross-site") {
        return { status: 403, why: "Sec-Fetch-Site is cross-site: expected an allowed Origin" };
      }
      return checkContent(request);
    },

    corsHeaders(request) {
      const origin = request.header("origin");
      if (origin === undefined || !isListed(origin)) return noHeaders;
      return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": exposed,
        vary: "Origin",
      };
    },

    isPreflight(request) {
      if (request.method !== "OPTIONS" || request.header("access-control-request-method") === undefined) return false;
      const origin = request.header("origin");
      return origin !== undefined && isListed(origin);
    },
  };
}

const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const exposed = "Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version";
const noHeaders: HttpHeaders = {};

function checkContent(request: HttpRequest): Denial | undefined {
  const encoding = request.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    const why = `Content-Encoding ${nameOf(encoding)} is not supported: send the body without encoding`;
    return { status: 415, why, headers: { "accept-encoding": "identity" } };
  }
  if (request.method !== "POST") return undefined;
  const type = request.header("content-type");
  if (type === "application/json" || essenceOf(type) === "application/json") return undefined;
  return { status: 415, why: `Content-Type: expected application/json, got ${nameOf(type)}` };
}

function essenceOf(type: string | undefined): string | undefined {
  return type?.split(";", 1)[0]?.trim().toLowerCase();
}

interface Host {
  /** In lower case. */
  readonly name: string;
  readonly port: string | undefined;
}

// Not a URL parser: it would accept values that a browser never sends, such as a path or a user.
function parseHost(value: string | undefined): Host | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/.exec(value?.toLowerCase() ?? "");
  const name = match?.[1];
  return name === undefined ? undefined : { name, port: match?.[2] };
}

/** Returns scheme, host and port of the origin of a web page; undefined for other origins. */
function parseOrigin(value: string): string | undefined {
  const at = value.indexOf("://");
  const scheme = value.slice(0, Math.max(at, 0)).toLowerCase();
  if (scheme !== "http" && scheme !== "https") return undefined;
  const host = parseHost(value.slice(at + 3));
  return host && `${scheme}://${withoutPort(host, scheme === "http" ? "80" : "443")}`;
}

function withoutPort({ name, port }: Host, standard: string): string {
  return port === undefined || port === standard ? name : `${name}:${port}`;
}

function withoutDefaultPort(host: Host): string {
  return host.port === "443" ? host.name : withoutPort(host, "80");
}

function toHostEntry(entry: string): string {
  const host = parseHost(entry);
  if (host) return withoutDefaultPort(host);
  throw invalidEntry("allowedHosts", 'a host such as "mcp.example.com" or "localhost:3000"', entry);
}

function toOriginEntry(entry: string): string {
  const isWeb = /^https?:/i.test(entry);
  const origin = isWeb && URL.canParse(entry) ? new URL(entry) : undefined;
  if (origin && origin.href === `${origin.origin}/` && parseOrigin(origin.origin)) return origin.origin;
  if (!isWeb && (entry === "null" || /^[a-z][a-z0-9+.-]*:\/\/./i.test(entry))) return entry;
  throw invalidEntry("allowedOrigins", 'an origin such as "https://app.example.com"', entry);
}

function invalidEntry(option: string, expected: string, entry: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${option}: expected ${expected}, got ${nameOf(entry)}`);
}

/** The response types that a client accepts. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const everything: Accepted = { json: true, events: true };
const json = ["application/json", "application/*", "*/*"];
const events = ["text/event-stream", "text/*", "*/*"];

/** Parses an Accept header. A client that names no types accepts all. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === "") return everything;
  // The header of nearly every client.
  if (header === "application/json, text/event-stream") return everything;
  const weights = new Map<string, boolean>();
  for (const part of header.split(",", maxAcceptedTypes)) {
    const [type = "", ...parameters] = part.split(";");
    const weight = parameters.map((parameter) => parameter.trim().toLowerCase()).find((text) => text.startsWith("q="));
    weights.set(type.trim().toLowerCase(), weight === undefined || Number(weight.slice(2)) > 0);
  }
  return { json: isAccepted(json, weights), events: isAccepted(events, weights) };
}

/** The most specific entry decides. */
function isAccepted(types: readonly string[], weights: ReadonlyMap<string, boolean>): boolean {
  for (const type of types) {
    const accepted = weights.get(type);
    if (accepted !== undefined) return accepted;
  }
  return false;
}

/** The largest body that is read, and the time in which it has to arrive. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

export function bodyLimits(limits: HttpLimits): BodyLimits {
  return { bytes: limits.bodyBytes ?? defaultBodyBytes, ms: limits.bodyMs ?? defaultBodyMs };
}

export function tooLarge(limits: BodyLimits): BodyProblem {
  return { status: 413, why: `The body is too large: at most ${limits.bytes} bytes are read` };
}

export function tooSlow(limits: BodyLimits): BodyProblem {
  return { status: 408, why: `The body is too slow: it has to arrive within ${limits.ms} ms` };
}

export function incomplete(): BodyProblem {
  return { status: 400, why: "The connection was closed before the whole body arrived" };
}

export function alreadyRead(): BodyProblem {
  return { status: 400, why: "The body was read before; expected it as `body` of the request" };
}

export function isTooSlow(bytes: number, elapsedMs: number, limits: BodyLimits): boolean {
  return elapsedMs > limits.ms && bytes * 1000 < minBodyBytesPerSecond * elapsedMs;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns the text of a whole body, without a byte order mark. */
export function decodeBody(bytes: Uint8Array): string | BodyProblem {
  try {
    return decoder.decode(bytes);
  } catch {
    return { status: 400, why: "The body is not valid UTF-8" };
  }
}

/** Parses a body with one message, as nearly every body is. Returns undefined for any other body; `readBody` reads those. */
export function readMessage(body: string): Message | Unreadable | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {}
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return checkMessage(value) ?? (value as Message);
}

/** Returns whether a body is not a message: every message has a `jsonrpc` member. */
export function isUnreadable(read: Message | Message[] | Unreadable): read is Unreadable {
  return !Array.isArray(read) && !("jsonrpc" in read);
}

/** Returns whether it is safe to listen on an address: other machines may reach only a server that authenticates. */
export function isSafeBinding(host: string, options: ServeHttpOptions): boolean {
  return accessControlOf(options) !== undefined || options.dangerouslyAllowUnauthenticated === true || isLoopback(host);
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return (
    name === "localhost" ||
    name === "::1" ||
    name === "[::1]" ||
    /^(::ffff:)?127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$/.test(name)
  );
}
