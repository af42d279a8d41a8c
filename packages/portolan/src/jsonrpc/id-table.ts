import type { RequestId } from "./message.ts";

const slots = 256;

/**
 * Pending requests by id. A Map that is filled and emptied for every call leaves grown tables to the garbage collector.
 * Consecutive numbers fit into fixed slots instead.
 */
export class IdTable<T> {
  readonly #ids: (RequestId | undefined)[] = new Array<RequestId | undefined>(slots).fill(undefined);
  readonly #values: (T | undefined)[] = new Array<T | undefined>(slots).fill(undefined);
  /** Ids that are strings, or whose slot is taken. */
  readonly #others = new Map<RequestId, T>();
  #taken = 0;

  get size(): number {
    return this.#taken + this.#others.size;
  }

  get(id: RequestId): T | undefined {
    const slot = slotOf(id);
    if (slot !== -1 && this.#ids[slot] === id) return this.#values[slot];
    return this.#others.size === 0 ? undefined : this.#others.get(id);
  }

  set(id: RequestId, value: T): void {
    const slot = slotOf(id);
    const holder = slot === -1 ? undefined : this.#ids[slot];
    if (slot === -1 || (holder !== undefined && holder !== id)) {
      this.#others.set(id, value);
      return;
    }
    if (holder === undefined) this.#taken += 1;
    this.#ids[slot] = id;
    this.#values[slot] = value;
  }

  delete(id: RequestId): boolean {
    const slot = slotOf(id);
    if (slot === -1 || this.#ids[slot] !== id) return this.#others.delete(id);
    this.#taken -= 1;
    this.#ids[slot] = undefined;
    this.#values[slot] = undefined;
    return true;
  }

  values(): T[] {
    return [...this.#values.filter((value) => value !== undefined), ...this.#others.values()];
  }

  clear(): void {
    this.#taken = 0;
    this.#ids.fill(undefined);
    this.#values.fill(undefined);
    this.#others.clear();
  }
}

function slotOf(id: RequestId): number {
  return typeof id === "number" ? id & (slots - 1) : -1;
}
