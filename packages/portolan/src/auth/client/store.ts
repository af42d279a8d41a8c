/** Keeps tokens and registrations; what it holds is secret. */
export interface CredentialStore {
  get(key: string): Promise<string | undefined>;
  /** Writes all or nothing; undefined deletes. */
  set(key: string, value: string | undefined, options?: { readonly ttlMs?: number }): Promise<void>;
  /**
   * Runs `work` while nobody else who shares the store, in this process or another one, runs work under the same key.
   * Whoever dies in the middle holds nobody up for long.
   */
  exclusive<T>(key: string, work: () => Promise<T>): Promise<T>;
}
