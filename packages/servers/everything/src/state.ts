import type { LiveServer, Server } from "portolan/server";

/** State that the tools change. It always starts the same, and all clients of a process share it. */
export class SharedState {
  /** The text of `everything://note`, which supports subscriptions. */
  note = "first note";
  /** Running and cancelled calls of `wait`: `everything://waits`. */
  waiting = 0;
  cancelled = 0;
  /** Number of notifications that roots have changed. */
  rootChanges = 0;
  /** Number of extra tools, prompts and resources. */
  extras = 0;
  /** Subscribers of `everything://waits`. */
  readonly watchers: Set<() => void> = new Set();
  #live: LiveServer | undefined;

  /** Sets the live server, which exists only after the definition. */
  serveBy(live: LiveServer): void {
    this.#live = live;
  }

  /** Notifies the subscribers of `everything://waits`. */
  tellWatchers(): void {
    for (const changed of this.watchers) changed();
  }

  /** Changes the note and notifies its subscribers; `publish` reaches clients of every revision. */
  write(note: string): void {
    this.note = note;
    this.#live?.publish("resources/updated", { uri: "everything://note" });
  }

  /** Replaces the definition; clients are notified which lists have changed. */
  redefine(change: (current: Server) => Server): void {
    this.#live?.update(change);
  }
}
