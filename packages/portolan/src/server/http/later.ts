import type { MaybePromise } from "../../async.ts";

/** A part that is loaded when it is first needed. */
export class Later<T> {
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
