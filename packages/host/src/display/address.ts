import { PortolanError } from "portolan";
import { isAddress, isLoopbackAddress } from "portolan/internal";
import { maxUrlChars } from "../limits.ts";
import { display } from "./escape.ts";
import { bare, skeletonOf, toLatin } from "./suspicious.ts";

/** Facts about an address that a person should know before opening it. */
export interface HostInspection {
  /** The whole address as a browser reads it, in ASCII. */
  readonly href: string;
  readonly scheme: string;
  /** Name and port in ASCII. */
  readonly host: string;
  /** The name as some browsers show it, escaped. */
  readonly unicodeHost: string;
  readonly isPunycode: boolean;
  /** Letters of several scripts in one label. */
  readonly mixesScripts: boolean;
  /** The name that this one seems to imitate. */
  readonly imitates?: string;
  readonly isIp: boolean;
  readonly isLoopback: boolean;
  readonly hasCredentials: boolean;
  /** One sentence for each reason for care; empty for an ordinary address. */
  readonly warnings: readonly string[];
}

/** Inspects an address without opening it. `known` are hosts that others may imitate. */
export function inspectHost(url: string | URL, known: Iterable<string> = []): HostInspection {
  const parsed = parse(url);
  const { hostname } = parsed;
  const name = hostname.replace(/\.$/, "");
  const address = name.replace(/^\[|\]$/g, "");
  const unicode = toUnicodeHost(name);
  const imitates = imitatedBy(name, unicode, [...known]);
  const facts = {
    href: parsed.href,
    scheme: parsed.protocol.slice(0, -1),
    host: parsed.host,
    unicodeHost: display(unicode),
    isPunycode: name.split(".").some((label) => label.startsWith("xn--")),
    mixesScripts: unicode.split(".").some(mixesScripts),
    ...(imitates === undefined ? {} : { imitates }),
    isIp: isAddress(address),
    isLoopback: isLoopbackAddress(address) || name === "localhost" || name.endsWith(".localhost"),
    hasCredentials: parsed.username !== "" || parsed.password !== "",
  };
  return { ...facts, warnings: warn(facts, parsed, String(url)) };
}

function parse(url: string | URL): URL {
  const text = String(url);
  if (text.length <= maxUrlChars && URL.canParse(text)) return new URL(text);
  throw new PortolanError(
    "invalid-argument",
    `inspectHost: expected an absolute URL, got ${display(text, { maxChars: 100 })}`,
  );
}

function warn(facts: Omit<HostInspection, "warnings">, { port }: URL, given: string): string[] {
  const warnings: string[] = [];
  const { scheme, host, unicodeHost } = facts;
  if (scheme !== "https" && !(scheme === "http" && facts.isLoopback)) {
    warnings.push(
      scheme === "http" ? "The connection is not encrypted (http)." : `This is not a web address (${scheme}:).`,
    );
  }
  if (facts.hasCredentials) warnings.push(`The part before the @ is not the host. The host is ${host}.`);
  if (facts.isPunycode) warnings.push(`The name contains special letters: ${unicodeHost} is ${host}.`);
  if (facts.mixesScripts) warnings.push("The name mixes letters of several scripts.");
  if (facts.imitates !== undefined) warnings.push(`The name looks like ${facts.imitates}, but it is a different host.`);
  if (facts.isIp && !facts.isLoopback) warnings.push("The host is an IP address without a name.");
  if (port !== "" && !facts.isLoopback) warnings.push(`The port is unusual: ${port}.`);
  if (display(given) !== given) warnings.push("The address contains hidden or unusual characters.");
  return warnings;
}

/** Scripts that are used together count as one; Japanese mixes three. */
const scripts = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
  /\p{Script=Georgian}/u,
  /\p{Script=Cherokee}/u,
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u,
];

function mixesScripts(label: string): boolean {
  return scripts.filter((script) => script.test(label)).length > 1;
}

/** Finds a known host in other letters or in front of the real one, or a Latin name in other letters. */
function imitatedBy(name: string, unicode: string, known: readonly string[]): string | undefined {
  const skeleton = skeletonOf(unicode);
  for (const other of known) {
    if (name === other || name.endsWith(`.${other}`)) return undefined;
    if (skeletonOf(other) === skeleton || name.startsWith(`${other}.`) || name.includes(`.${other}.`)) return other;
  }
  const latin = toLatin(unicode);
  // Accents alone are no imitation: many languages use them.
  return latin !== bare(unicode) && /^[\x21-\x7e]+$/.test(latin) ? latin : undefined;
}

const base = 36;
const [tMin, tMax, skew, damp, firstBias, firstCode] = [1, 26, 38, 700, 72, 128];

/** Decodes the `xn--` labels of a host; an invalid label stays as it is. */
export function toUnicodeHost(host: string): string {
  return host
    .split(".")
    .map((label) => (label.startsWith("xn--") ? (decode(label.slice(4)) ?? label) : label))
    .join(".");
}

/** RFC 3492. A host is at most 253 characters, so inserting in the middle costs nothing. */
function decode(label: string): string | undefined {
  if (label === "") return undefined;
  const cut = label.lastIndexOf("-");
  const signs = cut > 0 ? [...label.slice(0, cut)].map((sign) => sign.charCodeAt(0)) : [];
  let code = firstCode;
  let bias = firstBias;
  let place = 0;
  for (let at = cut > 0 ? cut + 1 : 0; at < label.length; ) {
    const before = place;
    let weight = 1;
    for (let k = base; ; k += base) {
      const digit = digitOf(label.charCodeAt(at));
      at += 1;
      if (digit === undefined) return undefined;
      place += digit * weight;
      const threshold = Math.min(Math.max(k - bias, tMin), tMax);
      if (digit < threshold) break;
      weight *= base - threshold;
    }
    const count = signs.length + 1;
    bias = adapt(place - before, count, before === 0);
    code += Math.floor(place / count);
    if (!(code <= 0x10ffff)) return undefined;
    place %= count;
    signs.splice(place, 0, code);
    place += 1;
  }
  return String.fromCodePoint(...signs);
}

function digitOf(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26;
  return undefined;
}

function adapt(distance: number, count: number, isFirst: boolean): number {
  let delta = Math.floor(distance / (isFirst ? damp : 2));
  delta += Math.floor(delta / count);
  let k = 0;
  for (; delta > ((base - tMin) * tMax) >> 1; k += base) delta = Math.floor(delta / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * delta) / (delta + skew));
}
