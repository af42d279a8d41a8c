import type { JsonObject, RpcRequest } from "../jsonrpc/message.ts";
import type { MethodRow } from "../protocol/revision.ts";

/** Header fields by name. Names are case-insensitive on the wire. */
export type HttpHeaders = { readonly [name: string]: string };

/** The headers of the protocol as they are sent. */
export const headerNames = {
  version: "MCP-Protocol-Version",
  method: "Mcp-Method",
  name: "Mcp-Name",
  session: "Mcp-Session-Id",
  lastEventId: "Last-Event-ID",
  /** Prefix; the header name of a tool's argument follows. */
  param: "Mcp-Param-",
} as const;

/** The same headers in lower case, for lookups. */
export const headerKeys = {
  version: "mcp-protocol-version",
  method: "mcp-method",
  name: "mcp-name",
  session: "mcp-session-id",
  lastEventId: "last-event-id",
  param: "mcp-param-",
} as const;

/** Returns the member of the params that `Mcp-Name` repeats. Requests of the tasks extension name their task, if any. */
export function nameMemberOf(method: string, row: MethodRow | undefined): string | undefined {
  return row?.nameIn ?? (method.startsWith("tasks/") ? "taskId" : undefined);
}

/** Returns the value of `Mcp-Name` before encoding; undefined for methods without one, and if the params lack it. */
export function mirrorName(row: MethodRow | undefined, params: JsonObject | undefined): string | undefined {
  if (row?.nameIn === undefined) return undefined;
  const name = params?.[row.nameIn];
  return typeof name === "string" ? name : undefined;
}

/**
 * Compares `Mcp-Method` and `Mcp-Name` with the body. Returns undefined if they match. A name that the body lacks is left
 * to the check of the params.
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

// spec 2026-07-28: streamable-http#server-validation. Names and arguments may be encoded without need; a method may not,
// because proxies that route by it do not decode it.
function problemOfMethod(header: string | undefined, method: string): string | undefined {
  const expected = encodeHeaderValue(method);
  if (header === undefined || trimHeader(header) !== expected) return mismatch(headerNames.method, expected, header);
  return undefined;
}

const prefix = "=?base64?";
const suffix = "?=";
const plain = /^[\t -~]*$/;
const encoder = new TextEncoder();
// A byte order mark is part of the value like any other character.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Encodes a text as a header value: unchanged if HTTP allows it, otherwise as marked base64 of its UTF-8. */
export function encodeHeaderValue(value: string): string {
  const isSafe = plain.test(value) && trimHeader(value) === value && !isMarked(value);
  return isSafe ? value : prefix + toBase64(encoder.encode(value)) + suffix;
}

/** Decodes a header value; returns undefined for an invalid one. */
export function decodeHeaderValue(header: string): string | undefined {
  const text = trimHeader(header);
  if (!plain.test(text)) return undefined;
  // Overlapping markers are plain text.
  if (!isMarked(text) || text.length < prefix.length + suffix.length) return text;
  return fromBase64(text.slice(prefix.length, -suffix.length));
}

/** Removes the spaces and tabs around a header value. */
export function trimHeader(header: string): string {
  let start = 0;
  let end = header.length;
  while (start < end && isSpace(header.charCodeAt(start))) start += 1;
  while (end > start && isSpace(header.charCodeAt(end - 1))) end -= 1;
  return header.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isMarked(text: string): boolean {
  return text.startsWith(prefix) && text.endsWith(suffix);
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function fromBase64(text: string): string | undefined {
  try {
    const binary = atob(text);
    // `atob` accepts white space and missing padding: several texts would decode to one value.
    if (btoa(binary) !== text) return undefined;
    return decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** Compares a header with a value of the body. Returns undefined if they match. */
export function problemOfValue(name: string, header: string | undefined, value: string): string | undefined {
  if (header === undefined) return mismatch(name, value, header);
  const came = decodeHeaderValue(header);
  if (came === value) return undefined;
  if (came === undefined) {
    return `${mismatch(name, value, header)}, which is neither visible ASCII nor base64 of UTF-8`;
  }
  // UTF-8 has no lone surrogates: they are sent as replacement characters.
  return came === decodeHeaderValue(encodeHeaderValue(value)) ? undefined : mismatch(name, value, came);
}

/** Describes a header that does not match the body, in one line. */
export function mismatch(name: string, expected: string, came: string | undefined): string {
  const got = came === undefined ? "no such header" : quote(came);
  const line = `${name}: expected ${quote(expected)} as in the body, got ${got}`;
  return came?.includes(",") && !expected.includes(",") ? `${line} (was it sent twice?)` : line;
}

/** Quotes text of the peer for an error message, in one line of at most 100 characters. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
