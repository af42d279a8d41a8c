import { canonicalJson } from "../storage/crypto.ts";
import { turn } from "./clock.ts";

/** One promise of an interface: `run` rejects when it is broken. */
export interface ContractCheck {
  readonly name: string;
  run(): Promise<void>;
}

/** Checks by the sentence they prove. */
export type ChecksOf<T> = { readonly [sentence: string]: (subject: T) => Promise<void> };

/** Gives each check a subject of its own, which is released whatever comes of it. */
export function toChecks<T extends { release?(): Promise<void> }>(
  checks: ChecksOf<T>,
  make: () => T | Promise<T>,
): ContractCheck[] {
  return Object.entries(checks).map(([name, check]) => {
    const run = async () => {
      const subject = await make();
      try {
        await check(subject);
      } finally {
        await subject.release?.();
      }
    };
    return { name, run };
  });
}

/** Throws unless both are the same JSON. */
export function same(actual: unknown, expected: unknown): void {
  const [got, wanted] = [canonicalJson({ value: actual }), canonicalJson({ value: expected })];
  if (got !== wanted) throw new Error(`Expected ${wanted}, got ${got}`);
}

/** The code of the error that is thrown, now or later. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return "no error";
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

/** What was heard so far, and a way to wait for more. */
export class Heard<T> {
  readonly all: T[] = [];
  #watchers: (() => void)[] = [];

  add(item: T): void {
    this.all.push(item);
    for (const wake of this.#watchers.splice(0)) wake();
  }

  /** Resolves when so much has been heard in all. */
  async count(items: number): Promise<readonly T[]> {
    while (this.all.length < items) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.all;
  }
}

/** Gives what should not come a chance to come. */
export async function quiet(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await turn();
}
