import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CatalogRecord } from "../../api.ts";
import type { ApiClient } from "../api/client.ts";
import type { ConsoleStore } from "./store.ts";

/** The lists of servers, read when somebody looks at them and again when they change. */
export class Catalogs {
  readonly #api: ApiClient;
  readonly #store: ConsoleStore;
  readonly #known = new Map<
    string,
    { readonly signal: Signal<CatalogRecord | undefined>; asked: string | undefined }
  >();

  constructor(api: ApiClient, store: ConsoleStore) {
    this.#api = api;
    this.#store = store;
  }

  /** The lists of a server. Undefined until they are read, and for a server that has none. */
  of(server: string): ReadonlySignal<CatalogRecord | undefined> {
    const known = this.#known.get(server) ?? { signal: signal<CatalogRecord | undefined>(undefined), asked: undefined };
    this.#known.set(server, known);
    const digest = this.#store.servers.get(server).value?.catalog;
    if (digest !== undefined && digest !== known.asked) {
      known.asked = digest;
      void this.#load(server, digest);
    }
    return known.signal;
  }

  async #load(server: string, digest: string): Promise<void> {
    const known = this.#known.get(server);
    if (!known) return;
    try {
      const catalog = await this.#api.read("catalog", { server });
      if (known.asked === digest) known.signal.value = catalog;
    } catch {
      // The state of the server says why. Its lists are asked for again when it changes or somebody looks later.
      if (known.asked === digest) setTimeout(() => (known.asked = undefined), retryMs);
    }
  }
}

const retryMs = 5_000;
