import { type Run, spend } from "./run.ts";

/**
 * Counts a value with all members and items; 0 when serializing would change it, and negative when it is nested
 * more deeply than allowed.
 */
export function measure(value: unknown, depthLeft: number): number {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return 1;
  if (typeof value === "number") return Number.isFinite(value) ? 1 : 0;
  if (typeof value !== "object") return 0;
  if (depthLeft === 0) return -1;
  let count = 1;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner = measure(value[index], depthLeft - 1);
      if (inner <= 0) return inner;
      count += inner;
    }
    return count;
  }
  const members = value as { readonly [name: string]: unknown };
  if (typeof members["toJSON"] === "function") return 0;
  for (const name in members) {
    const inner = measure(members[name], depthLeft - 1);
    if (inner <= 0) return inner;
    count += inner;
  }
  return count;
}

/** Values by what they are, not by identity: `{a: 1, b: 2}` is `{b: 2, a: 1}`. */
export class ValueSet {
  readonly #plain = new Set<unknown>();
  /** Objects and arrays, as text. */
  readonly #composed = new Set<string>();

  /** False when the value was there already. */
  add(value: unknown, run?: Run): boolean {
    const isPlain = typeof value !== "object" || value === null;
    const set: Set<unknown> = isPlain ? this.#plain : this.#composed;
    const { size } = set;
    return set.add(isPlain ? value : canonical(value, run)).size > size;
  }

  has(value: unknown, run: Run): boolean {
    if (typeof value !== "object" || value === null) return this.#plain.has(value);
    return this.#composed.size > 0 && this.#composed.has(canonical(value, run));
  }
}

/** Writes a value such that equal values are written alike. */
function canonical(value: unknown, run: Run | undefined): string {
  const text = typeof value === "object" && value !== null ? "" : JSON.stringify(value);
  if (run !== undefined) spend(run, 1 + (text.length >> 6));
  if (typeof value !== "object" || value === null) return text;
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${canonical(name, run)}:${canonical(member, run)}`).join()}}`;
}

/** Divides as decimals are written: 0.0075 is a multiple of 0.0001, though not as binary fractions. */
export function isMultiple(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [digits, power] = decimal(value);
  const [divisorDigits, divisorPower] = decimal(divisor);
  const shift = power - divisorPower;
  if (shift < 0) return digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
  return (digits * 10n ** BigInt(shift)) % divisorDigits === 0n;
}

function decimal(value: number): [digits: bigint, power: number] {
  const [number = "", exponent = "0"] = String(value).split("e");
  const [whole, fraction = ""] = number.split(".");
  return [BigInt(`${whole}${fraction}`), Number(exponent) - fraction.length];
}

/** Counts characters, of which some take two units of a string. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    // Only the second half of a pair: a half alone is a character by itself.
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
}
