import type { NamedProxy } from "./choose.ts";

/** A request failed because of the proxy, not because of the server. */
export class ProxyFailure extends Error {
  /** The event, without its reason. */
  readonly what: string;
  readonly why: string;
  readonly next: string;

  constructor({ what, why, next }: Pick<ProxyFailure, "what" | "why" | "next">, cause?: unknown) {
    super(`${what} (${why})`, cause === undefined ? undefined : { cause });
    this.what = what;
    this.why = why;
    this.next = next;
  }
}

/** Names a proxy without its credentials. */
function describe({ url }: NamedProxy): string {
  return `the proxy ${url?.host ?? ""}`;
}

/** Suggests an exception from the proxy. NO_PROXY may already contain others. */
function bypassHint({ hostname }: URL): string {
  return `reach it directly: add ${hostname} to NO_PROXY`;
}

export function unusableProxy({ variable }: NamedProxy): ProxyFailure {
  return new ProxyFailure({
    what: `${variable} is not a proxy address`,
    why: "expected http://host:port or https://host:port; other kinds, such as SOCKS, are not supported",
    next: `correct ${variable}; in a user or password, write @ / # as %40 %2F %23`,
  });
}

export function unreachableProxy(proxy: NamedProxy, target: URL, cause: NodeJS.ErrnoException): ProxyFailure {
  const reason = cause.code ?? cause.message;
  const isOther = /^(HPE_|ERR_SSL|EPROTO)/.test(reason);
  return new ProxyFailure(
    {
      what: isOther ? `${describe(proxy)} does not answer like a proxy` : `${describe(proxy)} cannot be reached`,
      why: `set in ${proxy.variable}; ${reason}`,
      next: `correct ${proxy.variable}, or ${bypassHint(target)}`,
    },
    cause,
  );
}

/** The proxy wants credentials (407). */
export function proxyAuthRequired(proxy: NamedProxy, wanted: string | undefined): ProxyFailure {
  const { variable, url } = proxy;
  const schemes = (wanted ?? "Basic").match(/(?<![^\s,])(?:basic|digest|negotiate|ntlm|bearer|kerberos)\b/gi) ?? [];
  const hasGiven = url !== undefined && (url.username !== "" || url.password !== "");
  const why = `set in ${variable}; it answered 407`;
  if (schemes.length > 0 && !schemes.some((scheme) => scheme.toLowerCase() === "basic")) {
    return new ProxyFailure({
      what: `${describe(proxy)} requires ${schemes.join(" or ")}, but only Basic is supported`,
      why,
      next: `run a local proxy that signs in there, and set it in ${variable}`,
    });
  }
  return new ProxyFailure({
    what: hasGiven
      ? `${describe(proxy)} rejects the user and password in ${variable}`
      : `${describe(proxy)} requires a user and a password`,
    why,
    next: hasGiven
      ? `correct them in ${variable}; write @ / # as %40 %2F %23`
      : `export ${variable}=http://user:password@${url?.host}`,
  });
}

/** The proxy refuses the connection to the server. */
export function proxyRefused(proxy: NamedProxy, target: URL, status: number): ProxyFailure {
  const isLost = status >= 500;
  return new ProxyFailure({
    what: `${describe(proxy)} ${isLost ? "cannot reach" : "refuses connections to"} ${target.host}`,
    why: `set in ${proxy.variable}; it answered ${status}`,
    next: isLost
      ? `correct the address of the server, or ${bypassHint(target)}`
      : `ask for ${target.hostname} to be allowed there, or ${bypassHint(target)}`,
  });
}

/** The proxy accepted the connection, but answered itself, for example with a sign-in page. */
export function proxyAnswered(proxy: NamedProxy): ProxyFailure {
  return new ProxyFailure({
    what: `${describe(proxy)} answers itself instead of the server`,
    why: `set in ${proxy.variable}; probably a sign-in page or a website`,
    next: `open any page through this proxy in a browser and sign in, or correct ${proxy.variable}`,
  });
}
