import { nameOf, PortolanError } from "../errors.ts";

/** Throws for a bound that bounds nothing; one that is undefined is left out. */
export function checkBounds(of: string, bounds: { readonly [name: string]: unknown }, least = 0): void {
  for (const [name, bound] of Object.entries(bounds)) {
    // Not a number is not at least anything.
    if (bound === undefined || (typeof bound === "number" && bound >= least)) continue;
    throw new PortolanError(
      "invalid-argument",
      `${of}${name}: expected a number of at least ${least}, got ${nameOf(bound)}`,
    );
  }
}
