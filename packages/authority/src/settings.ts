import type { IncomingMessage } from "node:http";
import { inspect } from "node:util";
import { PortolanError } from "portolan";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { escapeHidden } from "./escape.ts";
import { derivedKeys } from "./keys.ts";
import { defaultAccessTokenSeconds, defaultRefreshTokenSeconds, maxReportKinds, reportIntervalMs } from "./limits.ts";
import {
  type AuthorityEvent,
  type AuthorityOptions,
  checkAuthorityOptions,
  type ProtectedResource,
} from "./options.ts";
import { networkOf } from "./rate-limit.ts";
import { Rows, UnknownSecretError } from "./rows.ts";
import type { SignIn } from "./users.ts";

/** The options with their defaults, and values derived from them. */
export interface Settings {
  readonly options: AuthorityOptions;
  readonly issuer: URL;
  /** The path of the issuer, without a slash at the end. */
  readonly mount: string;
  readonly isHttps: boolean;
  readonly rows: Rows;
  readonly signIn: SignIn;
  readonly isOpaque: boolean;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  readonly cookieKeys: readonly string[];
  readonly formKeys: readonly string[];
  cookieName(what: string, path?: "/" | "below"): string;
  /** Returns the network that the rate limits count a request for. */
  addressOf(request: IncomingMessage): string;
  /** Returns the resource that a client has named. */
  resourceOf(identifier: string): ProtectedResource | undefined;
  emit(event: AuthorityEvent): void;
  /** Emits an event about something that was not found, once a minute for each kind and address. */
  emitNotFound(what: NotFound, address: string): void;
  reportError(error: unknown): void;
  /** Reports something that may be the doing of a caller, once a minute for each kind. */
  reportSometimes(kind: string, error: Error): void;
}

type NotFound = Extract<AuthorityEvent, { readonly type: "not-found" }>["what"];

export async function toSettings(options: AuthorityOptions): Promise<Settings> {
  checkAuthorityOptions(options);
  const issuer = new URL(options.issuer);
  const { storage = createMemoryStorage(), secrets = [randomSecret()], signIn, onEvent } = options;
  const writeError = createErrorWriter();
  const pass = (error: unknown) => {
    try {
      (options.onError ?? writeError)(error);
    } catch (failure) {
      writeError(failure);
    }
  };
  const reportSometimes = createThrottle<Error>(pass);
  const reportError = (error: unknown) => {
    // Each row of an unknown secret was reported when it was read.
    if (!(error instanceof UnknownSecretError)) pass(error);
  };
  // A listener that throws does not fail the request of a person.
  const emit = (event: AuthorityEvent) => {
    try {
      onEvent?.(event);
    } catch (error) {
      reportError(error);
    }
  };
  const emitSometimes = createThrottle<Extract<AuthorityEvent, { readonly type: "not-found" }>>((event, count) =>
    emit({ ...event, count }),
  );
  const rows = await Rows.of(options.issuer, storage, secrets, {
    unknownSecret: (error) => reportSometimes(error.keyId, error),
    expired: () => reportSometimes("expired", new PortolanError("invalid-argument", clocksDiffer)),
  });
  const isHttps = issuer.protocol === "https:";
  // Cookies ignore ports: two authorities on one host need different names.
  const own = (await rows.keyOf("")).split("/")[1]?.slice(0, 6) ?? "";
  return {
    options,
    issuer,
    mount: issuer.pathname.replace(/\/$/, ""),
    isHttps,
    rows,
    signIn,
    isOpaque: options.accessTokens === "opaque" || signIn.kind === "upstream",
    accessTokenSeconds: options.accessTokenSeconds ?? defaultAccessTokenSeconds,
    refreshTokenSeconds: options.refreshTokenSeconds ?? defaultRefreshTokenSeconds,
    cookieKeys: derivedKeys(secrets, "cookies"),
    formKeys: derivedKeys(secrets, "forms"),
    cookieName(what, path = "/") {
      // `__Host-` requires the path "/"; cookies of one page have a narrower path.
      const prefix = isHttps ? (path === "/" ? "__Host-" : "__Secure-") : "";
      return `${prefix}authority-${own}-${what}`;
    },
    addressOf: (request) => networkOf(options.addressOf?.(request) ?? request.socket.remoteAddress ?? "unknown"),
    resourceOf: (identifier) => options.resources.find(({ resource }) => isSame(resource, identifier)),
    emit,
    emitNotFound: (what, address) =>
      emitSometimes(`${what} ${address}`, { type: "not-found", what, address, count: 1 }),
    reportError,
    reportSometimes,
  };
}

/** True if a client means this resource: URL parsers append a slash to an origin. */
function isSame(resource: string, identifier: string): boolean {
  return resource === identifier || new URL(resource).href === identifier;
}

const clocksDiffer =
  "A stored row has expired by the clock of this process, although the storage still has it: the clocks of the processes, or of the storage, differ. Sign-ins fail until they agree; synchronize them, for example by NTP.";

/**
 * Returns the function that writes errors to the console: one line for the first of a kind, and one a minute for those that
 * follow. Their text may quote a client or a provider, so that it is escaped.
 */
function createErrorWriter(): (error: unknown) => void {
  const write = createThrottle<unknown>((error, count) =>
    console.error(toLine(error) + (count === 1 ? "" : ` (${count} times since the last report)`)),
  );
  return (error) => write(kindOf(error), error);
}

/** Returns a function that passes on the first report of a kind at once, and the latest of those that follow once a minute. */
function createThrottle<T>(pass: (report: T, count: number) => void): (kind: string, report: T) => void {
  const kinds = new Map<string, { latest: T; count: number }>();
  const begin = (kind: string, report: T, count: number) => {
    kinds.set(kind, { latest: report, count: 0 });
    setTimeout(() => {
      const known = kinds.get(kind);
      kinds.delete(kind);
      if (known && known.count > 0) begin(kind, known.latest, known.count);
    }, reportIntervalMs).unref();
    pass(report, count);
  };
  return (name, report) => {
    const kind = kinds.size < maxReportKinds || kinds.has(name) ? name : "";
    const known = kinds.get(kind);
    if (!known) return begin(kind, report, 1);
    known.count += 1;
    known.latest = report;
  };
}

/** Returns what errors of one cause have in common: messages often contain the name of a file. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if (error instanceof UnknownSecretError) return error.keyId;
  // Our own codes stand for many causes.
  if (error instanceof PortolanError) return `${error.code} ${error.message.slice(0, 30)}`;
  const { code = error.message.slice(0, 100) } = error as { code?: unknown };
  return `${error.name} ${String(code)}`;
}

function toLine(error: unknown): string {
  if (!(error instanceof Error)) return `portolan-authority: ${escapeHidden(inspect(error)).replaceAll(/\s+/g, " ")}`;
  const { cause, stack = "" } = error;
  const where = stack.split("\n").find((line) => line.startsWith("    at "));
  const because = cause instanceof Error ? `: ${cause.message}` : "";
  const text = `portolan-authority: ${error.name}: ${error.message}${because}${where === undefined ? "" : ` (${where.trim()})`}`;
  return escapeHidden(text).replaceAll(/\s+/g, " ");
}
