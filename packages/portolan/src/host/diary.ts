import type { Clock } from "../client/clock.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { Activity, ActivityLog } from "./activity/index.ts";
import type { HostCallOptions } from "./api.ts";
import type { HostedServer } from "./hosted-server.ts";

/** Something that is asked of a server. */
export interface Deed {
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: HostedServer;
  readonly name: string;
  readonly args?: JsonObject;
  readonly options: HostCallOptions;
}

/** What takes longer is written down before it has ended. */
const shortMs = 100;

/** Writes down what is asked of servers and what came of it: what is quick in one entry, what takes longer in two. */
export class Diary {
  readonly #activity: ActivityLog;
  readonly #clock: Clock;
  /** What has begun and is not written down yet. */
  readonly #open = new Set<Deed>();
  #isWatching = false;

  constructor(activity: ActivityLog, clock: Clock) {
    this.#activity = activity;
    this.#clock = clock;
  }

  /** Throws when nothing can be written down and all must be. */
  ready(): void {
    this.#activity.ready();
  }

  begin(deed: Deed): void {
    this.#open.add(deed);
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#clock.after(shortMs, () => this.#writeOpen());
  }

  end(deed: Deed, outcome: { ms: number; result?: object; how?: string; message?: string }): void {
    const { kind, id, server, name } = deed;
    if (this.#open.delete(deed)) this.#activity.record({ ...entryOf(deed), ...outcome });
    else this.#activity.record({ kind: "result", of: kind, id, server: server.name, name, ...outcome });
  }

  #writeOpen(): void {
    for (const deed of this.#open) this.#activity.record(entryOf(deed));
    this.#open.clear();
    this.#isWatching = false;
  }
}

function entryOf({ kind, id, server, name, args, options }: Deed): Activity {
  return { kind, id, server: server.name, name, by: options.by ?? "model", args, ...runOf(options) };
}

/** The run that a call is part of, if it is. */
export function runOf({ run }: HostCallOptions): { run?: string } {
  return run === undefined ? {} : { run };
}
