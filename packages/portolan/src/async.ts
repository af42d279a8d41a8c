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
