import type { Storage } from "../../../storage/storage.ts";

/** A claim outlives a missed keep-alive by half. */
const patience = 1.5;

/**
 * Who holds the stream of an anonymous session, in whichever process: as long as its keep-alives pass, nobody who knows
 * the session can take it away.
 */
export class StreamClaims {
  readonly #storage: Storage;
  readonly #ttlMs: number;

  constructor(storage: Storage, keepAliveMs: number) {
    this.#storage = storage;
    this.#ttlMs = keepAliveMs * patience;
  }

  /** Whether another one holds it, who can prove it. */
  async isHeldFrom(session: string, proof: string | undefined): Promise<boolean> {
    const held = await this.#storage.kv.get(keyOf(session));
    return held !== undefined && held !== proof;
  }

  async hold(session: string, proof: string): Promise<void> {
    await this.#storage.kv.set(keyOf(session), proof, { ttlMs: this.#ttlMs });
  }

  async release(session: string): Promise<void> {
    await this.#storage.kv.delete(keyOf(session));
  }
}

function keyOf(session: string): string {
  return `mcp/stream/${session}`;
}
