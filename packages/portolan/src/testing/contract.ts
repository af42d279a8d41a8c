import { canonicalJson } from "../storage/crypto.ts";
import { macrotask } from "./clock.ts";

/** One requirement of an interface. `run` rejects if it is not met. */
export interface ContractCheck {
  readonly name: string;
  run(): Promise<void>;
}

/** Checks by the requirement that they verify. */
export type ChecksOf<T> = { readonly [sentence: string]: (subject: T) => Promise<void> };

/** Turns checks into test cases. Each gets a subject of its own, which is released in any case. */
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

/** Throws if the values differ as JSON. */
export function same(actual: unknown, expected: unknown): void {
  const [got, wanted] = [canonicalJson({ value: actual }), canonicalJson({ value: expected })];
  if (got !== wanted) throw new Error(`Expected ${wanted}, got ${got}`);
}

/** Returns the code of the error that `act` throws or rejects with. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return "no error";
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

/** A list of received items, and a way to wait for more. */
export class Received<T> {
  readonly all: T[] = [];
  #watchers: (() => void)[] = [];

  add(item: T): void {
    this.all.push(item);
    for (const wake of this.#watchers.splice(0)) wake();
  }

  /** Resolves when this many items have been received in all. */
  async count(items: number): Promise<readonly T[]> {
    while (this.all.length < items) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.all;
  }
}

/** Waits long enough for unwanted messages to arrive. */
export async function quiet(): Promise<void> {
  for (let rounds = 0; rounds < 10; rounds += 1) await macrotask();
}
