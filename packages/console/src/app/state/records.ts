import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";

/** Records by id in the order of their arrival, each with a signal of its own. */
export class SignalRecords<T> {
  readonly #idOf: (record: T) => string;
  readonly #signals = new Map<string, Signal<T | undefined>>();
  readonly #watched = new Set<string>();
  readonly #ids: Signal<readonly string[]> = signal([]);
  /** All records. Changes with each of them: a component that shows one reads `get`. */
  readonly all: ReadonlySignal<readonly T[]> = computed(() =>
    this.#ids.value.flatMap((id) => this.#signals.get(id)?.value ?? []),
  );

  constructor(idOf: (record: T) => string) {
    this.#idOf = idOf;
  }

  get ids(): ReadonlySignal<readonly string[]> {
    return this.#ids;
  }

  /** The signal of a record, also of one that does not exist yet. */
  get(id: string): ReadonlySignal<T | undefined> {
    return this.#signal(id);
  }

  put(record: T): void {
    const id = this.#idOf(record);
    this.#signal(id).value = record;
    if (!this.#ids.peek().includes(id)) this.#ids.value = [...this.#ids.peek(), id];
  }

  remove(id: string): void {
    const known = this.#signals.get(id);
    if (known) known.value = undefined;
    // A part of the page that still watches it sees the record when it comes again.
    if (!this.#watched.has(id)) this.#signals.delete(id);
    this.#ids.value = this.#ids.peek().filter((other) => other !== id);
  }

  /** Replaces all records. */
  reset(records: readonly T[]): void {
    const ids = records.map(this.#idOf);
    for (const id of [...this.#signals.keys()].filter((known) => !ids.includes(known))) this.remove(id);
    for (const record of records) this.#signal(this.#idOf(record)).value = record;
    this.#ids.value = ids;
  }

  /** Removes the oldest records but `most`, unless `keep` wants them. */
  trim(most: number, keep: (record: T) => boolean): void {
    const ids = this.#ids.peek();
    let surplus = ids.length - most;
    for (const id of ids) {
      if (surplus <= 0) return;
      const record = this.#signals.get(id)?.peek();
      if (record !== undefined && keep(record)) continue;
      this.remove(id);
      surplus -= 1;
    }
  }

  #signal(id: string): Signal<T | undefined> {
    const known = this.#signals.get(id);
    if (known) return known;
    const made = signal<T | undefined>(undefined, {
      watched: () => this.#watched.add(id),
      unwatched: () => {
        this.#watched.delete(id);
        if (made.peek() === undefined) this.#signals.delete(id);
      },
    });
    this.#signals.set(id, made);
    return made;
  }
}
