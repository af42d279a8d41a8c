import { PortolanError, RpcError } from "portolan";
import type { ApiError, ApiErrorCode } from "../api.ts";

type ErrorBody = ApiError["error"];

const statuses: { readonly [code in ApiErrorCode]: number } = {
  "bad-request": 400,
  "no-session": 401,
  "wrong-origin": 403,
  "not-found": 404,
  "wrong-method": 405,
  answered: 409,
  changed: 409,
  busy: 409,
  expired: 410,
  "too-large": 413,
  "wrong-type": 415,
  "wrong-host": 421,
  invalid: 422,
  "wrong-version": 426,
  "too-many": 429,
  internal: 500,
  closing: 503,
};

/** A request that is refused, with what its sender may know. */
export class ApiRefusal extends Error {
  readonly code: string;
  readonly status: number;
  readonly facts: Omit<ErrorBody, "code" | "message">;

  constructor(code: ApiErrorCode, message: string, facts: Omit<ErrorBody, "code" | "message"> = {}) {
    super(message);
    this.name = "ApiRefusal";
    this.code = code;
    this.status = statuses[code];
    this.facts = facts;
  }
}

/** Returns the status and the body for an error. What only the console knows goes to `onError`, with the same reference. */
export function toReply(thrown: unknown, onError: (error: unknown) => void): { status: number; body: ApiError } {
  if (thrown instanceof ApiRefusal) {
    const { code, message, status, facts } = thrown;
    return { status, body: { error: { code, message, ...facts } } };
  }
  // Our own libraries write their messages for people.
  if (thrown instanceof PortolanError) {
    const next = "next" in thrown && typeof thrown.next === "string" ? { next: thrown.next } : {};
    return { status: statusOf(thrown), body: { error: { code: thrown.code, message: messageOf(thrown), ...next } } };
  }
  // The MCP server refused: its words are all there is to say.
  if (thrown instanceof RpcError) {
    return { status: statuses.invalid, body: { error: { code: "invalid", message: thrown.message } } };
  }
  const reference = crypto.randomUUID();
  onError(new Error(`A request to the console failed (${reference})`, { cause: thrown }));
  const message = `The console failed. The terminal shows the reason under ${reference}.`;
  return { status: 500, body: { error: { code: "internal", message } } };
}

function statusOf({ code }: PortolanError): number {
  if ((code as string) === "question-changed") return statuses.changed;
  return code === "invalid-argument" || code === "answer-invalid" ? statuses.invalid : statuses.busy;
}

/** Returns the message of anything that was thrown, in the words of a person. */
export function messageOf(thrown: unknown): string {
  return toPageText(thrown instanceof Error ? thrown.message : String(thrown));
}

/** Texts of the library for programmers, and what a person reads on the page instead. */
const libraryTexts: readonly (readonly [text: RegExp, instead: string])[] = [
  [
    /\bhttps?:\/\/\S{1,300} requires more scopes \(([^)]{1,300})\): a person must sign in at (\S{1,300}); give oauth\(\) .*$/s,
    "Sign-in required at $2, for more scopes ($1)",
  ],
  [/\bhttps?:\/\/\S{1,300} requires a person to sign in at (\S{1,300}); give oauth\(\) .*$/s, "Sign-in required at $1"],
  [/\bhttps?:\/\/\S{1,300} requires a person to sign in; send them to authorizationUrl, .*$/s, "Sign-in required"],
  [/\bit is untrusted, the user has not agreed to start it: give the host .*$/s, "you have not trusted it yet"],
  [/\b(?:GET|POST) \S{1,2000} failed: connect ECONNREFUSED (\S{1,300})/, "nothing listens at $1 (ECONNREFUSED)"],
  [
    /\b(?:GET|POST) \S{1,2000} failed: getaddrinfo (ENOTFOUND|EAI_AGAIN) (\S{1,300})/,
    "the host name $2 is unknown ($1)",
  ],
];

/** Replaces what the library tells programmers. The page has the steps: Sign in, Examine. */
export function toPageText(message: string): string {
  return libraryTexts.reduce((text, [wrong, instead]) => text.replace(wrong, instead), message);
}

/** Refuses a request for a reason that the command gave, whose messages are written for people. */
export async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof ApiRefusal || !(thrown instanceof Error)) throw thrown;
    const { next } = thrown as Error & { readonly next?: unknown };
    throw new ApiRefusal("invalid", thrown.message, typeof next === "string" ? { next } : {});
  }
}
