import { PortolanError } from "portolan";
import type { Provider } from "./provider.ts";

export interface ModelFailureOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly mayPass?: boolean;
}

/** A provider that did not answer, or not as it should. */
export class ModelFailure extends PortolanError {
  override name = "ModelFailure";
  /** The status of its answer; undefined when there was none. */
  readonly status: number | undefined;
  /** How long it asks to be left alone; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  /** Whether the same request may succeed later: the provider was busy, down or out of reach. */
  readonly mayPass: boolean;

  constructor(message: string, options: ModelFailureOptions = {}) {
    super("model-failed", message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.mayPass = options.mayPass ?? false;
  }
}

const maxExcerpt = 300;
const longestRetryAfterMs = 24 * 60 * 60_000;
const passingCodes = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT"],
  ...["ConnectionRefused", "ConnectionClosed"],
]);
/** Words of providers for "not now", where the status came too early to say so. */
const passingWords = /overloaded|rate_limit|server_error|api_error|timeout|unavailable|^(429|5\d\d)$/;
/** A limit that no pause lifts. */
const quotaWords = /insufficient_quota|billing|credit balance/;

/** What a provider says is wrong. */
export interface Complaint {
  readonly message: string | undefined;
  /** Its own word for it: `overloaded_error`, `insufficient_quota`, `429`. */
  readonly word: string;
}

/** What an error in a body says, of whichever shape it is. */
export function complaintIn(value: unknown, depth = 0): Complaint | undefined {
  if (depth > 3) return undefined;
  // Some wrap it in a list.
  if (Array.isArray(value)) return complaintIn(value[0], depth + 1);
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, type, code, detail } = value as Record<string, unknown>;
  if (typeof error === "object" && error !== null) return complaintIn({ type: "error", ...error }, depth + 1);
  const text = [message, error, detail].map(toText).find((one) => one !== undefined);
  if (text === undefined && type === undefined && code === undefined) return undefined;
  const words = new Set([type, code].filter((one) => one !== undefined && one !== null));
  return { message: text, word: [...words].join(" ") };
}

/** Lists of what is wrong with a request are shown as they are. */
function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return JSON.stringify(value);
  } catch {
    // Nested too deep to be written.
    return undefined;
  }
}

/** The answer is no success. */
export function refused(provider: Provider, response: Response, body: string): ModelFailure {
  const { status } = response;
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) return redirected(provider, response);
  const complaint = complaintIn(parsed(body)) ?? { message: isText(response) ? body : undefined, word: "" };
  const said = `${complaint.word} ${complaint.message ?? ""}`;
  const mayPass = (status === 429 || status === 408 || status >= 500) && !quotaWords.test(said);
  const retryAfterMs = retryAfter(response.headers);
  const wait = retryAfterMs === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfterMs / 1_000)} s.`;
  return new ModelFailure(
    `${provider.name} answered ${status}${excerpt(provider, complaint.message)}.${wait} ${adviceOn(status, mayPass)}`,
    { status, retryAfterMs, mayPass },
  );
}

function redirected(provider: Provider, response: Response): ModelFailure {
  const location = response.headers.get("location");
  const target =
    location !== null && URL.canParse(location, provider.url) ? new URL(location, provider.url) : undefined;
  return new ModelFailure(
    `${provider.name} answered ${response.status || "with a redirect"}: it sends on to ${target?.origin ?? "another address"}, where the key and the conversation are not taken along. If you trust that address, make it the baseUrl.`,
    { status: response.status },
  );
}

function adviceOn(status: number, mayPass: boolean): string {
  if (status === 401) return "Check the API key.";
  if (status === 403) return "Check what the API key may do.";
  if (status === 404) return "Check the name of the model and the baseUrl.";
  if (status === 413) return "Make the conversation shorter.";
  if (status === 429) return mayPass ? "Try again later." : "Check the plan and the balance of the account.";
  if (mayPass) return "Try again later.";
  return "Check the request; quirks and extra change what is sent.";
}

/** An error that came inside an answer which began as a success. */
export function complained(provider: Provider, { message, word }: Complaint): ModelFailure {
  const said = `${word} ${message ?? ""}`;
  const mayPass = word.split(" ").some((one) => passingWords.test(one)) && !quotaWords.test(said);
  const shown = excerpt(provider, [word, message].filter(Boolean).join(": "));
  return new ModelFailure(
    `${provider.name} sent an error${shown}. ${mayPass ? "Try again later." : "Check the request."}`,
    {
      status: 200,
      mayPass,
    },
  );
}

/** There was no answer, or it was cut. */
export function unreachable(provider: Provider, reason: unknown): ModelFailure {
  const { code, text } = causeOf(reason);
  const advice =
    code === "ECONNREFUSED"
      ? "Check that the provider runs there and that the baseUrl is right."
      : "Check the network and the baseUrl.";
  return new ModelFailure(`${provider.name} was not reached or broke off${excerpt(provider, text)}. ${advice}`, {
    cause: reason,
    mayPass: code !== undefined && passingCodes.has(code),
  });
}

/** The provider sent what cannot be used. */
export function unusable(provider: Provider, what: string, status = 200): ModelFailure {
  return new ModelFailure(
    `${provider.name} answered ${status} with ${what}. Check that the baseUrl leads to its API.`,
    {
      status,
    },
  );
}

/** The provider sent more than it may. */
export function tooMuch(provider: Provider, what: string): ModelFailure {
  return new ModelFailure(
    `${provider.name} sent more than ${what}, and was cut off. Raise \`limits\` if that is right.`,
  );
}

export function tooSlow(provider: Provider, what: string): ModelFailure {
  return new ModelFailure(`${provider.name} ${what}. Try again later, or raise idleMs or totalMs.`);
}

/** The same failure, with what had come before it and how often it was tried. */
export function inContext(failure: ModelFailure, arrived: string, attempts: number): ModelFailure {
  const tried = attempts > 1 ? ` Tried ${attempts} times.` : "";
  const before = arrived === "" ? "" : ` Before that came ${arrived}.`;
  if (tried === "" && before === "") return failure;
  const { status, retryAfterMs, mayPass, cause } = failure;
  return new ModelFailure(`${failure.message}${before}${tried}`, { status, retryAfterMs, mayPass, cause });
}

/** Milliseconds, seconds or a date; undefined when none of them. */
function retryAfter(headers: Headers): number | undefined {
  const exact = headers.get("retry-after-ms") ?? "";
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(exact)
    ? Number(exact)
    : /^\d+(\.\d+)?$/.test(value)
      ? Number(value) * 1_000
      : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}

/** Without the key first: cut text could leave a part of it. */
function excerpt(provider: Provider, text = ""): string {
  const line = provider
    .hide(text)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
  const whole = line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line.replace(/[.!]$/, "");
  return whole === "" ? "" : `: ${whole}`;
}

function isText(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").startsWith("text/plain");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // A page of a proxy, say; the status tells enough.
    return undefined;
  }
}

/** What went wrong below; connections to several addresses fail in several ways, of which the first will do. */
function causeOf(reason: unknown): { code: string | undefined; text: string } {
  if (reason instanceof AggregateError && reason.errors.length > 0) return causeOf(reason.errors[0]);
  if (!(reason instanceof Error)) return { code: undefined, text: "" };
  if (reason instanceof TypeError && reason.cause instanceof Error) return causeOf(reason.cause);
  const { code } = reason as { code?: unknown };
  return { code: typeof code === "string" ? code : undefined, text: reason.message || reason.name };
}
