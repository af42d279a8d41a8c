import { BlockList, isIP } from "node:net";

export type Variables = { readonly [name: string]: string | undefined };

/** A proxy that the environment names. */
export interface NamedProxy {
  /** The variable that names it. */
  readonly variable: string;
  /** Where it is, with its credentials; undefined where the variable is no address that can be used. */
  readonly url: URL | undefined;
}

/** The proxy that leads to an address; undefined for one that is reached straight. */
export function proxyFor(url: URL, env: Variables): NamedProxy | undefined {
  return isBypassed(url, env) ? undefined : proxyNamed(url, env);
}

/** The proxy for addresses such as this one, whichever of them are spared. */
export function proxyNamed({ protocol }: URL, env: Variables): NamedProxy | undefined {
  const own = protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy", "HTTP_PROXY"];
  const variable = [...own, "all_proxy", "ALL_PROXY"].find((name) => env[name]?.trim() && !isForged(name, env));
  return variable === undefined ? undefined : { variable, url: toUrl(env[variable]?.trim() ?? "") };
}

/** In a program that a web server starts, whoever sends it a `Proxy` header has written this variable. */
function isForged(name: string, env: Variables): boolean {
  return name === "HTTP_PROXY" && env["REQUEST_METHOD"] !== undefined;
}

function toUrl(value: string): URL | undefined {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  // More than a host is a password with a character that ends one: its beginning would pass for the host.
  const isBare = url.pathname === "/" && url.search === "" && url.hash === "";
  return isWeb && isBare ? url : undefined;
}

/** As browsers write it in their lists: this machine is not spared. */
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
  // What has several colons is an address of IPv6.
  const name = (bracketed ?? plain ?? rule).replace(/^\*?\./, "").replace(/\.$/, "");
  if (name === "*") return true;
  if (isIP(host) > 0) return isWithin(host, name);
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

/** Whether an address is this one, or in this network: `10.0.0.0/8`. */
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

/** Gives the fetch for an address that the environment sends through a proxy; what that takes is loaded when it is used. */
export function viaProxy(env: Variables): (url: URL) => typeof fetch | undefined {
  const send: typeof fetch = async (input, init) => (await import("./fetch.ts")).createProxyFetch(env)(input, init);
  return (url) => (proxyFor(url, env) ? send : undefined);
}

/** The option of what can be given a fetch, for an address that needs one. */
export function fetchOption(env: Variables, url: string): { readonly fetch: typeof fetch } | undefined {
  const send = URL.canParse(url) ? viaProxy(env)(new URL(url)) : undefined;
  return send && { fetch: send };
}
