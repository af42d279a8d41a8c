import { PortolanError, type PortolanErrorCode } from "../../errors.ts";
import type { Head, OutgoingRequest } from "./options.ts";

const maxExcerpt = 200;

/** The longest that a server is waited for on its word. */
const longestRetryAfterMs = 5 * 60_000;

export interface HttpFailureOptions extends ErrorOptions {
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
}

/** A request over HTTP that has no answer, or one that is no answer of the protocol. */
export class HttpFailure extends PortolanError {
  /** The status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** How long the server asks to be left alone, five minutes at most; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  readonly method: string;
  /** Without credentials and without the values of the query. */
  readonly address: string;

  /** Whether the server certainly did nothing: it refused the caller, or was not reached. */
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

/** An address as it may be shown. */
export function addressOf(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === "" ? "" : "?…"}`;
}

/** The connection failed, before or in the middle of the answer. */
export function unreachable(request: OutgoingRequest, reason: Error): HttpFailure {
  return new HttpFailure("connection-closed", request, `failed: ${causeOf(reason)}`, { cause: reason });
}

/** The answer is none of the protocol's. */
export function refused(request: OutgoingRequest, head: Head, body: string): HttpFailure {
  const { status } = head;
  const code = status === 401 || status === 403 ? "unauthorized" : "http-status";
  const retryAfterMs = status === 429 || status === 503 ? retryAfter(head) : undefined;
  return new HttpFailure(code, request, `answered ${status}${excerptOf(head, body)}`, { status, retryAfterMs });
}

/** Seconds or a date. */
function retryAfter(head: Head): number | undefined {
  const value = head.header("retry-after") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}

/** The status is fine, but what came with it is not. */
export function unusable(request: OutgoingRequest, head: Head, what: string): HttpFailure {
  return new HttpFailure("answer-invalid", request, `answered ${head.status} with ${what}`, { status: head.status });
}

export function tooLarge(request: OutgoingRequest, what: string): HttpFailure {
  return new HttpFailure("message-too-large", request, `answered ${what}`);
}

/** The media type of an answer, in small letters and without its parameters. */
export function mediaTypeOf(head: Head): string {
  const type = head.header("content-type") ?? "";
  if (type === "application/json" || type === "text/event-stream") return type;
  return type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** What the server says for itself, if that is short and plain. */
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

/** What went wrong below, on one line; connections to several addresses fail in several ways, of which the first will do. */
function causeOf(reason: Error): string {
  if (reason instanceof AggregateError && reason.errors[0] instanceof Error) return causeOf(reason.errors[0]);
  if (reason instanceof TypeError && reason.cause instanceof Error) return causeOf(reason.cause);
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
  return line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line;
}
