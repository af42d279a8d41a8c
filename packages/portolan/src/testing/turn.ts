// Not every runtime has setImmediate; it is the one that does not wait a millisecond.
const schedule: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => setImmediate(call) : (call) => setTimeout(call, 0);

/** Resolves when every promise that could settle has, and whatever was scheduled before has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => schedule(resolve));
}
