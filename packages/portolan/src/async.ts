/** A value or its promise. Values that are available are not wrapped, so that hot paths stay synchronous. */
export type MaybePromise<T> = T | Promise<T>;

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Calls `next` with the value: at once, or when the promise resolves. */
export function whenDone<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** A part of the program that is loaded on first use. */
export class Lazy<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | undefined;
  /** The part; undefined until it is loaded. */
  loaded: T | undefined;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): MaybePromise<T> {
    if (this.loaded !== undefined) return this.loaded;
    this.#loading ??= this.#load()
      .then((loaded) => {
        this.loaded = loaded;
        return loaded;
      })
      // After a failure the next use tries again. Node remembers a failed import(): servers preload their parts.
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }
}

/** The functions that wait for each signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a function when the signal aborts, unless it has aborted already. Returns the function that ends the wait. All
 * that wait for one signal share a listener: node warns of more than ten, as if they were a leak, and one costs more than
 * the rest of a call.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  let all = waiting.get(signal);
  if (!all) {
    all = new Set();
    waiting.set(signal, all);
    signal.addEventListener("abort", runAll);
  }
  const added = all;
  added.add(run);
  return () => {
    added.delete(run);
    // A signal that something listens to is kept in memory.
    if (added.size > 0 || waiting.get(signal) !== added) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", runAll);
  };
}

function runAll(this: AbortSignal): void {
  for (const run of [...(waiting.get(this) ?? [])]) run();
}
