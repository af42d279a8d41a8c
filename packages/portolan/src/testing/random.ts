/** Returns a number from 0 to 1, without 1, like `Math.random`. */
export type Random = () => number;

/** Creates a random source that returns the same numbers for the same seed on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    // Mulberry32: one word of state, good enough for choosing faults.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Splits bytes into pieces of random size: often a single byte, sometimes the rest, never empty. */
export function splitRandomly(bytes: Uint8Array, random: Random): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + pieceLength(bytes.length - start, random);
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}

/** Returns the size of the next piece: at least 1. */
export function pieceLength(left: number, random: Random): number {
  const chance = random();
  if (chance < 0.25) return 1;
  return chance > 0.9 ? left : 1 + Math.floor(random() * left);
}
