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
  return `reach it straight: put ${hostname} into NO_PROXY`;
}

export function unusableProxy({ variable }: NamedProxy): ProxyFailure {
  return new ProxyFailure({
    what: `${variable} is no address of a proxy`,
    why: "expected http://host:port or https://host:port; other kinds, such as SOCKS, are not spoken",
    next: `correct ${variable}; in a user or password, characters such as @ / # are written as %40 %2F %23`,
  });
}

export function unreachableProxy(proxy: NamedProxy, target: URL, cause: NodeJS.ErrnoException): ProxyFailure {
  const reason = cause.code ?? cause.message;
  const isOther = /^(HPE_|ERR_SSL|EPROTO)/.test(reason);
  return new ProxyFailure(
    {
      what: isOther ? `${describe(proxy)} does not speak as a proxy does` : `${describe(proxy)} cannot be reached`,
      why: `${proxy.variable} names it; ${reason}`,
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
  const why = `${variable} names it; it answered 407`;
  if (schemes.length > 0 && !schemes.some((scheme) => scheme.toLowerCase() === "basic")) {
    return new ProxyFailure({
      what: `${describe(proxy)} wants ${schemes.join(" or ")}, and only Basic is spoken here`,
      why,
      next: `run a proxy of your own that signs in there, and name it in ${variable}`,
    });
  }
  return new ProxyFailure({
    what: hasGiven
      ? `${describe(proxy)} does not take the user and password in ${variable}`
      : `${describe(proxy)} wants a user and a password`,
    why,
    next: hasGiven
      ? `correct them in ${variable}; characters such as @ / # are written as %40 %2F %23`
      : `export ${variable}=http://user:password@${url?.host}`,
  });
}

/** The proxy refuses the connection to the server. */
export function proxyRefused(proxy: NamedProxy, target: URL, status: number): ProxyFailure {
  const isLost = status >= 500;
  return new ProxyFailure({
    what: `${describe(proxy)} ${isLost ? "does not reach" : "gives no way to"} ${target.host}`,
    why: `${proxy.variable} names it; it answered ${status}`,
    next: isLost
      ? `correct the address of the server, or ${bypassHint(target)}`
      : `have ${target.hostname} allowed there, or ${bypassHint(target)}`,
  });
}

/** The proxy accepted the connection, but answered itself, for example with a sign-in page. */
export function proxyAnswered(proxy: NamedProxy): ProxyFailure {
  return new ProxyFailure({
    what: `${describe(proxy)} answers itself, with what is no server`,
    why: `${proxy.variable} names it; a sign-in page or a website stands there`,
    next: `open any page by this proxy in a browser and sign in there, or correct ${proxy.variable}`,
  });
}
