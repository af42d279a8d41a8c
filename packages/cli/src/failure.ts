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

/** What servers answer where the command line is wrong, or where somebody would have to answer; else they are to blame. */
const kindsOfCodes: { readonly [code: number]: FailureKind } = {
  [-32_602]: "usage",
  [-32_002]: "usage",
  [-32_021]: "denied",
};

function ofServer(error: RpcError): Failure {
  const { code, message } = error;
  const said = message.includes(String(code)) ? message : `${message} (${code})`;
  return new Failure(kindsOfCodes[code] ?? "protocol", said, { cause: error });
}

/** What a command that threw failed with. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof PortolanError)
    return new Failure(kinds[thrown.code] ?? "failed", thrown.message, { next: nextIn(thrown), cause: thrown });
  if (thrown instanceof RpcError) return ofServer(thrown);
  return new Failure("failed", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}

const deepest = 8;

/** The next step that an error knows, or one of those that caused it. */
function nextIn(thrown: Error): string | undefined {
  let reason: unknown = thrown;
  for (let depth = 0; depth < deepest && reason instanceof Error; depth += 1) {
    if ("next" in reason && typeof reason.next === "string") return reason.next;
    reason = reason.cause;
  }
  return undefined;
}
