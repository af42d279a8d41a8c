import { PortolanError, type PortolanErrorCode } from "../../errors.ts";
import { maxExcerptChars, maxRetryAfterMs } from "./limits.ts";
import type { Head, OutgoingRequest } from "./options.ts";

export interface HttpFailureOptions extends ErrorOptions {
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
}

/** An HTTP request without a response, or with one that is not a message of the protocol. */
export class HttpFailure extends PortolanError {
  /** The status of the response; undefined without a response. */
  readonly status: number | undefined;
  /** The server's `Retry-After`, at most five minutes; undefined without one. */
  readonly retryAfterMs: number | undefined;
  readonly method: string;
  /** The address without credentials and without query values. */
  readonly address: string;

  /** True if the server has not run the request: it refused the caller, or was not reached. */
  get neverRan(): boolean {
    return this.status === 401 || this.status === 403 || isRefusedConnection(this.cause);
  }

  constructor(code: PortolanErrorCode, request: OutgoingRequest, what: string, options: HttpFailureOptions = {}) {
    const address = addressOf(request.url);
    super(
      code,
      `${request.method} ${address} ${what}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "HttpFailure";
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.method = request.method;
    this.address = address;
  }
}

/** Returns an address for error messages, without query values. */
export function addressOf(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === "" ? "" : "?…"}`;
}

/** The connection failed, before or during the response. */
export function unreachable(request: OutgoingRequest, reason: Error): HttpFailure {
  return new HttpFailure("connection-closed", request, `failed: ${causeOf(reason)}`, { cause: reason });
}

/** The server answered with an HTTP error. */
export function refused(request: OutgoingRequest, head: Head, body: string): HttpFailure {
  const { status } = head;
  // A 403 that explains itself without a challenge is no demand for a login.
  const isAboutLogin = status === 401 || (status === 403 && (!body.trim() || head.header("www-authenticate")));
  const code = isAboutLogin ? "unauthorized" : "http-status";
  const retryAfterMs = status === 429 || status === 503 ? retryAfter(head) : undefined;
  return new HttpFailure(code, request, `answered ${status}${excerptOf(head, body)}`, { status, retryAfterMs });
}

/** `Retry-After` holds seconds or a date. */
function retryAfter(head: Head): number | undefined {
  const value = head.header("retry-after") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

/** The status reports success, but the body is invalid. */
export function unusable(request: OutgoingRequest, head: Head, what: string): HttpFailure {
  return new HttpFailure("answer-invalid", request, `answered ${head.status} with ${what}`, { status: head.status });
}

export function tooLarge(request: OutgoingRequest, what: string): HttpFailure {
  return new HttpFailure("message-too-large", request, `answered ${what}`);
}

/** Returns the media type of a response in lower case, without parameters. */
export function mediaTypeOf(head: Head): string {
  const type = head.header("content-type") ?? "";
  if (type === "application/json" || type === "text/event-stream") return type;
  return type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Returns the server's own error message, or the type of the body. */
function excerptOf(head: Head, body: string): string {
  const type = mediaTypeOf(head);
  const said = type === "text/plain" ? body : messageIn(body);
  if (said === undefined) return type === "" ? "" : ` with ${oneLine(type)}`;
  const line = oneLine(said);
  return line === "" ? "" : `: ${line}`;
}

function messageIn(body: string): string | undefined {
  try {
    const { error, message } = JSON.parse(body) as { error?: unknown; message?: unknown };
    const found = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
    return [found, message].find((text): text is string => typeof text === "string");
  } catch {
    return undefined;
  }
}

/** Returns the innermost cause on one line; of failed connections to several addresses the first. */
function causeOf(reason: Error): string {
  if (reason instanceof AggregateError && reason.errors[0] instanceof Error) return causeOf(reason.errors[0]);
  if (reason instanceof TypeError && reason.cause instanceof Error) return causeOf(reason.cause);
  if (reason.message.includes("wrong version number")) return "this port does not speak TLS; use http:";
  return oneLine(reason.message) || reason.name;
}

function isRefusedConnection(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isRefusedConnection);
  const { code, cause: inner } = (cause ?? {}) as { code?: unknown; cause?: unknown };
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || (inner !== undefined && isRefusedConnection(inner));
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return line.length > maxExcerptChars ? `${line.slice(0, maxExcerptChars)}…` : line;
}
