/** An IPv4 or IPv6 address as a number. */
interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** The addresses that share the first `length` bits of `value`. */
interface Range extends Address {
  readonly length: number;
}

/**
 * The ranges of IANA's special-purpose registry that are not globally reachable. The last one is not in the registry:
 * it is the address of the platform of every Azure machine.
 */
const specialIpv4 = toRanges(
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
  ...["224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"],
);

/** All other IPv6 addresses are private, local, multicast, translated or unassigned. */
const globalIpv6 = toRanges("2000::/3");
/** Protocol assignments with Teredo and ORCHID, documentation, 6to4: packets do not end where the address says. */
const specialIpv6 = toRanges("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20");
/** Ranges that contain IPv4 addresses: mapped ones, and those of NAT64. */
const wrappedIpv4 = toRanges("::ffff:0:0/96", "64:ff9b::/96");
const loopback = toRanges("127.0.0.0/8", "::1/128");
const privateNetworks = toRanges("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7");

/** True for an IPv4 or IPv6 address of the public internet; false for a text that is not an address. */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && isPublic(parsed);
}

/** True for an IPv4 or IPv6 address in its usual notation: no zone, no octal numbers, no brackets. */
export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined;
}

/** True for an address of this machine. */
export function isLoopbackAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && isWithin(parsed, loopback);
}

/** True for an address in the private network of an organization or a home. */
export function isPrivateNetworkAddress(address: string): boolean {
  const parsed = parseAddress(address);
  return parsed !== undefined && isWithin(parsed, privateNetworks);
}

function isPublic(address: Address): boolean {
  if (address.bits === 32) return !isWithin(address, specialIpv4);
  if (isWithin(address, wrappedIpv4)) return isPublic({ bits: 32, value: BigInt.asUintN(32, address.value) });
  return isWithin(address, globalIpv6) && !isWithin(address, specialIpv6);
}

function isWithin({ bits, value }: Address, ranges: readonly Range[]): boolean {
  return ranges.some((range) => {
    const rest = BigInt(bits - range.length);
    return range.bits === bits && value >> rest === range.value >> rest;
  });
}

function parseAddress(text: string): Address | undefined {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text)) return parseIpv4(text);
  // The URL parser normalizes IPv6; the pattern excludes characters that would end its brackets.
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined;
  return { bits: 128, value: toIpv6(new URL(`http://[${text}]`).hostname.slice(1, -1)) };
}

function parseIpv4(text: string): Address | undefined {
  let value = 0n;
  for (const part of text.split(".")) {
    // Some parsers read a leading zero as octal, so the number is ambiguous.
    if (Number(part) > 255 || (part.length > 1 && part.startsWith("0"))) return undefined;
    value = (value << 8n) | BigInt(part);
  }
  return { bits: 32, value };
}

function toIpv6(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const [before, after] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const missing = 8 - (before?.length ?? 0) - (after?.length ?? 0);
  const groups = [...(before ?? []), ...Array.from({ length: missing }, () => "0"), ...(after ?? [])];
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function toRanges(...texts: string[]): Range[] {
  return texts.flatMap((text) => {
    const [address = "", length] = text.split("/");
    const parsed = parseAddress(address);
    return parsed ? [{ ...parsed, length: Number(length) }] : [];
  });
}
