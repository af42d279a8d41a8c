/** A source of numbers from 0 up to, but not including, 1. */
export type Random = () => number;

/** The same numbers for the same seed, on every machine. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return () => {
    // Mulberry32: one word of state, good enough to choose faults by.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bytes in pieces of random size, none of them empty: often single bytes, sometimes all that is left. */
export function splitRandomly(bytes: Uint8Array, random: Random): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + pieceLength(bytes.length - start, random);
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}

/** How much of what is left goes first: at least one byte. */
export function pieceLength(left: number, random: Random): number {
  const chance = random();
  if (chance < 0.25) return 1;
  return chance > 0.9 ? left : 1 + Math.floor(random() * left);
}
