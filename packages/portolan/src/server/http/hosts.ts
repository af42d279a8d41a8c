import { unexpected } from "../define/check.ts";

/** A host as headers and options name it. */
export interface Host {
  /** In lower case. */
  readonly name: string;
  readonly port: string | undefined;
}

// Not a URL parser: it would accept values that a browser never sends, such as a path or a user.
export function parseHost(value: string | undefined): Host | undefined {
  const pattern = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/;
  const [, name, port] = pattern.exec(value?.toLowerCase() ?? "") ?? [];
  return name === undefined ? undefined : { name, port };
}

/** Returns an entry of `allowedHosts`; throws if it is none. */
export function toHost(entry: string): Host {
  const host = parseHost(entry);
  if (host) return host;
  throw unexpected("allowedHosts", 'a host such as "mcp.example.com" or "localhost:3000"', entry, "invalid-argument");
}

/** Returns an entry of `allowedOrigins` as browsers write it; throws if it is none. */
export function toOrigin(entry: string): string {
  const isWeb = /^https?:/i.test(entry);
  const origin = isWeb && URL.canParse(entry) ? new URL(entry) : undefined;
  if (origin && origin.href === `${origin.origin}/` && parseHost(origin.host)) return origin.origin;
  if (!isWeb && (entry === "null" || /^[a-z][a-z0-9+.-]*:\/\/./i.test(entry))) return entry;
  throw unexpected("allowedOrigins", 'an origin such as "https://example.com"', entry, "invalid-argument");
}

/** The Host headers that are allowed by default: names that no other machine can have. */
export const loopbackHost: RegExp = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** Returns whether a name or an address is one of this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|\[::1\]|::1|(::ffff:)?127(\.[0-9]{1,3}){3})$/i.test(host);
}
