import { BlockList, isIP } from "node:net";

export type Variables = { readonly [name: string]: string | undefined };

/** A proxy from the environment. */
export interface NamedProxy {
  /** The variable with its address. */
  readonly variable: string;
  /** Its address with credentials. Undefined if the variable is not a valid address. */
  readonly url: URL | undefined;
}

/** Returns the proxy for an address, or undefined if it is reached directly. */
export function proxyFor(url: URL, env: Variables): NamedProxy | undefined {
  return isBypassed(url, env) ? undefined : proxyNamed(url, env);
}

/** Returns the proxy for the protocol of this address, without regard to NO_PROXY. */
export function proxyNamed({ protocol }: URL, env: Variables): NamedProxy | undefined {
  const own = protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy", "HTTP_PROXY"];
  const variable = [...own, "all_proxy", "ALL_PROXY"].find((name) => env[name]?.trim() && !isForged(name, env));
  return variable === undefined ? undefined : { variable, url: toUrl(env[variable]?.trim() ?? "") };
}

/** A web server passes the `Proxy` header of a request as HTTP_PROXY, so in CGI the variable is not trusted. */
function isForged(name: string, env: Variables): boolean {
  return name === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined;
}

function toUrl(value: string): URL | undefined {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // A path means that a password contains `/` or similar: part of it would be taken for the host.
  const isBare = url.pathname === "/" && url.search === "" && url.hash === "";
  return isWeb && isBare ? url : undefined;
}

/** The browser convention to also send loopback addresses through the proxy. */
const notLoopback = "<-loopback>";

function isBypassed(url: URL, env: Variables): boolean {
  const rules = (env["no_proxy"] || env["NO_PROXY"] || "")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const host = withoutBrackets(url.hostname).replace(/\.$/, "");
  if (isLoopback(host) && !rules.includes(notLoopback)) return true;
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return rules.some((rule) => matchesRule(rule, host, port));
}

function matchesRule(rule: string, host: string, port: string): boolean {
  const [, bracketed, plain, wanted] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(rule) ?? [];
  if (wanted !== undefined && wanted !== port) return false;
  // A rule with several colons is an IPv6 address.
  const name = (bracketed ?? plain ?? rule).replace(/^\*?\./, "").replace(/\.$/, "");
  if (name === "*") return true;
  if (isIP(host) > 0) return isWithin(host, name);
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

/** True if an address is in a network such as `10.0.0.0/8`. */
function isWithin(address: string, network: string): boolean {
  const [base = "", bits] = network.split("/");
  const version = isIP(base);
  const most = version === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (version === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const list = new BlockList();
  list.addSubnet(base, prefix, familyOf(base));
  return list.check(address, familyOf(address));
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return host === "localhost" || host.endsWith(".localhost");
  return isWithin(host, "127.0.0.0/8") || isWithin(host, "::1");
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Returns a fetch for addresses that need a proxy. Its code is loaded at the first request. */
export function viaProxy(env: Variables): (url: URL) => typeof fetch | undefined {
  const send: typeof fetch = async (input, init) => (await import("./fetch.ts")).createProxyFetch(env)(input, init);
  return (url) => (proxyFor(url, env) ? send : undefined);
}

/** Returns the `fetch` option for an address that needs a proxy. */
export function fetchOption(env: Variables, url: string): { readonly fetch: typeof fetch } | undefined {
  const send = URL.canParse(url) ? viaProxy(env)(new URL(url)) : undefined;
  return send && { fetch: send };
}
