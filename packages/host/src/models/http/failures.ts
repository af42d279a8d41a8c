import { PortolanError } from "portolan";
import { maxErrorExcerptChars, maxRetryAfterMs } from "../limits.ts";
import type { Provider } from "./provider.ts";

/** Options of a `ModelFailure`. */
export interface ModelFailureOptions extends ErrorOptions {
  /** The HTTP status, if there was a response. */
  readonly status?: number | undefined;
  /** The pause that the provider asks for, if any. */
  readonly retryAfterMs?: number | undefined;
  /** True if the same request can succeed later. Default: false. */
  readonly isTemporary?: boolean;
}

/** A provider did not answer, or answered with an error or invalid data. */
export class ModelFailure extends PortolanError {
  override name = "ModelFailure";
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The pause that the provider asks for, if any. */
  readonly retryAfterMs: number | undefined;
  /** The same request can succeed later: the provider was busy, down or unreachable. */
  readonly isTemporary: boolean;

  constructor(message: string, options: ModelFailureOptions = {}) {
    super("model-failed", message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.isTemporary = options.isTemporary ?? false;
  }
}

const temporaryCodes = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT"],
  ...["ConnectionRefused", "ConnectionClosed"],
]);
/** Error types of providers for temporary failures, for errors inside a stream, where the status is already 200. */
const temporaryWords = /overloaded|rate_limit|server_error|api_error|timeout|unavailable|^(429|5\d\d)$/;
/** Rate limits that a retry does not lift. */
const quotaWords = /insufficient_quota|billing|credit balance/;

/** An error that a provider reports in a body. */
export interface ReportedError {
  readonly message: string | undefined;
  /** The provider's type or code: `overloaded_error`, `insufficient_quota`, `429`. */
  readonly kind: string;
}

/** Finds the error in a body of any provider. */
export function errorIn(value: unknown, depth = 0): ReportedError | undefined {
  if (depth > 3) return undefined;
  // Some providers wrap the error in a list.
  if (Array.isArray(value)) return errorIn(value[0], depth + 1);
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, type, code, detail } = value as Record<string, unknown>;
  if (typeof error === "object" && error !== null) return errorIn({ type: "error", ...error }, depth + 1);
  const text = [message, error, detail].map(toText).find((one) => one !== undefined);
  if (text === undefined && type === undefined && code === undefined) return undefined;
  const words = new Set([type, code].filter((one) => one !== undefined && one !== null));
  return { message: text, kind: [...words].join(" ") };
}

/** Returns a text, or the JSON of an object: some providers list validation errors. */
function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return JSON.stringify(value);
  } catch {
    // Nested too deeply for JSON.stringify.
    return undefined;
  }
}

/** Returns the failure for a response with an error status. */
export function refused(provider: Provider, response: Response, body: string): ModelFailure {
  const { status } = response;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) return redirected(provider, response);
  const reported = errorIn(parsed(body)) ?? { message: isText(response) ? body : undefined, kind: "" };
  const details = `${reported.kind} ${reported.message ?? ""}`;
  const isTemporary = (status === 429 || status === 408 || status >= 500) && !quotaWords.test(details);
  const retryAfterMs = retryAfter(response.headers);
  const wait = retryAfterMs === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfterMs / 1_000)} s.`;
  return new ModelFailure(
    `${provider.name} answered ${status}${excerpt(provider, reported.message)}.${wait} ${adviceOn(status, isTemporary)}`,
    { status, retryAfterMs, isTemporary },
  );
}

function redirected(provider: Provider, response: Response): ModelFailure {
  const location = response.headers.get("location");
  const target =
    location !== null && URL.canParse(location, provider.url) ? new URL(location, provider.url) : undefined;
  return new ModelFailure(
    `${provider.name} answered ${response.status || "with a redirect"} and redirects to ${target?.origin ?? "another address"}. The key and the conversation are not sent there. If you trust that address, use it as baseUrl.`,
    { status: response.status },
  );
}

function adviceOn(status: number, isTemporary: boolean): string {
  if (status === 401) return "Check the API key.";
  if (status === 403) return "Check the permissions of the API key.";
  if (status === 404) return "Check the name of the model and the baseUrl.";
  if (status === 413) return "Make the conversation shorter.";
  if (status === 429) return isTemporary ? "Try again later." : "Check the plan and the balance of the account.";
  if (isTemporary) return "Try again later.";
  return "Check the request; the options quirks and extra change it.";
}

/** Returns the failure for an error inside a response with status 200. */
export function providerError(provider: Provider, { message, kind }: ReportedError): ModelFailure {
  const details = `${kind} ${message ?? ""}`;
  const isTemporary = kind.split(" ").some((one) => temporaryWords.test(one)) && !quotaWords.test(details);
  const shown = excerpt(provider, [kind, message].filter(Boolean).join(": "));
  return new ModelFailure(
    `${provider.name} sent an error${shown}. ${isTemporary ? "Try again later." : "Check the request."}`,
    {
      status: 200,
      isTemporary,
    },
  );
}

/** Returns the failure for a connection that failed or broke. */
export function unreachable(provider: Provider, reason: unknown): ModelFailure {
  const { code, text } = causeOf(reason);
  const advice =
    code === "ECONNREFUSED"
      ? "Check that the provider runs and that the baseUrl is correct."
      : "Check the network and the baseUrl.";
  return new ModelFailure(
    `${provider.name} could not be reached, or the connection broke${excerpt(provider, text)}. ${advice}`,
    {
      cause: reason,
      isTemporary: code !== undefined && temporaryCodes.has(code),
    },
  );
}

/** Returns the failure for a response that is no turn. */
export function unusable(provider: Provider, what: string, status = 200): ModelFailure {
  return new ModelFailure(
    `${provider.name} answered ${status} with ${what}. Check that the baseUrl is the URL of its API.`,
    {
      status,
    },
  );
}

/** Returns the failure for a response above a limit. */
export function limitReached(provider: Provider, what: string): ModelFailure {
  return new ModelFailure(
    `${provider.name} sent more than ${what}, so the response was aborted. Raise \`limits\` if that size is expected.`,
  );
}

export function timedOut(provider: Provider, what: string): ModelFailure {
  return new ModelFailure(`${provider.name} ${what}. Try again later, or raise idleMs or totalMs.`);
}

/** Adds the received part and the number of attempts to a failure. */
export function withProgress(failure: ModelFailure, received: string, attempts: number): ModelFailure {
  const tried = attempts > 1 ? ` Tried ${attempts} times.` : "";
  const before = received === "" ? "" : ` Received before: ${received}.`;
  if (tried === "" && before === "") return failure;
  const { status, retryAfterMs, isTemporary, cause } = failure;
  return new ModelFailure(`${failure.message}${before}${tried}`, { status, retryAfterMs, isTemporary, cause });
}

/** Reads milliseconds, seconds or a date; undefined if there is none. */
function retryAfter(headers: Headers): number | undefined {
  const exact = headers.get("retry-after-ms") ?? "";
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(exact)
    ? Number(exact)
    : /^\d+(\.\d+)?$/.test(value)
      ? Number(value) * 1_000
      : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

/** Returns the quoted message. Redacts before it cuts, because a cut could leave a part of the key. */
function excerpt(provider: Provider, text = ""): string {
  const line = provider
    .redact(text)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
  const whole =
    line.length > maxErrorExcerptChars ? `${line.slice(0, maxErrorExcerptChars)}…` : line.replace(/[.!]$/, "");
  return whole === "" ? "" : `: ${whole}`;
}

function isText(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").startsWith("text/plain");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // For example an HTML page of a proxy; the status is enough.
    return undefined;
  }
}

/** Returns the code of the underlying error. An AggregateError has one per address; the first is used. */
function causeOf(reason: unknown): { code: string | undefined; text: string } {
  if (reason instanceof AggregateError && reason.errors.length > 0) return causeOf(reason.errors[0]);
  if (!(reason instanceof Error)) return { code: undefined, text: "" };
  if (reason instanceof TypeError && reason.cause instanceof Error) return causeOf(reason.cause);
  const { code } = reason as { code?: unknown };
  return { code: typeof code === "string" ? code : undefined, text: reason.message || reason.name };
}
