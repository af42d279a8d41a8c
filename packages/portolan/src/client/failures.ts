import { PortolanError, type PortolanErrorCode } from "../errors.ts";

export interface CallFailureOptions extends ErrorOptions {
  readonly name: string;
  readonly requestMayHaveRun: boolean;
}

/** Why a call has no result: it was aborted, took too long, or its connection ended. */
export class CallFailure extends PortolanError {
  /** Whether the server may have done what was asked: a call that may have run is not simply made again. */
  readonly requestMayHaveRun: boolean;

  constructor(code: PortolanErrorCode, message: string, options: CallFailureOptions) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = options.name;
    this.requestMayHaveRun = options.requestMayHaveRun;
  }
}

/** The caller gave up; `cause` is the reason of its signal. */
export function aborted(what: string, signal: AbortSignal, wasSent: boolean): CallFailure {
  const { reason } = signal;
  const why = reason instanceof Error && reason.name !== "AbortError" ? `: ${reason.message}` : "";
  return new CallFailure("cancelled", `${what} was aborted${why}`, {
    name: "AbortError",
    cause: reason,
    requestMayHaveRun: wasSent,
  });
}

export function timedOut(message: string): CallFailure {
  return new CallFailure("timeout", message, { name: "TimeoutError", requestMayHaveRun: true });
}

/** The connection ended under a call. A reason may know for itself that the request did not get through. */
export function cutOff(what: string, reason: Error & { neverRan?: boolean }, wasSent = true): CallFailure {
  const code = reason instanceof PortolanError ? reason.code : "connection-closed";
  return new CallFailure(code, `${what} has no answer: ${reason.message}`, {
    name: "CallFailure",
    cause: reason,
    requestMayHaveRun: wasSent && reason.neverRan !== true,
  });
}

/** Statuses that may be others the next time. */
const passing: readonly unknown[] = [408, 409, 425, 429];

/** Whether another attempt may succeed: the server was out of reach or silent, or says that it is for now. */
export function isPassing(reason: Error & { readonly status?: unknown }): boolean {
  const { status = (reason.cause as { readonly status?: unknown } | undefined)?.status } = reason;
  if (typeof status === "number") return passing.includes(status) || status >= 500;
  return reason instanceof PortolanError && (reason.code === "connection-closed" || reason.code === "timeout");
}

/** The error that something thrown is, or is wrapped in. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
