import { PortolanError, protocolCodes, RpcError, rpcCodes } from "portolan";
import type { AuthFailure } from "portolan/auth/client";
import type { ProcessEnd, ProcessFailure } from "portolan/client/stdio";
import type { DeniedError, RefusalReason } from "portolan-host";

/** The kinds of failure and their exit codes. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  auth: 3,
  unreachable: 4,
  tool: 5,
  denied: 6,
  timeout: 7,
  protocol: 8,
  /** 128 and the number of the signal, as in shells. */
  interrupted: 130,
} as const;

export type FailureKind = keyof typeof exitCodes;

/** A failed command: what happened, and what to do next. */
export class Failure extends Error {
  readonly kind: FailureKind;
  /** The next step: a command to run, or what to change. */
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

/** Returns the failure of a command that Ctrl-C ended. */
export function interruption(): Failure {
  return new Failure("interrupted", "interrupted");
}

/** True for a failure whose reason is that the work was cancelled. */
export function isCancellation({ cause }: Failure): boolean {
  return cause instanceof PortolanError && cause.code === "cancelled";
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
  "task-lost": "failed",
  "task-detached": "failed",
  "version-mismatch": "protocol",
  "message-too-large": "protocol",
  "answer-invalid": "protocol",
  "capability-missing": "protocol",
  "skill-unverified": "protocol",
};

/** The code of our proxy for a lost connection to its server. */
export const upstreamLost: number = protocolCodes.upstreamLost;

/** Error codes that do not mean a fault of the server: wrong arguments, or a question that has no answer here. */
const kindsOfCodes: { readonly [code: number]: FailureKind } = {
  [rpcCodes.invalidParams]: "usage",
  [protocolCodes.resourceNotFound]: "usage",
  [protocolCodes.missingCapability]: "denied",
};

function fromRpcError(error: RpcError): Failure {
  const { code, message } = error;
  if (code === upstreamLost) return new Failure("unreachable", withoutOptionNames(message), { cause: error });
  const said = message.includes(String(code)) ? message : `${message} (${code})`;
  return new Failure(kindsOfCodes[code] ?? "protocol", said, { cause: error });
}

/** Converts a thrown value to a failure. `home` is the state folder, which gets its own advice. */
export function toFailure(thrown: unknown, home?: string): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof PortolanError) {
    const message = withoutOptionNames(thrown.message);
    return new Failure(kinds[thrown.code] ?? "failed", message, { next: nextStepOf(thrown), cause: thrown });
  }
  if (thrown instanceof RpcError) return fromRpcError(thrown);
  if (isFileError(thrown)) return fromFileError(thrown, home);
  return new Failure("failed", thrown instanceof Error ? thrown.message : String(thrown), { cause: thrown });
}

/**
 * Texts of the library for programmers, and what a person at the terminal reads instead: advice that names options which
 * the command does not have, and failures of the network.
 */
const libraryTexts: readonly (readonly [text: RegExp, instead: string])[] = [
  [/, or raise maxGrants$/, ""],
  [/; raise \w+(?: or \w+)*(?: if [\w ]+)?$/, ""],
  [/\. Try again later, or raise \w+(?: or \w+)*\.$/, ". Try again later."],
  [/; give oauth\(\) .*$/, ""],
  [/; send them to authorizationUrl, .*$/, ""],
  [
    /^Expected the URL that the browser was sent back to, got something else (\d+) times; start the login again$/,
    "No valid address in $1 tries",
  ],
  [
    /, but this host cannot ask: give the host .*$/,
    ', but there is no terminal. Run it in a terminal and answer "always".',
  ],
  [/; create the client with createCluster or new Cluster$/, "; add --cluster"],
  [/; correct those of the client \(.*$/, " in the address"],
  [/: the host has no `answers\.\w+`$/, ": there is no terminal"],
  [/: give the host `.*$/, ""],
  [/\b(?:GET|POST) (\S+) failed: connect (ECONNREFUSED) (\S+)/, "$1 cannot be reached: nothing listens at $3 ($2)"],
  [
    /\b(?:GET|POST) (\S+) failed: getaddrinfo (ENOTFOUND|EAI_AGAIN) (\S+)/,
    "$1 cannot be reached: the host name $3 is unknown ($2)",
  ],
  [/; use era: "auto" to accept what it supports$/, "; without --era, its own is used"],
  [
    /^The server uses protocol version (\S+); this client expected (\S+)$/,
    "The server uses protocol version $1, and does not speak $2; without --era, its own is used",
  ],
  [/^tools\/call "[^"]*" failed: (?=The server )/, ""],
  [/; `\w+` raises the limit$/, ""],
  [/; to allow it, add "[^"]*" to `privateHosts`$/, ""],
  [/; http is allowed only for a loopback host in `privateHosts`$/, "; http is allowed only on this machine"],
  [/ redirects there, and `redirects` is "[\w-]+"$/, " redirects there, which is another server"],
  [/ Raise `\w+` if .*$/, ""],
  [/, or set `\w+` if it does$/, ""],
  [/; use https, or set allowHttp to accept the risk$/, "; use https"],
  [/\bthe baseUrl\b/, "the base URL (ANTHROPIC_BASE_URL or OPENAI_BASE_URL)"],
  [/\buse it as baseUrl\b/, "set ANTHROPIC_BASE_URL or OPENAI_BASE_URL to it"],
  [/ Check the request; the options quirks and extra change it\./, " Another model may accept it: --model."],
  [/; if you know that it does, list it in pkceAssumedFor$/, ""],
  [/; register a client by hand and pass it as client$/, "; register a client by hand and name it with --client-id"],
  [/^fileStore: /, ""],
  [/ since it was accepted\. Review it with changedDefinitions\(\), then accept\(\) it/, " since you accepted it"],
  [/; read changedDefinitions\(\) again$/, "; run the command again to see it"],
  [/; write \{ command, args \} to start a program$/, "; write a command after --"],
  [
    /^url: expected an address without user name and password; .*$/,
    "The address contains a user name or a password. Leave them out, and send them as a header of the server",
  ],
];

/** Converts a message of the library to the words of the command: no option names, and durations in seconds. */
export function withoutOptionNames(message: string): string {
  const plain = libraryTexts.reduce((text, [wrong, instead]) => text.replace(wrong, instead), message);
  return plain.replace(/\b(\d+) ms\b/g, (_, ms) => `${Number(ms) / 1_000} s`);
}

type FileError = NodeJS.ErrnoException & { readonly path: string };

/** File system errors in words. The path stands before them. */
const fileWords: { readonly [code: string]: string } = {
  ENOENT: "does not exist",
  EACCES: "cannot be accessed: permission denied",
  EPERM: "cannot be accessed: permission denied",
  EROFS: "cannot be written: it is on a read-only file system",
  ENOSPC: "cannot be written: the disk is full",
  EISDIR: "is a folder, expected a file",
  ENOTDIR: "cannot be created: part of the path is not a folder",
  EEXIST: "cannot be created: it already exists",
};

function isFileError(thrown: unknown): thrown is FileError {
  if (!(thrown instanceof Error) || !("code" in thrown) || !("path" in thrown)) return false;
  return typeof thrown.path === "string" && Object.hasOwn(fileWords, String(thrown.code));
}

function fromFileError(error: FileError, home: string | undefined): Failure {
  const { code = "", path } = error;
  const isHome = home !== undefined && (path.startsWith(home) || home.startsWith(path));
  return new Failure(code === "ENOENT" ? "usage" : "failed", `${path} ${fileWords[code]}`, {
    next: isHome ? "set PORTOLAN_HOME to a folder that you can write" : undefined,
    cause: error,
  });
}

const deepest = 8;

/** Yields an error and its causes, the outermost first. */
function* withCauses(thrown: unknown): Generator<Error> {
  let reason = thrown;
  for (let depth = 0; depth < deepest && reason instanceof Error; depth += 1) {
    yield reason;
    reason = reason.cause;
  }
}

/** Returns the next step of an error, or of one of its causes. */
function nextStepOf(thrown: Error): string | undefined {
  for (const reason of withCauses(thrown)) {
    if ("next" in reason && typeof reason.next === "string") return reason.next;
  }
  return undefined;
}

/** Returns the scopes that another sign-in would have to add, if they are what an error is about. */
export function missingScopesOf(thrown: unknown): readonly string[] {
  for (const reason of withCauses(thrown)) if ("scopes" in reason) return (reason as AuthFailure).scopes ?? [];
  return [];
}

/** Returns the status of the HTTP response that an error is about. */
export function httpStatusOf(thrown: unknown): number | undefined {
  for (const reason of withCauses(thrown))
    if ("status" in reason && typeof reason.status === "number") return reason.status;
  return undefined;
}

/** Returns how the process of a server ended, if that is the reason of an error. */
export function processEndOf(thrown: unknown): ProcessEnd | undefined {
  for (const reason of withCauses(thrown)) if ("processEnd" in reason) return (reason as ProcessFailure).processEnd;
  return undefined;
}

/** Returns why the host refused an action, if that is the reason of an error. */
export function refusalReasonOf(thrown: unknown): RefusalReason | undefined {
  for (const reason of withCauses(thrown)) if ("refusal" in reason) return (reason as DeniedError).reason;
  return undefined;
}
