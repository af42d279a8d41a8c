import { type CredentialStore, memoryStore } from "portolan/auth/client";

/** A store that a test can inspect, and that fails on demand. */
export class RecordingStore implements CredentialStore {
  readonly rows = new Map<string, string>();
  /** Thrown by every write, once it is set. */
  broken: Error | undefined;
  /** The number of waiting calls. */
  waiting = 0;
  readonly #turns = memoryStore();

  async get(key: string): Promise<string | undefined> {
    return this.rows.get(key);
  }

  async set(key: string, value: string | undefined): Promise<void> {
    if (this.broken) throw this.broken;
    if (value === undefined) this.rows.delete(key);
    else this.rows.set(key, value);
  }

  exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.waiting += 1;
    return this.#turns.exclusive(key, () => {
      this.waiting -= 1;
      return work();
    });
  }

  /** Returns the stored values of one kind: `"token"`, `"client"`, `"login"` or `"bound"`. */
  kept(kind: string): { [member: string]: unknown }[] {
    return [...this.rows].flatMap(([key, value]) => (JSON.parse(key)[2] === kind ? [JSON.parse(value)] : []));
  }
}
