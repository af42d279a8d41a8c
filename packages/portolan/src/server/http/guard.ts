import { nameOf, PortolanError } from "../../errors.ts";
import { readText } from "../../jsonrpc/framing.ts";
import { checkMessage, type Message, rpcCodes, type Unreadable } from "../../jsonrpc/message.ts";
import type { BodyProblem, HttpHeaders, HttpRequest } from "./adapter.ts";
import { type HttpLimits, protectionOf, type ServeHttpOptions } from "./options.ts";

/** Refuses a request for what its headers say. */
export interface Denial {
  readonly status: 403 | 415;
  readonly why: string;
  readonly headers?: HttpHeaders;
}

/** Keeps web pages that have no business here away from a server. */
export interface Guard {
  /** Why a request is refused, if it is: ask before anything else, and before its body is read. */
  check(request: HttpRequest): Denial | undefined;
  /** What lets a page of an allowed origin read an answer; nothing for anybody else. */
  corsHeaders(request: HttpRequest): HttpHeaders;
  /** Whether it is the browser of an allowed origin that asks beforehand. */
  isPreflight(request: HttpRequest): boolean;
}

const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const exposed = "Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version";
const nothing: HttpHeaders = {};

export function createGuard(options: ServeHttpOptions): Guard {
  const hosts = options.allowedHosts && new Set(options.allowedHosts.map(toHostEntry));
  const origins = new Set((options.allowedOrigins ?? []).map(toOriginEntry));
  const checksHost = hosts !== undefined || protectionOf(options) === undefined;
  // Nearly all requests of a server name it alike.
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

  /** A page that this machine serves under the very name the request was sent to. */
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
        return { status: 403, why: `Host ${nameOf(host)} is not one of allowedHosts of this server` };
      }
      const origin = request.header("origin");
      if (origin !== undefined && !isListed(origin) && !isOwnPage(origin, request)) {
        return { status: 403, why: `Origin ${nameOf(origin)} is not one of allowedOrigins of this server` };
      }
      // A request across sites that shows no origin comes from a page too.
      if (origin === undefined && request.header("sec-fetch-site")?.toLowerCase() === "cross-site") {
        return { status: 403, why: "Sec-Fetch-Site is cross-site, and no allowed Origin came with it" };
      }
      return checkContent(request);
    },

    corsHeaders(request) {
      const origin = request.header("origin");
      if (origin === undefined || !isListed(origin)) return nothing;
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

function checkContent(request: HttpRequest): Denial | undefined {
  const encoding = request.header("content-encoding");
  if (encoding !== undefined && encoding.trim().toLowerCase() !== "identity") {
    const why = `Content-Encoding ${nameOf(encoding)} is not read here; send the body as it is`;
    return { status: 415, why, headers: { "accept-encoding": "identity" } };
  }
  if (request.method !== "POST") return undefined;
  const type = request.header("content-type");
  if (type === "application/json" || essenceOf(type) === "application/json") return undefined;
  return { status: 415, why: `expected Content-Type application/json, got ${nameOf(type)}` };
}

function essenceOf(type: string | undefined): string | undefined {
  return type?.split(";", 1)[0]?.trim().toLowerCase();
}

interface Host {
  /** In small letters. */
  readonly name: string;
  readonly port: string | undefined;
}

// A URL parser would forgive what a browser never sends, such as a path or a user before the name.
function parseHost(value: string | undefined): Host | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/.exec(value?.toLowerCase() ?? "");
  const name = match?.[1];
  return name === undefined ? undefined : { name, port: match?.[2] };
}

/** Scheme, host and port of a web page's origin; nothing if it is of another kind. */
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
  throw mistake("allowedHosts", 'a host such as "mcp.example.com" or "localhost:3000"', entry);
}

function toOriginEntry(entry: string): string {
  const isWeb = /^https?:/i.test(entry);
  const origin = isWeb && URL.canParse(entry) ? new URL(entry) : undefined;
  if (origin && origin.href === `${origin.origin}/` && parseOrigin(origin.origin)) return origin.origin;
  if (!isWeb && (entry === "null" || /^[a-z][a-z0-9+.-]*:\/\/./i.test(entry))) return entry;
  throw mistake("allowedOrigins", 'an origin such as "https://app.example.com"', entry);
}

function mistake(option: string, expected: string, entry: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${option}: expected ${expected}, got ${nameOf(entry)}`);
}

/** Whether it is safe to listen there: others than this machine reach a server only if it knows who they are. */
export function isSafeBinding(host: string, options: ServeHttpOptions): boolean {
  return protectionOf(options) !== undefined || options.dangerouslyAllowUnauthenticated === true || isLoopback(host);
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return (
    name === "localhost" ||
    name === "::1" ||
    name === "[::1]" ||
    /^(::ffff:)?127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$/.test(name)
  );
}

/** What kinds of answer a client takes. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const maxTypes = 100;
const everything: Accepted = { json: true, events: true };
const json = ["application/json", "application/*", "*/*"];
const events = ["text/event-stream", "text/*", "*/*"];

/** Reads an Accept header; a client that names no types takes all. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === "") return everything;
  // The header of nearly every client.
  if (header === "application/json, text/event-stream") return everything;
  const weights = new Map<string, boolean>();
  for (const part of header.split(",", maxTypes)) {
    const [type = "", ...parameters] = part.split(";");
    const weight = parameters.map((parameter) => parameter.trim().toLowerCase()).find((text) => text.startsWith("q="));
    weights.set(type.trim().toLowerCase(), weight === undefined || Number(weight.slice(2)) > 0);
  }
  return { json: isTaken(json, weights), events: isTaken(events, weights) };
}

/** The most specific entry decides. */
function isTaken(types: readonly string[], weights: ReadonlyMap<string, boolean>): boolean {
  for (const type of types) {
    const taken = weights.get(type);
    if (taken !== undefined) return taken;
  }
  return false;
}

/** How much of a body is read, and how long it may take. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

/** A body that comes faster than this is not too slow, however long it takes. */
export const patientBytesPerSecond: number = 64 * 1024;

const decoder = new TextDecoder("utf-8", { fatal: true });

export function bodyLimits(limits: HttpLimits): BodyLimits {
  return { bytes: limits.bodyBytes ?? 4 * 1024 * 1024, ms: limits.bodyMs ?? 30_000 };
}

export function tooLarge(limits: BodyLimits): BodyProblem {
  return { status: 413, why: `The body is too large: expected at most ${limits.bytes} bytes` };
}

export function tooSlow(limits: BodyLimits): BodyProblem {
  return { status: 408, why: `The body is too slow: expected all of it within ${limits.ms} ms` };
}

export function cutOff(): BodyProblem {
  return { status: 400, why: "The body was cut off" };
}

export function takenAlready(): BodyProblem {
  return { status: 400, why: "The body was read before it came here; expected it in `body` of the request" };
}

export function isTooSlow(bytes: number, elapsedMs: number, limits: BodyLimits): boolean {
  return elapsedMs > limits.ms && bytes * 1000 < patientBytesPerSecond * elapsedMs;
}

/** The text of a whole body, without a byte order mark. */
export function decodeBody(bytes: Uint8Array): string | BodyProblem {
  try {
    return decoder.decode(bytes);
  } catch {
    return { status: 400, why: "The body is not valid UTF-8" };
  }
}

/** The messages of a body, or what is wrong with it. */
export function readBody(body: string): Message | Message[] | Unreadable {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {}
  // Nearly every body is one message; batches and what is wrong are looked at by who knows them.
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return readOddBody(body);
  }
  return checkMessage(value) ?? (value as Message);
}

/** Whether there is no message; whatever members a message has, it names its protocol. */
export function isUnreadable(read: Message | Message[] | Unreadable): read is Unreadable {
  return !Array.isArray(read) && !("jsonrpc" in read);
}

/** The messages of a body that is a batch, or what is wrong with one that is no message. */
function readOddBody(body: string): Message[] | Unreadable {
  const found: Message[] = [];
  let problem: Unreadable | undefined;
  let isBatch = false;
  readText(body, {
    message(message) {
      found.push(message);
    },
    batch(messages) {
      isBatch = true;
      found.push(...messages);
    },
    unreadable(why) {
      problem = why;
    },
  });
  // Of answers that came together, those that can be read are taken.
  if (isBatch || found.length > 0) return found;
  return problem ?? { code: rpcCodes.parseError, why: "the body is empty", answerable: true };
}

const requestHeaders: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
]);
const paramPrefix = "mcp-param-";
const preflightSeconds = "7200";

/** The answer to the browser of an allowed origin that asks what it may send. */
export function preflightHeaders(request: HttpRequest): HttpHeaders {
  const headers = allowedHeaders(request.header("access-control-request-headers"));
  return {
    "access-control-allow-origin": request.header("origin") ?? "",
    "access-control-allow-methods": "POST, GET, DELETE",
    ...(headers !== "" && { "access-control-allow-headers": headers }),
    "access-control-max-age": preflightSeconds,
    vary: "Origin, Access-Control-Request-Headers",
  };
}

/** The requested headers that pass: parameters of tools have headers of any name under one prefix. */
function allowedHeaders(requested: string | undefined): string {
  return (requested ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => requestHeaders.has(name) || (name.startsWith(paramPrefix) && isToken(name)))
    .join(", ");
}

function isToken(name: string): boolean {
  return /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name);
}
