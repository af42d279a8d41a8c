import type { Host } from "portolan-host";
import type { Publish } from "./events.ts";
import type { ConsoleOptions } from "./options.ts";

/** The parts of a console that each of its subjects uses. */
export interface ConsoleBase {
  readonly options: ConsoleOptions;
  readonly host: Host;
  /** Random, another one for each start. */
  readonly boot: string;
  readonly publish: Publish;
  readonly onError: (error: unknown) => void;
  /** Aborts when the console closes. */
  readonly closing: AbortSignal;
}

/** Lets other requests pass when work takes longer than a slice. */
export function createSlices(sliceMs: number): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < sliceMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now();
        resolve();
      });
    });
  };
}

/** Ends parts one after the other, also when an earlier one fails. Rejects with the first failure. */
export async function endAll(ends: readonly (() => Promise<unknown> | undefined)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends) {
    try {
      await end();
    } catch (reason) {
      failures.push(reason);
    }
  }
  if (failures.length > 0) throw failures[0];
}
