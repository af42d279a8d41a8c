import { maxWriteAttempts } from "./limits.ts";
import type { Rows } from "./rows.ts";

/** At most `max` attempts in a fixed window of time. */
export interface RateLimit {
  readonly max: number;
  readonly windowMs: number;
}

/** Counts an attempt, or several at once. Resolves to false if there were too many, in all processes together. */
export async function tryConsume(
  rows: Rows,
  kind: string,
  who: string,
  limit: RateLimit,
  amount = 1,
): Promise<boolean> {
  const { max, windowMs } = limit;
  const key = await keyOf(rows, kind, who, limit);
  for (let tries = 0; tries < maxWriteAttempts; tries += 1) {
    const row = await rows.read<number>(key);
    if (row === undefined) {
      if (amount > max) return false;
      if (await rows.addOrReplaceUnreadable(key, amount, windowMs)) return true;
    } else {
      if (row.value + amount > max) return false;
      if (await row.replace(row.value + amount)) return true;
    }
  }
  // The counter changes too often: that many parallel attempts are above any limit.
  return false;
}

/** Takes back an attempt that should not count. */
export async function refund(rows: Rows, kind: string, who: string, limit: RateLimit): Promise<void> {
  const key = await keyOf(rows, kind, who, limit);
  for (let tries = 0; tries < maxWriteAttempts; tries += 1) {
    const row = await rows.read<number>(key);
    if (row === undefined || row.value === 0 || (await row.replace(row.value - 1))) return;
  }
}

function keyOf(rows: Rows, kind: string, who: string, { windowMs }: RateLimit): Promise<string> {
  return rows.keyOf(`limit-${kind}`, who, String(Math.floor(Date.now() / windowMs)));
}

/** Returns the network that an address counts for: with IPv6 one household has a /64 of addresses. */
export function networkOf(address: string): string {
  const [head = "", tail = ""] = address.split("::");
  if (!address.includes(":") || address.includes(".")) return address;
  const groups = head === "" ? [] : head.split(":");
  const behind = tail === "" ? [] : tail.split(":");
  const all = [...groups, ...Array(Math.max(0, 8 - groups.length - behind.length)).fill("0"), ...behind];
  return `${all.slice(0, 4).join(":")}::/64`;
}
