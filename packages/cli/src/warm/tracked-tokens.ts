import type { CredentialStore } from "portolan/auth/client";

/**
 * The stored credentials as one running server uses them. Notices when another process changes those that the server
 * has read or written; the connection of the server keeps the old ones in memory.
 */
export class TrackedTokens implements CredentialStore {
  readonly #store: CredentialStore;
  /** The values as this process read or wrote them. */
  readonly #known = new Map<string, string | undefined>();
  #isReplaced = false;

  constructor(store: CredentialStore) {
    this.#store = store;
  }

  async get(key: string): Promise<string | undefined> {
    const value = await this.#store.get(key);
    // One connection of the server may see the change while another one still uses the old value.
    if (this.#known.has(key) && this.#known.get(key) !== value) this.#isReplaced = true;
    this.#known.set(key, value);
    return value;
  }

  async set(key: string, value: string | undefined, options?: { readonly ttlMs?: number }): Promise<void> {
    await this.#store.set(key, value, options);
    this.#known.set(key, value);
  }

  exclusive: CredentialStore["exclusive"] = (key, work, options) => this.#store.exclusive(key, work, options);

  /** Returns how another process has changed the credentials; undefined if it has not. */
  async change(): Promise<"removed" | "replaced" | undefined> {
    let change: "replaced" | undefined = this.#isReplaced ? "replaced" : undefined;
    for (const [key, known] of this.#known) {
      let value: string | undefined;
      try {
        value = await this.#store.get(key);
      } catch {
        // A command that starts the server itself tells the reason.
        return "removed";
      }
      if (value === known) continue;
      if (value === undefined) return "removed";
      change = "replaced";
    }
    return change;
  }
}
