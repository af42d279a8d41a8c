import { skeletonOf } from "./confusables.ts";

/** Which of the other names this one could be taken for; the very same name is not meant. */
export function lookalike(name: string, others: Iterable<string>): string | undefined {
  const skeleton = skeletonOf(name);
  for (const other of others) {
    if (other !== name && skeletonOf(other) === skeleton) return other;
  }
  return undefined;
}
