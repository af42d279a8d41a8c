import type { LiveServer, Server } from "portolan/server";

/** What the tools of this server change. It starts the same each time, and is shared by all clients of a process. */
export class SharedState {
  /** The text of `everything://note`, which can be followed. */
  note = "first note";
  /** How many calls of `wait` run, and how many were cancelled: `everything://waits`. */
  waiting = 0;
  cancelled = 0;
  /** How many times a client said that its roots have changed. */
  rootChanges = 0;
  /** How many tools, prompts and resources there are beyond the usual ones. */
  extras = 0;
  /** Who follows `everything://waits`. */
  readonly watchers: Set<() => void> = new Set();
  #live: LiveServer | undefined;

  /** The server is defined before it is served live, so it is told afterwards. */
  serveBy(live: LiveServer): void {
    this.#live = live;
  }

  /** Tells those who follow `everything://waits`. */
  tellWatchers(): void {
    for (const changed of this.watchers) changed();
  }

  /** Changes the note and tells who follows it: `publish` reaches the followers of every revision. */
  write(note: string): void {
    this.note = note;
    this.#live?.publish("resources/updated", { uri: "everything://note" });
  }

  /** Replaces the definition; clients hear which lists have changed. */
  redefine(change: (current: Server) => Server): void {
    this.#live?.update(change);
  }
}
