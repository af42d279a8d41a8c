import type { SafeFetch } from "portolan/net";

/** Returns true if robots.txt allows a URL. */
export type MayFetch = (url: URL, signal: AbortSignal | undefined) => Promise<boolean>;

interface Rule {
  readonly isAllowed: boolean;
  readonly pattern: string;
}

const agent = "portolan-fetch";
const maxOrigins = 256;
const keepMs = 600_000;
/** Length limit of a robots.txt; RFC 9309 asks for at least 500 KiB. */
const maxText = 512 * 1024;
const maxRules = 5_000;

/** Creates a check against the robots.txt of each origin, which is cached for some time. */
export function createRobots(fetch: SafeFetch, now: () => number = Date.now): MayFetch {
  const known = new Map<string, { readonly until: number; readonly rules: readonly Rule[] }>();
  return async (url, signal) => {
    const found = known.get(url.origin);
    if (found && found.until > now()) return mayFetch(found.rules, url);
    const rules = await readRules(fetch, url.origin, signal);
    known.delete(url.origin);
    known.set(url.origin, { until: now() + keepMs, rules });
    const [oldest] = known.keys();
    if (known.size > maxOrigins && oldest !== undefined) known.delete(oldest);
    return mayFetch(rules, url);
  };
}

const disallowAll: readonly Rule[] = [{ isAllowed: false, pattern: "/" }];

/** Reads the rules of an origin: no robots.txt allows everything, an unreachable one nothing. */
async function readRules(fetch: SafeFetch, origin: string, signal: AbortSignal | undefined): Promise<readonly Rule[]> {
  try {
    const headers = { "user-agent": `${agent}/0.1.0`, accept: "text/plain, */*;q=0.1" };
    const response = await fetch(`${origin}/robots.txt`, { headers, signal });
    if (response.ok) return parseRobots((await response.text()).slice(0, maxText));
    return response.status >= 400 && response.status < 500 && response.status !== 429 ? [] : disallowAll;
  } catch (reason) {
    signal?.throwIfAborted();
    return (reason as { code?: unknown }).code === "message-too-large" ? disallowAll : unreachable(reason);
  }
}

/** Rethrows an address that the policy refuses, because it refuses the page as well. */
function unreachable(reason: unknown): readonly Rule[] {
  if ((reason as { code?: unknown }).code === "address-refused") throw reason;
  return disallowAll;
}

/** Returns the rules for this agent: those of its own group, or else of the group for all agents. */
export function parseRobots(text: string): readonly Rule[] {
  const groups = new Map<string, Rule[]>();
  let agents: string[] = [];
  let isNaming = false;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line.slice(0, 2_000)) ?? [];
    const field = key.toLowerCase();
    if (field === "user-agent") {
      // Consecutive names share the rules that follow.
      const name = value.trim().toLowerCase();
      agents = isNaming ? [...agents, name] : [name];
      isNaming = true;
      if (!groups.has(name)) groups.set(name, []);
    } else if (field === "allow" || field === "disallow") {
      isNaming = false;
      const pattern = value.trim();
      for (const name of pattern === "" ? [] : agents) {
        const rules = groups.get(name);
        if (rules && rules.length < maxRules) rules.push({ isAllowed: field === "allow", pattern });
      }
    }
  }
  return groups.get(agent) ?? groups.get("*") ?? [];
}

/** The longest matching pattern decides; of two with equal length, the one that allows. */
export function mayFetch(rules: readonly Rule[], { pathname, search }: URL): boolean {
  const path = decode(pathname + search);
  let best: Rule | undefined;
  for (const rule of rules) {
    if (
      best &&
      (rule.pattern.length < best.pattern.length || (rule.pattern.length === best.pattern.length && best.isAllowed))
    ) {
      continue;
    }
    if (fits(decode(rule.pattern), path)) best = rule;
  }
  return best?.isAllowed ?? true;
}

/** Matches part by part, in linear time. */
function fits(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith("$");
  const [first = "", ...rest] = (isWhole ? pattern.slice(0, -1) : pattern).split("*");
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const found = isWhole && isLast ? path.length - part.length : path.indexOf(part, at);
    if (found < at || !path.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return !isWhole || at === path.length;
}

/** Normalizes percent-encoding, so that %7E equals ~. */
function decode(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
}
