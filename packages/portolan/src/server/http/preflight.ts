import type { HttpHeaders, HttpRequest } from "./adapter.ts";
import { preflightMaxAgeSeconds } from "./limits.ts";

/** Returns the headers of the answer to a CORS preflight request of an allowed origin. */
export function preflightHeaders(request: HttpRequest): HttpHeaders {
  const headers = allowedHeaders(request.header("access-control-request-headers"));
  return {
    "access-control-allow-origin": request.header("origin") ?? "",
    "access-control-allow-methods": "POST, GET, DELETE",
    ...(headers !== "" && { "access-control-allow-headers": headers }),
    "access-control-max-age": String(preflightMaxAgeSeconds),
    vary: "Origin, Access-Control-Request-Headers",
  };
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

/** Returns the requested headers that are allowed. Arguments of tools may be repeated in any header with the prefix. */
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
