import type { RpcError } from "../../jsonrpc/message.ts";
import type { Principal } from "../call/exchange.ts";
import { anonymous } from "../call/exchange.ts";
import type { Caller, Callers } from "../callers.ts";
import type { HttpRequest } from "./adapter.ts";
import { isLoopback } from "./hosts.ts";
import { entryOverheadBytes } from "./limits.ts";
import type { ServeHttpOptions, TrustedProxy } from "./options.ts";

/** Longer keys are cut. An address has at most 45 characters. */
const maxKeyCharacters = 200;

/** Returns the caller of a request, whose limits the request uses. */
export function callerOf(
  callers: Callers,
  request: HttpRequest,
  principal: Principal,
  options: ServeHttpOptions,
): Caller {
  const key = callerKeyOf(request, principal, options);
  return key === undefined && request.remoteAddress === undefined ? callers.shared : callers.get(key);
}

/** Returns the key of the caller of a request; undefined for an anonymous caller of this machine or without an address. */
export function callerKeyOf(
  request: HttpRequest,
  principal: Principal,
  { caller, trustProxy }: ServeHttpOptions,
): string | undefined {
  if (principal !== anonymous) return `principal ${principal.key}`;
  const named = caller?.(request);
  if (named !== undefined) return `caller ${named.slice(0, maxKeyCharacters)}`;
  const address = (trustProxy ? forwardedAddress(request, trustProxy) : undefined) ?? remoteAddressOf(request);
  return address === undefined ? undefined : `address ${networkOf(address)}`;
}

function remoteAddressOf({ remoteAddress }: HttpRequest): string | undefined {
  return remoteAddress === undefined || isLoopback(remoteAddress) ? undefined : remoteAddress;
}

/** Returns whether a proxy of this machine sent a request, so that all of its clients look like one local caller. */
export function isFromLocalProxy(request: HttpRequest): boolean {
  if (presentHeaders(request).length === 0) return false;
  return request.remoteAddress !== undefined && isLoopback(request.remoteAddress);
}

/** Returns the headers of a request in which a proxy may have written an address. */
function presentHeaders(request: HttpRequest): string[] {
  return ["x-forwarded-for", "forwarded"].filter((name) => request.header(name) !== undefined);
}

/** Returns whether an anonymous request has two headers that may name its caller, one of which its client may have forged. */
export function hasTwoAddresses(
  request: HttpRequest,
  principal: Principal,
  { caller, trustProxy }: ServeHttpOptions,
): boolean {
  if (!trustProxy || typeof trustProxy === "object" || principal !== anonymous) return false;
  return presentHeaders(request).length > 1 && caller?.(request) === undefined;
}

/**
 * Returns the address that the outermost of our proxies wrote. Each proxy appends the address that it sees, so everything
 * before that entry may be forged.
 */
function forwardedAddress(request: HttpRequest, trusted: true | number | TrustedProxy): string | undefined {
  const isNamed = typeof trusted === "object";
  const proxies = isNamed ? (trusted.proxies ?? 1) : Number(trusted);
  const [header, other] = isNamed ? [trusted.header.toLowerCase()] : presentHeaders(request);
  const entries = header === undefined || other !== undefined ? undefined : request.header(header)?.split(",");
  const entry = entries?.[Math.max(0, entries.length - proxies)]?.trim() ?? "";
  const address =
    header === "forwarded" ? /(?:^|;)\s*for=("[^"]*"|[^;]*)/i.exec(entry)?.[1]?.replaceAll('"', "") : entry;
  return address ? withoutPort(address.trim()) : undefined;
}

function withoutPort(address: string): string {
  return /^\[([^\]]*)\]/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
}

/** Returns the key of an address: an IPv4 address itself, of an IPv6 address the /64 network, which one customer has. */
export function networkOf(address: string): string {
  const text = address.toLowerCase().split("%", 1)[0] ?? "";
  const mapped = /^::ffff:([\d.]+)$/.exec(text)?.[1];
  if (mapped !== undefined) return mapped;
  if (!text.includes(":")) return text.slice(0, maxKeyCharacters);
  const [head = "", tail] = text.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  while (groups.length + rest.length < 8) groups.push("0");
  const network = [...groups, ...rest].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

/** Counts a subscribed URI for a caller. Returns the error if the caller has no room for it. */
export function takeSubscription(caller: Caller, uri: string): RpcError | undefined {
  const tooMany = caller.take("subscriptions");
  if (tooMany) return caller.beyond("subscriptions", tooMany, "unsubscribe first");
  const full = caller.take("keptBytes", uri.length + entryOverheadBytes);
  if (!full) return undefined;
  caller.release("subscriptions");
  return caller.beyond("keptBytes", full);
}

/** Gives back what a subscribed URI has taken. */
export function releaseSubscription(caller: Caller, uri: string): void {
  caller.release("subscriptions");
  caller.release("keptBytes", uri.length + entryOverheadBytes);
}
