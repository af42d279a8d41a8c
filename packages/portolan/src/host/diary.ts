import type { Clock } from "../client/deadlines.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { CallEntry } from "./activity/call-entry.ts";
import type { Activity, ActivityLog } from "./activity/index.ts";
import type { HostCallOptions } from "./api.ts";
import type { HostedServer } from "./hosted-server.ts";

/** Something that is asked of a server. */
export class Deed {
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: HostedServer;
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly options: HostCallOptions;
  /** The arguments as JSON, as they were sent. */
  argsText: string | undefined = undefined;
  /** Those that are open, in the order in which they began; a set would cost more than all else that a diary does. */
  before: Deed | undefined = undefined;
  after: Deed | undefined = undefined;
  isOpen = false;

  constructor(
    kind: Deed["kind"],
    id: string,
    server: HostedServer,
    name: string,
    args: JsonObject | undefined,
    options: HostCallOptions,
  ) {
    this.kind = kind;
    this.id = id;
    this.server = server;
    this.name = name;
    this.args = args;
    this.options = options;
  }
}

/** Why a deed has no result. */
export interface Failure {
  readonly how: "cancelled" | "failed";
  readonly message: string;
}

/** What takes longer is written down before it has ended. */
const shortMs = 100;

/** Writes down what is asked of servers and what came of it: what is quick in one entry, what takes longer in two. */
export class Diary {
  readonly #activity: ActivityLog;
  readonly #clock: Clock;
  /** What has begun and is not written down yet. */
  #first: Deed | undefined;
  #last: Deed | undefined;
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
    deed.isOpen = true;
    deed.before = this.#last;
    if (this.#last) this.#last.after = deed;
    else this.#first = deed;
    this.#last = deed;
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#clock.after(shortMs, () => this.#writeOpen());
  }

  /** It came to an end: with a result, or because of something that was thrown. */
  end(deed: Deed, ms: number, result: object | undefined, failure?: Failure): void {
    const { kind, id, server, name, args, options } = deed;
    const said = result && saidBy(result);
    if (!this.#take(deed)) {
      this.#activity.record({ kind: "result", of: kind, id, server: server.name, name, ms, ...failure, result: said });
    } else if (said) {
      const { by = "model", run } = options;
      this.#activity.record(new CallEntry(kind, id, server.name, name, by, run, args, deed.argsText, ms, said));
    } else {
      this.#activity.record({ ...entryOf(deed), ms, ...failure });
    }
  }

  /** It never began. */
  fail(deed: Deed, failure: Failure): void {
    this.#activity.record({ ...entryOf(deed), ...failure });
  }

  #writeOpen(): void {
    this.#isWatching = false;
    for (let deed = this.#first; deed; deed = this.#first) {
      this.#take(deed);
      this.#activity.record(entryOf(deed));
    }
  }

  /** Whether it was not written down yet. */
  #take(deed: Deed): boolean {
    if (!deed.isOpen) return false;
    const { before, after } = deed;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    deed.isOpen = false;
    deed.before = undefined;
    deed.after = undefined;
    return true;
  }
}

function entryOf({ kind, id, server, name, args, argsText, options }: Deed): Activity {
  // As they were sent: their owner may have changed them since.
  const sent: unknown = argsText === undefined ? args : JSON.parse(argsText);
  // Members without a value are not written.
  return { kind, id, server: server.name, name, by: options.by ?? "model", run: options.run, args: sent };
}

/** A result without what the protocol adds to it, which says nothing of what was done. */
function saidBy(result: object): object {
  const said: { [name: string]: unknown } = {};
  for (const name in result) {
    if (name === "_meta" || name === "resultType" || name === "ttlMs" || name === "cacheScope") continue;
    said[name] = result[name as keyof typeof result];
  }
  return said;
}

/** The run that a call is part of, if it is. */
export function runOf({ run }: HostCallOptions): { run?: string } {
  return run === undefined ? {} : { run };
}
