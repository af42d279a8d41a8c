import type { WatchFilter } from "./api.ts";
import type { Wire } from "./connection.ts";
import type { CallOptions } from "./options.ts";
import { Changes, changeIn, isWatched } from "./watch.ts";

/** Watches over a stateful connection share its subscriptions: the last one to leave ends them. */
export class StatefulWatches {
  readonly #wire: Wire;
  readonly #watchers = new Map<string, { count: number; begun: Promise<unknown> }>();

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.onRenewed(() => this.#subscribeAgain());
  }

  async open(filter: WatchFilter, options: CallOptions): Promise<Changes> {
    const { uris = [] } = filter;
    const changes = new Changes(async () => {
      stopListening();
      stopWaiting();
      stopRenewing();
      await Promise.all(uris.map((uri) => this.#unsubscribe(uri)));
    });
    changes.honoured = filter;
    const stopWaiting = this.#wire.onLost((reason) => changes.end(this.#wire.isClosing ? undefined : reason));
    const stopRenewing = this.#wire.onRenewed(() => changes.tellAll());
    const stopListening = this.#wire.listen((notification) => {
      const change = changeIn(notification);
      if (change && isWatched(change, filter)) changes.tell(change);
    });
    try {
      await Promise.all(uris.map((uri) => this.#subscribe(uri, options)));
    } catch (reason) {
      await changes.close();
      throw reason;
    }
    return changes;
  }

  async #subscribe(uri: string, options: CallOptions): Promise<void> {
    let watcher = this.#watchers.get(uri);
    if (!watcher) {
      watcher = { count: 0, begun: this.#wire.call("resources/subscribe", { uri }, options) };
      this.#watchers.set(uri, watcher);
    }
    watcher.count += 1;
    await watcher.begun;
  }

  /** A server that forgot its client follows nothing for it any more. */
  #subscribeAgain(): void {
    for (const [uri, watcher] of this.#watchers) {
      watcher.begun = this.#wire.call("resources/subscribe", { uri }, {});
      watcher.begun.catch((reason) => this.#wire.report(reason));
    }
  }

  async #unsubscribe(uri: string): Promise<void> {
    const watcher = this.#watchers.get(uri);
    if (!watcher) return;
    watcher.count -= 1;
    if (watcher.count > 0) return;
    this.#watchers.delete(uri);
    try {
      await watcher.begun;
      await this.#wire.call("resources/unsubscribe", { uri }, {});
    } catch {
      // It never began, or the server is gone: there is nothing to end.
    }
  }
}
