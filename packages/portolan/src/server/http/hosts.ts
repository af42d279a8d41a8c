import { nameOf, PortolanError } from "../../errors.ts";

/** A host as headers and options name it. */
export interface Host {
  /** In lower case. */
  readonly name: string;
  readonly port: string | undefined;
}

// Not a URL parser: it would accept values that a browser never sends, such as a path or a user.
export function parseHost(value: string | undefined): Host | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/.exec(value?.toLowerCase() ?? "");
  const name = match?.[1];
  return name === undefined ? undefined : { name, port: match?.[2] };
}

/** Returns an entry of `allowedHosts`; throws if it is none. */
export function toHost(entry: string): Host {
  const host = parseHost(entry);
  if (host) return host;
  throw invalidEntry("allowedHosts", 'a host such as "mcp.example.com" or "localhost:3000"', entry);
}

/** Returns an entry of `allowedOrigins` as browsers write it; throws if it is none. */
export function toOrigin(entry: string): string {
  const isWeb = /^https?:/i.test(entry);
  const origin = isWeb && URL.canParse(entry) ? new URL(entry) : undefined;
  if (origin && origin.href === `${origin.origin}/` && parseHost(origin.host)) return origin.origin;
  if (!isWeb && (entry === "null" || /^[a-z][a-z0-9+.-]*:\/\/./i.test(entry))) return entry;
  throw invalidEntry("allowedOrigins", 'an origin such as "https://app.example.com"', entry);
}

function invalidEntry(option: string, expected: string, entry: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${option}: expected ${expected}, got ${nameOf(entry)}`);
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return (
    name === "localhost" ||
    name === "::1" ||
    name === "[::1]" ||
    /^(::ffff:)?127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$/.test(name)
  );
}
