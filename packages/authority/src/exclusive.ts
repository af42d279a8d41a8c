import { randomUUID } from "node:crypto";
import type { Rows } from "./rows.ts";

/** Whoever dies while it works holds nobody up for longer. */
const longestMs = 30_000;
/** How often a lock is tried whose release was not heard of. */
const againMs = 500;

/** Runs `work` while nobody else does under the same key, in this process or another one. */
export async function exclusive<T>(rows: Rows, key: string, work: () => Promise<T>): Promise<T> {
  const { kv, bus } = rows.storage;
  const lock = `${key}/lock`;
  const holder = randomUUID();
  let heard = (): void => {};
  const unsubscribe = await bus.subscribe(
    lock,
    () => heard(),
    () => heard(),
  );
  try {
    while (!(await kv.set(lock, holder, { ttlMs: longestMs, expect: null }))) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, againMs);
        heard = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    await unsubscribe();
  }
  try {
    return await work();
  } finally {
    // Not somebody else's, who has taken it over because this took too long.
    if ((await kv.get(lock)) === holder) await kv.delete(lock);
    await bus.publish(lock, "");
  }
}
