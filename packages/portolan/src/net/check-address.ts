import { nameOf, PortolanError } from "../errors.ts";
import { isAddress, isLoopbackAddress, isPrivateNetworkAddress, isPublicAddress } from "./address.ts";
import type { FetchPolicy } from "./policy.ts";

/** Names that only the own machine or network resolves; where a proxy resolves them it is the proxy's network. */
const privateNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const loopbackNames = /(^|\.)localhost$/;

/**
 * Refuses an address that the policy forbids, as far as the address itself says: its scheme, credentials in it, a
 * literal or a name that is not public. What a name resolves to is checked by `createSafeFetch`.
 */
export function checkWebAddress(url: string | URL, policy: FetchPolicy = {}): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address) throw refused("An address that cannot be parsed", "it is no URL");
  const { protocol, hostname } = address;
  // First, so that nothing else is said of an address such as javascript:… or data:….
  if (protocol !== "https:" && protocol !== "http:") {
    throw refused(`A ${protocol} address`, "expected https");
  }
  const place = describe(address);
  if (address.username !== "" || address.password !== "") throw refused(place, "it has credentials in it");
  if (hostname.endsWith(".")) throw refused(place, "its host ends in a dot; write it without");
  const isListed = privateHostsOf(policy).has(hostname);
  if (protocol === "http:" && !(isListed && isLoopbackHost(hostname))) {
    throw refused(place, "expected https; http is only for a loopback host that `privateHosts` names");
  }
  if (!isListed && isPrivateHost(hostname) && !mayBeNeighbour(hostname, policy)) {
    throw notPublic(place, hostname, hostname);
  }
  return address;
}

/**
 * Refuses an address, which `checkWebAddress` let pass, for what its host resolves to; `isIntranet` says that its policy
 * lets hosts of private networks be neighbours.
 */
export function checkAddresses(url: URL, addresses: readonly string[], policy: FetchPolicy, isIntranet = false): void {
  const { protocol, hostname } = url;
  const place = describe(url);
  const isListed = privateHostsOf(policy).has(hostname);
  if (addresses.length === 0) throw refused(place, "its host has no address");
  for (const address of addresses) {
    if (!isAddress(address)) throw refused(place, `its host resolves to ${nameOf(address)}, which is no address`);
    const isNeighbour = isIntranet && isPrivateNetworkAddress(address);
    if (!isListed && !isNeighbour && !isPublicAddress(address)) throw notPublic(place, hostname, address);
    if (protocol === "http:" && !isLoopbackAddress(address)) {
      throw refused(place, `its host resolves to ${address}, which is not loopback; use https`);
    }
  }
}

/** The address that a literal host is; undefined for a name. */
export function literalOf({ hostname }: URL): string | undefined {
  const text = withoutBrackets(hostname);
  return isAddress(text) ? text : undefined;
}

/** An address as it may be shown: without its query, which may hold secrets. */
export function describe({ origin, pathname }: URL): string {
  return origin + (pathname.length > 200 ? `${pathname.slice(0, 200)}…` : pathname);
}

/** The error for an address that may not be visited. */
export function refused(place: string, why: string): PortolanError {
  return new PortolanError("address-refused", `${place} is refused: ${why}`);
}

function notPublic(place: string, hostname: string, address: string): PortolanError {
  const what = address === hostname ? "its host is not public" : `its host resolves to ${address}, which is not public`;
  return refused(place, `${what}; to allow it, put ${JSON.stringify(hostname)} into \`privateHosts\``);
}

/** Whether the host of a URL says that it is this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return loopbackNames.test(hostname) || isLoopbackAddress(withoutBrackets(hostname));
}

function isPrivateHost(hostname: string): boolean {
  const text = withoutBrackets(hostname);
  return isAddress(text) ? !isPublicAddress(text) : privateNames.test(hostname);
}

/** A name may lead to a private network; what it leads to is seen when it is resolved. */
function mayBeNeighbour(hostname: string, { neighbourOf }: FetchPolicy): boolean {
  if (neighbourOf === undefined || loopbackNames.test(hostname)) return false;
  const text = withoutBrackets(hostname);
  return !isAddress(text) || isPrivateNetworkAddress(text);
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** As the URL parser writes them, so that equal hosts are equal texts. */
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
