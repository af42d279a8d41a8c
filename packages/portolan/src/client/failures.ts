import { PortolanError, type PortolanErrorCode } from "../errors.ts";
import type { Link } from "./channel-link.ts";

export interface CallFailureOptions extends ErrorOptions {
  readonly name: string;
  readonly requestMayHaveRun: boolean;
}

/** A call without a result: it was aborted, timed out, or lost its connection. */
export class CallFailure extends PortolanError {
  /** True if the server may have run the request. Do not simply repeat such a call. */
  readonly requestMayHaveRun: boolean;

  constructor(code: PortolanErrorCode, message: string, options: CallFailureOptions) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = options.name;
    this.requestMayHaveRun = options.requestMayHaveRun;
  }
}

/** The caller's signal aborted; `cause` is its reason. */
export function aborted(what: string, signal: AbortSignal, wasSent: boolean): CallFailure {
  const { reason } = signal;
  const why = reason instanceof Error && reason.name !== "AbortError" ? `: ${reason.message}` : "";
  return new CallFailure("cancelled", `${what} was aborted${why}`, {
    name: "AbortError",
    cause: reason,
    requestMayHaveRun: wasSent,
  });
}

/** Creates the error for a call that took too long. */
export function timedOut(message: string): CallFailure {
  return new CallFailure("timeout", message, { name: "TimeoutError", requestMayHaveRun: true });
}

/** Creates the error for a server that does not answer, with its latest output, which may name the cause. */
export async function silent(link: Link, message: string, advice = ""): Promise<CallFailure> {
  const output = await link.recentOutput?.().catch(() => "");
  return timedOut(`${message}${output ? `; its latest output: ${output}` : ""}${advice}`);
}

/** The connection ended during a call. `neverRan` of the reason says that the request did not reach the server. */
export function disconnected(what: string, reason: Error & { neverRan?: boolean }, wasSent = true): CallFailure {
  const code = reason instanceof PortolanError ? reason.code : "connection-closed";
  return new CallFailure(code, `${what} failed: ${reason.message}`, {
    name: "CallFailure",
    cause: reason,
    requestMayHaveRun: wasSent && reason.neverRan !== true,
  });
}

/** HTTP statuses below 500 that may change by themselves. */
const transientStatuses: readonly unknown[] = [408, 409, 425, 429];

/** Tells if another attempt may succeed: the server was unreachable, silent, or overloaded. */
export function isTransient(reason: Error & { readonly status?: unknown }): boolean {
  const { status = (reason.cause as { readonly status?: unknown } | undefined)?.status } = reason;
  if (typeof status === "number") return transientStatuses.includes(status) || status >= 500;
  return reason instanceof PortolanError && (reason.code === "connection-closed" || reason.code === "timeout");
}

/** Returns an error as it is, and anything else inside a new error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
