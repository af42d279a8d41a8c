import type { SafeFetch } from "portolan/net";

/** Returns the reason why robots.txt forbids a URL; undefined if it allows the URL. */
export type RefusalOf = (url: URL, signal: AbortSignal | undefined) => Promise<string | undefined>;

/** Size limit of a robots.txt; RFC 9309 asks for at least 500 KiB. */
export const maxRobotsBytes: number = 512 * 1024;

const agent = "portolan-fetch";
const maxOrigins = 256;
/** Characters of all cached files: the patterns of a rule are parts of its file, which they keep in memory. */
const maxCachedLength = 8_000_000;
const keepMs = 600_000;
/** A file that could not be read is asked for again soon. */
const keepFailureMs = 30_000;
const maxRules = 5_000;
const maxLineLength = 2_000;

/** The rules of an origin, or the reason why there are none. */
interface Robots {
  readonly rules: readonly Rule[];
  readonly length: number;
  readonly failure?: string;
}

/** Creates a check against the robots.txt of each origin, which is cached for some time. */
export function createRobots(fetch: SafeFetch, now: () => number = Date.now): RefusalOf {
  const known = new Map<string, { readonly until: number; readonly robots: Robots }>();
  const reading = new Map<string, Promise<Robots>>();
  let cachedLength = 0;

  const forget = (origin: string) => {
    cachedLength -= known.get(origin)?.robots.length ?? 0;
    known.delete(origin);
  };
  const keep = (origin: string, robots: Robots) => {
    forget(origin);
    known.set(origin, { until: now() + (robots.failure === undefined ? keepMs : keepFailureMs), robots });
    cachedLength += robots.length;
    for (const oldest of known.keys()) {
      if (known.size <= maxOrigins && cachedLength <= maxCachedLength) break;
      forget(oldest);
    }
  };
  /** All callers of an origin share one request; it goes on when one of them leaves. */
  const read = (origin: string): Promise<Robots> => {
    const begun =
      reading.get(origin) ??
      readRobots(fetch, origin)
        .then((robots) => {
          keep(origin, robots);
          return robots;
        })
        .finally(() => reading.delete(origin));
    reading.set(origin, begun);
    return begun;
  };

  return async (url, signal) => {
    signal?.throwIfAborted();
    const found = known.get(url.origin);
    const robots = found && found.until > now() ? found.robots : await unlessAborted(read(url.origin), signal);
    if (robots.failure !== undefined) {
      return `${url.origin} was not fetched, because its robots.txt ${robots.failure}; try again later, or fetch another source`;
    }
    if (mayFetch(robots.rules, url)) return undefined;
    return `robots.txt of ${url.origin} does not allow ${url.pathname}; fetch another source`;
  };
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  return await Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", leave));
}

/** Reads the rules of an origin: no robots.txt allows everything, one that cannot be read nothing. */
async function readRobots(fetch: SafeFetch, origin: string): Promise<Robots> {
  try {
    const headers = { "user-agent": `${agent}/0.1.0`, accept: "text/plain, */*;q=0.1" };
    const response = await fetch(`${origin}/robots.txt`, { headers });
    const { status } = response;
    if (!response.ok) {
      return status >= 400 && status < 500 && status !== 429 ? nothing : failed(`is answered with status ${status}`);
    }
    const text = await response.text();
    const rules = parseRobots(text);
    if (rules.length > maxRules) return failed(`has more than ${maxRules} rules for this program`);
    return { rules, length: text.length };
  } catch (reason) {
    const { code } = reason as { readonly code?: unknown };
    // The policy that refuses this address refuses the page as well.
    if (code === "address-refused") throw reason;
    return failed(code === "message-too-large" ? `is larger than ${maxRobotsBytes} bytes` : "could not be read");
  }
}

const nothing: Robots = { rules: [], length: 0 };

function failed(failure: string): Robots {
  return { rules: [], length: 0, failure };
}

/** A pattern for paths, split at its stars. */
interface Rule {
  readonly isAllowed: boolean;
  /** Length of the pattern as it was written: the longest decides. */
  readonly length: number;
  readonly parts: readonly string[];
  /** True if the pattern ends with `$`. */
  readonly isWhole: boolean;
}

/**
 * Returns the rules for this agent: those of its own groups, or else of the groups for all agents; at most one more than
 * `maxRules`. Takes linear time, and keeps nothing of the groups of other agents.
 */
export function parseRobots(text: string): readonly Rule[] {
  const own: Rule[] = [];
  const general: Rule[] = [];
  let hasOwn = false;
  let isOwn = false;
  let isGeneral = false;
  let isNaming = false;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line.slice(0, maxLineLength)) ?? [];
    const field = key.toLowerCase();
    if (field === "user-agent") {
      const name = value.trim().toLowerCase();
      // Consecutive names share the rules that follow.
      isOwn = (isNaming && isOwn) || name === agent;
      isGeneral = (isNaming && isGeneral) || name === "*";
      isNaming = true;
      hasOwn ||= isOwn;
    } else if (field === "allow" || field === "disallow") {
      isNaming = false;
      const isAllowed = field === "allow";
      // The start of a long pattern fits more paths than all of it: it may forbid too much, but not allow too much.
      if (!(isOwn || isGeneral) || value.trim() === "" || (isAllowed && line.length > maxLineLength)) continue;
      const rule = toRule(value.trim(), isAllowed);
      if (isOwn && own.length <= maxRules) own.push(rule);
      if (isGeneral && general.length <= maxRules) general.push(rule);
    }
  }
  return hasOwn ? own : general;
}

function toRule(written: string, isAllowed: boolean): Rule {
  const pattern = decode(written);
  const isWhole = pattern.endsWith("$");
  const parts = (isWhole ? pattern.slice(0, -1) : pattern).split(/\*+/);
  return { isAllowed, length: written.length, parts, isWhole };
}

/** The longest matching pattern decides; of two with equal length, the one that allows. */
export function mayFetch(rules: readonly Rule[], { pathname, search }: URL): boolean {
  const path = decode(pathname + search);
  let best: Rule | undefined;
  for (const rule of rules) {
    if (best && (rule.length < best.length || (rule.length === best.length && best.isAllowed))) continue;
    if (fits(rule, path)) best = rule;
  }
  return best?.isAllowed ?? true;
}

/** Matches part by part, in linear time: each part is taken where it is found first. */
function fits({ parts, isWhole }: Rule, path: string): boolean {
  const [first = "", ...rest] = parts;
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of rest.entries()) {
    const isEnd = isWhole && index === rest.length - 1;
    const found = isEnd ? path.length - part.length : indexOf(path, part, at);
    if (found < at || !path.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return !isWhole || at === path.length;
}

/** Parts up to this length are searched by `String.indexOf`, which multiplies the lengths in the worst case. */
const shortPart = 8;

/** Finds a text in another in linear time (Knuth, Morris and Pratt). */
function indexOf(text: string, part: string, from: number): number {
  if (part.length <= shortPart) return text.indexOf(part, from);
  const fallback = new Uint16Array(part.length);
  for (let at = 1, length = 0; at < part.length; ) {
    if (part[at] === part[length]) fallback[at++] = ++length;
    else if (length > 0) length = fallback[length - 1] ?? 0;
    else at += 1;
  }
  for (let at = from, length = 0; at < text.length; ) {
    if (text[at] === part[length]) {
      at += 1;
      length += 1;
      if (length === part.length) return at - length;
    } else if (length > 0) length = fallback[length - 1] ?? 0;
    else at += 1;
  }
  return -1;
}

/** Normalizes percent-encoding, so that %7E equals ~. */
function decode(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
}
