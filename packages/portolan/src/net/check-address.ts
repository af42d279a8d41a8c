import { nameOf, PortolanError } from "../errors.ts";
import { isAddress, isLoopbackAddress, isPrivateNetworkAddress, isPublicAddress } from "./address.ts";
import { maxShownPathChars } from "./limits.ts";
import type { FetchPolicy } from "./policy.ts";

/** Names of hosts that stand for this machine or its network. A proxy resolves them to hosts of its own network. */
const privateNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const loopbackNames = /(^|\.)localhost$/;

/**
 * Throws if the policy forbids a URL, judging by the URL alone: its scheme, credentials, and a host that is not public.
 * `createSafeFetch` also checks the IP addresses that the host resolves to.
 */
export function checkWebAddress(url: string | URL, policy: FetchPolicy = {}): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address) throw refused("An invalid URL", "it cannot be parsed");
  const { protocol, hostname } = address;
  // First, so that no part of a URL such as javascript:… or data:… is shown.
  if (protocol !== "https:" && protocol !== "http:") {
    throw refused(`A ${protocol} URL`, "expected https");
  }
  const place = describe(address);
  if (address.username !== "" || address.password !== "") throw refused(place, "it contains credentials");
  if (hostname.endsWith(".")) throw refused(place, "its host ends with a dot; remove the dot");
  const isListed = privateHostsOf(policy).has(hostname);
  if (protocol === "http:" && !(isListed && isLoopbackHost(hostname))) {
    throw refused(place, "expected https; http is allowed only for a loopback host in `privateHosts`");
  }
  if (!isListed && isPrivateHost(hostname) && !mayBeNeighbour(hostname, policy)) {
    throw notPublic(place, hostname, hostname);
  }
  return address;
}

/**
 * Throws if the policy forbids the IP addresses that the host of a URL resolves to. `isIntranet` says that the policy
 * allows other hosts of private networks.
 */
export function checkAddresses(url: URL, addresses: readonly string[], policy: FetchPolicy, isIntranet = false): void {
  const { protocol, hostname } = url;
  const place = describe(url);
  const isListed = privateHostsOf(policy).has(hostname);
  if (addresses.length === 0) throw refused(place, "its host has no address");
  for (const address of addresses) {
    if (!isAddress(address))
      throw refused(place, `its host resolves to ${nameOf(address)}, which is not an IP address`);
    const isNeighbour = isIntranet && isPrivateNetworkAddress(address);
    if (!isListed && !isNeighbour && !isPublicAddress(address)) throw notPublic(place, hostname, address);
    if (protocol === "http:" && !isLoopbackAddress(address)) {
      throw refused(place, `its host resolves to ${address}, which is not loopback; use https`);
    }
  }
}

/** Returns the IP address of a host that is one; `undefined` for a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const text = withoutBrackets(hostname);
  return isAddress(text) ? text : undefined;
}

/** Returns a URL for messages, without its query, which may contain secrets. */
export function describe({ origin, pathname }: URL): string {
  return origin + (pathname.length > maxShownPathChars ? `${pathname.slice(0, maxShownPathChars)}…` : pathname);
}

/** Creates the error for a URL that must not be fetched. */
export function refused(place: string, why: string): PortolanError {
  return new PortolanError("address-refused", `${place} is refused: ${why}`);
}

function notPublic(place: string, hostname: string, address: string): PortolanError {
  const what = address === hostname ? "its host is not public" : `its host resolves to ${address}, which is not public`;
  return refused(place, `${what}; to allow it, add ${JSON.stringify(hostname)} to \`privateHosts\``);
}

/** True if the host of a URL is this machine, by its name or literal address. */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackNames.test(hostname) || isLoopbackAddress(withoutBrackets(hostname));
}

function isPrivateHost(hostname: string): boolean {
  const text = withoutBrackets(hostname);
  return isAddress(text) ? !isPublicAddress(text) : privateNames.test(hostname);
}

/** A name may be in a private network; its addresses are checked after it is resolved. */
function mayBeNeighbour(hostname: string, { neighbourOf }: FetchPolicy): boolean {
  if (neighbourOf === undefined || loopbackNames.test(hostname)) return false;
  const text = withoutBrackets(hostname);
  return !isAddress(text) || isPrivateNetworkAddress(text);
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** Normalizes hosts as the URL parser does, so that equal hosts are equal strings. */
function privateHostsOf({ privateHosts = [] }: FetchPolicy): ReadonlySet<string> {
  return new Set(privateHosts.map(toHostname));
}

function toHostname(host: string): string {
  const bracketed = isAddress(host) && host.includes(":") ? `[${host}]` : host;
  const isHost = /^(\[[^\]]*\]|[^:/?#@\\[\]]+)$/.test(bracketed) && URL.canParse(`https://${bracketed}`);
  if (isHost) return new URL(`https://${bracketed}`).hostname;
  throw new PortolanError(
    "invalid-argument",
    `privateHosts: expected hosts without port and path, got ${nameOf(host)}`,
  );
}
