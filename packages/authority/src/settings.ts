import type { IncomingMessage } from "node:http";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { derivedKeys } from "./keys.ts";
import type { AuthorityEvent } from "./options.ts";
import { type AuthorityOptions, checkOptions, type ProtectedResource } from "./options.ts";
import { networkOf } from "./rate-limit.ts";
import { Rows } from "./rows.ts";
import type { SignIn } from "./users.ts";

/** The options of an authority with all that follows from them. */
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
  /** Whom a request counts for. */
  addressOf(request: IncomingMessage): string;
  /** The resource that a client has named. */
  resourceOf(identifier: string): ProtectedResource | undefined;
  tell(event: AuthorityEvent): void;
  fail(error: unknown): void;
}

export async function toSettings(options: AuthorityOptions): Promise<Settings> {
  checkOptions(options);
  const issuer = new URL(options.issuer);
  const { storage = createMemoryStorage(), secrets = [randomSecret()], signIn, onEvent } = options;
  const rows = await Rows.of(options.issuer, storage, secrets);
  const isHttps = issuer.protocol === "https:";
  // Cookies know no ports: two authorities on one host must not take each other's.
  const own = (await rows.keyOf("")).split("/")[1]?.slice(0, 6) ?? "";
  return {
    options,
    issuer,
    mount: issuer.pathname.replace(/\/$/, ""),
    isHttps,
    rows,
    signIn,
    isOpaque: options.accessTokens === "opaque" || signIn.kind === "upstream",
    accessTokenSeconds: options.accessTokenSeconds ?? 600,
    refreshTokenSeconds: options.refreshTokenSeconds ?? 30 * 24 * 3_600,
    cookieKeys: derivedKeys(secrets, "cookies"),
    formKeys: derivedKeys(secrets, "forms"),
    cookieName(what, path = "/") {
      // `__Host-` wants the path "/"; what belongs to one page only has a narrower one.
      const prefix = isHttps ? (path === "/" ? "__Host-" : "__Secure-") : "";
      return `${prefix}authority-${own}-${what}`;
    },
    addressOf: (request) => networkOf(options.addressOf?.(request) ?? request.socket.remoteAddress ?? "unknown"),
    resourceOf: (identifier) => options.resources.find(({ resource }) => isSame(resource, identifier)),
    tell: (event) => onEvent?.(event),
    fail: options.onError ?? console.error,
  };
}

/** Whether a client means this resource: parsers of URLs write an origin with a slash behind it. */
function isSame(resource: string, identifier: string): boolean {
  return resource === identifier || new URL(resource).href === identifier;
}
