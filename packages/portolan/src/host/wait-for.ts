import { toError } from "../client/failures.ts";

/** Waits unless the signal aborts before; what others wait for goes on. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    // Heard in any case: what fails when nobody waits any more is still handled.
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
