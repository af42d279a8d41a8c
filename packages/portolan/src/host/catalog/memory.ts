import { array, object, optional, record, string } from "../../schema/shape.ts";
import type { KeyValue } from "../../storage/storage.ts";
import type { Offers } from "./load-lists.ts";

const maxChars = 4 * 1024 * 1024;
const shape = object({
  tools: array(object({ name: string, inputSchema: record() })),
  prompts: array(object({ name: string })),
  resources: array(object({ uri: string })),
  templates: array(object({ uriTemplate: string })),
  instructions: optional(string),
});

/** Remembers what servers offer, so that it is known before they run. What cannot be read or kept is found out anew. */
export class OfferMemory {
  readonly #kv: KeyValue;

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  async read(server: { readonly name: string; readonly digest: string }): Promise<Offers | undefined> {
    const text = await this.#kv.get(keyOf(server));
    if (text === undefined) return undefined;
    try {
      const offers: unknown = JSON.parse(text);
      return shape(offers, "offers") === undefined ? (offers as Offers) : undefined;
    } catch {
      return undefined;
    }
  }

  async keep(server: { readonly name: string; readonly digest: string }, offers: Offers): Promise<void> {
    const text = JSON.stringify(offers);
    if (text.length <= maxChars) await this.#kv.set(keyOf(server), text);
  }
}

function keyOf({ name, digest }: { readonly name: string; readonly digest: string }): string {
  return `host/offers/${digest}/${name}`;
}
