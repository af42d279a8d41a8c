import type { JsonObject } from "portolan";
import { maxAppMessageChars, maxAppMessageDepth } from "./limits.ts";

/** A value that is no message for a host, and why. */
export interface RefusedMessage {
  readonly problem: string;
  /** True if it was not read because of its size. */
  readonly isTooLarge?: boolean;
}

/**
 * Measures a value that another window has posted: its characters as JSON. Such a value may contain itself, or one part a
 * million times, so that the walk ends with a budget and at a depth.
 */
export function measure(value: unknown, budget: number = maxAppMessageChars): number | RefusedMessage {
  let chars = 0;
  let problem: RefusedMessage | undefined;
  const visit = (item: unknown, depth: number): boolean => {
    if (typeof item === "string") chars += item.length + 2;
    else chars += 5;
    if (chars > budget) return refuse({ problem: `longer than ${budget} characters`, isTooLarge: true });
    if (item === null || ["string", "boolean", "undefined", "number"].includes(typeof item)) return true;
    if (typeof item !== "object") return refuse({ problem: `a ${typeof item} is no JSON` });
    if (depth >= maxAppMessageDepth) return refuse({ problem: `nested more deeply than ${maxAppMessageDepth} levels` });
    if (Array.isArray(item)) return item.every((one) => visit(one, depth + 1));
    const prototype: unknown = Object.getPrototypeOf(item);
    if (prototype !== Object.prototype && prototype !== null) return refuse({ problem: "not plain JSON" });
    for (const name of Object.keys(item)) {
      chars += name.length + 3;
      if (!visit((item as JsonObject)[name], depth + 1)) return false;
    }
    return true;
  };
  const refuse = (why: RefusedMessage): false => {
    problem = why;
    return false;
  };
  visit(value, 0);
  return problem ?? chars;
}

/** Lets so many units through in a second, and a number of them at once. */
export class Allowance {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor(perSecond: number, burst: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#now = now;
    this.#left = burst;
    this.#at = now();
  }

  /** Takes units. Returns false if there are not enough. */
  take(units: number): boolean {
    const now = this.#now();
    const earned = Math.max(0, now - this.#at) * (this.#perSecond / 1_000);
    this.#left = Math.min(this.#burst, this.#left + earned);
    this.#at = now;
    if (units > this.#left) return false;
    this.#left -= units;
    return true;
  }
}
