import type { Client, Watch } from "../client/api.ts";

/** A resource whose changes somebody wants to hear of. */
interface Following {
  readonly uri: string;
  watch?: Watch;
}

/** The resources of one server that are followed, from one connection to the next. */
export class Followed {
  readonly #all = new Set<Following>();
  readonly #heard: (uri: string) => void;
  readonly #failed: (uri: string, thrown: unknown) => void;

  /** `heard` is called for each change, `failed` when there will be no more of them. */
  constructor(heard: (uri: string) => void, failed: (uri: string, thrown: unknown) => void) {
    this.#heard = heard;
    this.#failed = failed;
  }

  /** Follows a resource until what it gives is called. */
  async add(client: Client, uri: string): Promise<() => Promise<void>> {
    const following: Following = { uri };
    // Before it is watched: the connection may be another by then.
    this.#all.add(following);
    try {
      await this.#watch(client, following);
    } catch (reason) {
      this.#all.delete(following);
      throw reason;
    }
    return async () => {
      this.#all.delete(following);
      await following.watch?.close();
    };
  }

  /** Goes on with a new connection. */
  goOn(client: Client): void {
    for (const following of this.#all) {
      this.#watch(client, following).catch((thrown) => this.#failed(following.uri, thrown));
    }
  }

  async #watch(client: Client, following: Following): Promise<void> {
    const { uri } = following;
    const watch = await client.watch({ uris: [uri] });
    // Whoever has left meanwhile could not close it.
    if (!this.#all.has(following)) return watch.close();
    following.watch = watch;
    this.#hear(watch).catch((thrown) => this.#failed(uri, thrown));
  }

  async #hear(watch: Watch): Promise<void> {
    for await (const change of watch) if (change.kind === "resource") this.#heard(change.uri);
  }
}
