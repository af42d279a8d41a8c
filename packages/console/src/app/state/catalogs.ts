import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CatalogRecord } from "../../api.ts";
import { type ApiClient, reasonOf } from "../api/client.ts";
import type { ConsoleStore } from "./store.ts";

interface KnownCatalog {
  readonly catalog: Signal<CatalogRecord | undefined>;
  /** Why it could not be read. */
  readonly failure: Signal<string | undefined>;
  asked: string | undefined;
}

/** The lists of servers, read when somebody looks at them and again when they change. */
export class Catalogs {
  readonly #api: ApiClient;
  readonly #store: ConsoleStore;
  readonly #known = new Map<string, KnownCatalog>();

  constructor(api: ApiClient, store: ConsoleStore) {
    this.#api = api;
    this.#store = store;
  }

  /** The lists of a server. Undefined until they are read, and for a server that has none. */
  of(server: string): ReadonlySignal<CatalogRecord | undefined> {
    const known = this.#get(server);
    const digest = this.#store.servers.get(server).value?.catalog;
    if (digest !== undefined && digest !== known.asked) void this.#load(server, digest);
    return known.catalog;
  }

  /** Why the lists of a server could not be read. */
  failureOf(server: string): ReadonlySignal<string | undefined> {
    return this.#get(server).failure;
  }

  /** Reads the lists of a server again. */
  refresh(server: string): void {
    const digest = this.#store.servers.get(server).peek()?.catalog;
    if (digest !== undefined) void this.#load(server, digest);
  }

  #get(server: string): KnownCatalog {
    const known = this.#known.get(server) ?? { catalog: signal(), failure: signal(), asked: undefined };
    this.#known.set(server, known);
    return known;
  }

  async #load(server: string, digest: string): Promise<void> {
    const known = this.#get(server);
    known.asked = digest;
    known.failure.value = undefined;
    try {
      const catalog = await this.#api.read("catalog", { server });
      if (known.asked === digest) known.catalog.value = catalog;
    } catch (error) {
      if (known.asked === digest) known.failure.value = reasonOf(error);
    }
  }
}
