import type { Rows } from "./rows.ts";

/** So many in so much time. */
export interface Limit {
  readonly most: number;
  readonly windowMs: number;
}

const maxTries = 50;

/** Counts one more of a kind for somebody; false when there were too many, in all processes together. */
export async function isWithin(rows: Rows, kind: string, who: string, limit: Limit): Promise<boolean> {
  const { most, windowMs } = limit;
  const key = await keyOf(rows, kind, who, limit);
  for (let tries = 0; tries < maxTries; tries += 1) {
    const row = await rows.read<number>(key);
    if (row === undefined) {
      if (await rows.add(key, 1, windowMs)) return most >= 1;
    } else {
      if (row.value >= most) return false;
      if (await row.replace(row.value + 1)) return true;
    }
  }
  // So many at once is too many.
  return false;
}

/** Takes one back that should not have counted. */
export async function uncount(rows: Rows, kind: string, who: string, limit: Limit): Promise<void> {
  const key = await keyOf(rows, kind, who, limit);
  for (let tries = 0; tries < maxTries; tries += 1) {
    const row = await rows.read<number>(key);
    if (row === undefined || row.value === 0 || (await row.replace(row.value - 1))) return;
  }
}

function keyOf(rows: Rows, kind: string, who: string, { windowMs }: Limit): Promise<string> {
  return rows.keyOf(`limit-${kind}`, who, String(Math.floor(Date.now() / windowMs)));
}

/** Whom an address counts for: with IPv6 one household has a whole network of them. */
export function networkOf(address: string): string {
  const [head = "", tail = ""] = address.split("::");
  if (!address.includes(":") || /\d+\.\d+\.\d+\.\d+$/.test(address)) return address;
  const groups = head === "" ? [] : head.split(":");
  const behind = tail === "" ? [] : tail.split(":");
  const all = [...groups, ...Array(Math.max(0, 8 - groups.length - behind.length)).fill("0"), ...behind];
  return `${all.slice(0, 4).join(":")}::/64`;
}
