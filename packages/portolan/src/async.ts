/** A value, or a promise of it: what is there at once is not made to wait. */
export type MaybePromise<T> = T | Promise<T>;

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Applies a function to a value when it is there; synchronous where the value is. */
export function whenDone<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** A part that is loaded when it is first needed. */
export class Lazy<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | undefined;
  /** It, once it is there. */
  loaded: T | undefined;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): MaybePromise<T> {
    if (this.loaded !== undefined) return this.loaded;
    this.#loading ??= this.#load().then((loaded) => {
      this.loaded = loaded;
      return loaded;
    });
    return this.#loading;
  }
}
