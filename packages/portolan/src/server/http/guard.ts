import { nameOf } from "../../errors.ts";
import type { HttpHeaders, HttpRequest } from "./adapter.ts";
import { type Host, loopbackHost, parseHost, toHost, toOrigin } from "./hosts.ts";
import { maxAcceptedTypes } from "./limits.ts";
import { accessControlOf, type ServeHttpOptions } from "./options.ts";

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
  const hosts = options.allowedHosts && new Set(options.allowedHosts.map((entry) => withoutDefaultPort(toHost(entry))));
  const origins = new Set((options.allowedOrigins ?? []).map(toOrigin));
  const checksHost = hosts !== undefined || accessControlOf(options) === undefined;
  // Nearly all requests have the same Host header.
  let lastHost: string | undefined;

  function isHostAllowed(value: string | undefined): boolean {
    if (!checksHost || (value !== undefined && value === lastHost)) return true;
    const host = hosts && parseHost(value);
    const isAllowed = host ? hosts.has(withoutDefaultPort(host)) : !hosts && loopbackHost.test(value ?? "");
    if (isAllowed) lastHost = value;
    return isAllowed;
  }

  function isListed(origin: string): boolean {
    if (origins.size === 0) return false;
    return origins.has(parseOrigin(origin) ?? origin);
  }

  /** Returns whether a page of this machine sends the request to its own host and port. */
  function isOwnPage(origin: string, request: HttpRequest): boolean {
    const host = parseHost(request.header("host"));
    if (host === undefined || !loopbackHost.test(request.header("host") ?? "")) return false;
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

/** The response types that a client accepts. */
export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const everything: Accepted = { json: true, events: true };
/** The headers that nearly every client sends. */
const usualHeaders: ReadonlyMap<string, Accepted> = new Map([
  ["application/json, text/event-stream", everything],
  ["text/event-stream, application/json", everything],
  ["*/*", everything],
  ["application/json", { json: true, events: false }],
  ["text/event-stream", { json: false, events: true }],
]);
const json = ["application/json", "application/*", "*/*"];
const events = ["text/event-stream", "text/*", "*/*"];

/** Parses an Accept header. A client that names no types accepts all. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === "") return everything;
  const usual = usualHeaders.get(header);
  if (usual) return usual;
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
