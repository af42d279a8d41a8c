import { PortolanError, RpcError } from "portolan";

/** Why a command failed, by name and exit code. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  auth: 3,
  unreachable: 4,
  tool: 5,
  denied: 6,
  timeout: 7,
  protocol: 8,
  /** As shells count it: 128 and the number of the signal. */
  interrupted: 130,
} as const;

export type FailureKind = keyof typeof exitCodes;

/** A command that failed: what happened in one line, and what to do next. */
export class Failure extends Error {
  readonly kind: FailureKind;
  /** The next step: a command to type, or what to change. */
  readonly next: string | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    options: { readonly next?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.next = options.next;
  }
}

/** Somebody has pressed Ctrl-C. */
export function interruption(): Failure {
  return new Failure("interrupted", "interrupted");
}

const kinds: { readonly [code: string]: FailureKind } = {
  "invalid-argument": "usage",
  "login-required": "auth",
  unauthorized: "auth",
  "connection-closed": "unreachable",
  "server-unavailable": "unreachable",
  "http-status": "unreachable",
  "address-refused": "unreachable",
  denied: "denied",
  unanswered: "denied",
  timeout: "timeout",
  cancelled: "failed",
  "version-mismatch": "protocol",
  "message-too-large": "protocol",
  "capability-missing": "protocol",
};

/** What a command that threw failed with. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof PortolanError)
    return new Failure(kinds[thrown.code] ?? "failed", thrown.message, { cause: thrown });
  if (thrown instanceof RpcError)
    return new Failure("protocol", `${thrown.message} (${thrown.code})`, { cause: thrown });
  return new Failure("failed", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}
