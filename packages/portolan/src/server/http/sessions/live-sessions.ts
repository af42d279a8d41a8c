import type { Storage } from "../../../storage/storage.ts";
import { LiveSession } from "./live-session.ts";

/** The sessions that something is under way for in this process. */
export class LiveSessions {
  readonly #storage: Storage;
  readonly #all = new Map<string, LiveSession>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get(id: string): LiveSession | undefined {
    return this.#all.get(id);
  }

  open(id: string): LiveSession {
    let live = this.#all.get(id);
    if (!live) {
      live = new LiveSession(id, this.#storage);
      this.#all.set(id, live);
    }
    return live;
  }

  forgetIdle(live: LiveSession): void {
    if (live.isIdle) this.#all.delete(live.id);
  }

  values(): LiveSession[] {
    return [...this.#all.values()];
  }
}
