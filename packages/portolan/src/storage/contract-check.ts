import { canonicalJson } from "./crypto.ts";
import type { Storage } from "./storage.ts";

/** A fresh, empty storage, as the contract needs it. */
export interface StorageUnderTest {
  readonly storage: Storage;
  /** The same data as another process sees it; may be the same object where there is only one process. */
  readonly other: Storage;
  /** Resolves when at least so much time has passed for the storage. */
  passTime(ms: number): Promise<void>;
  release?(): Promise<void>;
}

/** Checks by the sentence they prove. */
export type Checks = Record<string, (subject: StorageUnderTest) => Promise<void>>;

/** Throws unless both are the same JSON. */
export function same(actual: unknown, expected: unknown): void {
  const [got, wanted] = [canonicalJson({ value: actual }), canonicalJson({ value: expected })];
  if (got !== wanted) throw new Error(`Expected ${wanted}, got ${got}`);
}

/** The code of the error a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "no error",
    (error: { code?: unknown }) => error.code,
  );
}
