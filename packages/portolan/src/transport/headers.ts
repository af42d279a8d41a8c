import type { JsonObject, RpcRequest } from "../jsonrpc/message.ts";
import type { MethodRow } from "../protocol/revision.ts";
import { encodeHeaderValue, trimHeader } from "./header-value.ts";
import { mismatch, problemOfValue } from "./mismatch.ts";

/** The headers of the protocol as they are sent. */
export const headerNames = {
  version: "MCP-Protocol-Version",
  method: "Mcp-Method",
  name: "Mcp-Name",
  session: "Mcp-Session-Id",
  lastEventId: "Last-Event-ID",
  /** Followed by the name that a tool gives to one of its arguments. */
  param: "Mcp-Param-",
} as const;

/** The same headers in small letters, as they are looked up. */
export const headerKeys = {
  version: "mcp-protocol-version",
  method: "mcp-method",
  name: "mcp-name",
  session: "mcp-session-id",
  lastEventId: "last-event-id",
  param: "mcp-param-",
} as const;

/** Requests of the tasks extension, which name their task. */
const taskMethods: ReadonlySet<string> = new Set(["tasks/get", "tasks/update", "tasks/cancel"]);

/** The member of the params that `Mcp-Name` repeats; undefined for methods without one. */
export function nameMemberOf(method: string, row: MethodRow | undefined): string | undefined {
  return row?.nameIn ?? (taskMethods.has(method) ? "taskId" : undefined);
}

/** What `Mcp-Name` says of a request, before it is encoded; undefined for methods without one, and for params without it. */
export function mirrorName(row: MethodRow | undefined, params: JsonObject | undefined): string | undefined {
  if (row?.nameIn === undefined) return undefined;
  const name = params?.[row.nameIn];
  return typeof name === "string" ? name : undefined;
}

/**
 * Why `Mcp-Method` or `Mcp-Name` does not say what the body says; undefined when they do. A name that the body lacks or
 * has no use for is left to the check of its params.
 */
export function problemOfHeaders(
  request: RpcRequest,
  row: MethodRow | undefined,
  header: (name: string) => string | undefined,
): string | undefined {
  const name = mirrorName(row, request.params);
  return (
    problemOfMethod(header(headerKeys.method), request.method) ??
    (name === undefined ? undefined : problemOfValue(headerNames.name, header(headerKeys.name), name))
  );
}

// spec 2026-07-28: streamable-http#server-validation. Names and arguments may be encoded even if they need not be; a
// method may not, because those who route by it need not decode it.
function problemOfMethod(header: string | undefined, method: string): string | undefined {
  const expected = encodeHeaderValue(method);
  if (header === undefined || trimHeader(header) !== expected) return mismatch(headerNames.method, expected, header);
  return undefined;
}
