import type { HttpHeaders, HttpRequest } from "./adapter.ts";

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
