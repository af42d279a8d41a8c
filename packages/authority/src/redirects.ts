const maxLength = 2_000;
const loopback: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host name is this machine. */
export function isLoopback(hostname: string): boolean {
  return loopback.includes(hostname);
}

/** Why nobody may be sent to an address with a code; undefined when it is fine. `schemes` are private ones to allow. */
export function problemOfRedirect(uri: unknown, schemes: readonly string[] = []): string | undefined {
  if (typeof uri !== "string" || uri.length > maxLength || !URL.canParse(uri)) {
    return `expected addresses of at most ${maxLength} characters`;
  }
  // What a parser would silently drop must not be there: the comparison is by letter.
  if (/[\s\\*#]/.test(uri)) return "expected no spaces, backslashes, wildcards or fragments";
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== "" || password !== "" || /^[a-z]+:\/\/[^/?]*@/i.test(uri)) return "expected no user name";
  if (protocol === "https:") return hostname === "" ? "expected a host" : undefined;
  if (protocol === "http:") return isLoopback(hostname) ? undefined : "expected https, or http on loopback";
  // spec: RFC 8252 7.1, a private scheme is a domain name backwards.
  if (/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:$/.test(protocol) || schemes.includes(protocol.slice(0, -1))) return undefined;
  return "expected https, http on loopback, or a private scheme such as com.example.app:";
}

/** Whether a redirect is a registered one: to the letter, but for the port of a loopback address. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  const bare = withoutPort(uri);
  return bare !== undefined && registered.some((one) => withoutPort(one) === bare);
}

/** A loopback address without its port, otherwise to the letter. */
function withoutPort(uri: string): string | undefined {
  if (problemOfRedirect(uri) !== undefined) return undefined;
  const match = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?([/?].*)?$/.exec(uri);
  return match ? `${match[1]}${match[2] ?? ""}` : undefined;
}
