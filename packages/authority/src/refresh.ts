import type { KoaContextWithOIDC } from "oidc-provider";
import type { Rows } from "./rows.ts";

/** How long the answer to a refresh is given again to whoever shows the same token. */
export const repeatMs = 10_000;
const patienceMs = 5_000;

/** Keeps the answers to refreshes for a little while: of two that come together, or again, both get the same one. */
export class RefreshAnswers {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async keep(token: string, answer: unknown): Promise<void> {
    const key = await this.#rows.keyOf("refreshed", token);
    await this.#rows.set(key, answer, repeatMs);
    await this.#rows.storage.bus.publish(key, "");
  }

  /** The answer to whoever came first with this token; undefined when there is none in time. */
  async find(token: string): Promise<unknown> {
    const key = await this.#rows.keyOf("refreshed", token);
    let heard = (): void => {};
    const isThere = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const unsubscribe = await this.#rows.storage.bus.subscribe(key, heard, heard);
    const timer = setTimeout(heard, patienceMs);
    try {
      const known = await this.#rows.get(key);
      if (known !== undefined) return known;
      await isThere;
      return await this.#rows.get(key);
    } finally {
      clearTimeout(timer);
      await unsubscribe();
    }
  }
}

/** A refresh token that was used already when a request came with it. */
export interface CameSecond {
  readonly kind: string;
  readonly id: string;
  readonly grantId: string | undefined;
}

export function cameSecond(context: KoaContextWithOIDC): CameSecond | undefined {
  return context.state["cameSecond"] as CameSecond | undefined;
}
