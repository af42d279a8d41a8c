import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError } from "../../jsonrpc/message.ts";
import type { RoundState } from "../ask/round-state.ts";
import type { ErrorReport, ServerOptions } from "../define/definition.ts";
import type { Snapshot } from "../define/snapshot.ts";

/** How many resources one stream or session may follow. */
export const maxSubscriptions = 1_000;

/** What can be said outside a request, by the notification that says it. */
export interface Topics {
  "tools/list_changed": Record<string, never>;
  "prompts/list_changed": Record<string, never>;
  "resources/list_changed": Record<string, never>;
  "resources/updated": { uri: string };
  message: { level: string; data: unknown; logger?: string };
  "elicitation/complete": { elicitationId: string };
}

/** Who is to hear it; everybody who asked for it unless narrowed. */
export interface Audience {
  principal?: string;
}

/** One who hears changes: a stateful connection, or a stream that a client listens on. */
export interface Listener {
  readonly principal: string;
  wants(topic: string, payload: JsonObject): boolean;
  hear(topic: string, payload: JsonObject): void;
}

interface Watched {
  holders: number;
  readonly stop: Promise<() => void>;
}

/** Says who hears which change. One listener that fails does not keep the others from hearing. */
export class Hub {
  readonly #listeners = new Set<Listener>();
  readonly #watched = new Map<string, Watched>();
  readonly #report: (error: unknown, about?: ErrorReport) => void;

  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  publish(topic: string, payload: JsonObject, audience: Audience = {}): void {
    for (const listener of this.#listeners) {
      if (audience.principal !== undefined && audience.principal !== listener.principal) continue;
      try {
        if (listener.wants(topic, payload)) listener.hear(topic, payload);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  /** Adds a listener; the function it returns removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Holds a watch on a URI: begun for the first holder, ended after the last one let go. Resolves to letting go, once
   * the watch has begun.
   */
  async hold(uri: string, begin: (changed: (uri?: string) => void) => MaybePromise<() => void>): Promise<() => void> {
    let watched = this.#watched.get(uri);
    if (!watched) {
      const changed = (inner = uri) => this.publish("resources/updated", { uri: inner });
      watched = { holders: 0, stop: Promise.resolve().then(() => begin(changed)) };
      this.#watched.set(uri, watched);
    }
    const held = watched;
    held.holders += 1;
    try {
      await held.stop;
    } catch (cause) {
      this.#watched.delete(uri);
      // Such as that there is no such resource: the peer may know.
      if (cause instanceof RpcError) throw cause;
      throw new PortolanError("invalid-definition", `Watching ${uri} failed`, { cause });
    }
    return () => this.#release(uri, held);
  }

  #release(uri: string, watched: Watched): void {
    watched.holders -= 1;
    if (watched.holders > 0) return;
    this.#watched.delete(uri);
    watched.stop.then((stop) => stop()).catch((error) => this.#report(error));
  }
}

/** Whether a subscription to one URI covers another: itself, or what lies below it segment by segment. */
export function covers(subscribed: string, uri: string): boolean {
  if (uri === subscribed) return true;
  return uri.startsWith(subscribed.endsWith("/") ? subscribed : `${subscribed}/`);
}

/** What was said outside a request, and to whom. */
export interface Publication {
  readonly topic: string;
  readonly payload: JsonObject;
  readonly audience: Audience | undefined;
}

/** What all connections of one server share: its compiled features, and whatever outlives a request. */
export class Runtime {
  /** Replaced as a whole when a live server changes; requests that run keep the one they began with. */
  snapshot: Snapshot;
  readonly hub: Hub = new Hub((error) => this.report(error));
  /** Hand on to other processes what this one publishes. */
  readonly relays: Set<(publication: Publication) => void> = new Set();
  /** What questions need between their rounds; made when the first one is asked. */
  rounds: RoundState | undefined;

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
  }

  /** Tells the operator of an error that the peer does not see; returns the reference that the peer gets instead. */
  report(error: unknown, method?: string): string {
    const reference = crypto.randomUUID().slice(0, 8);
    const about: ErrorReport = method === undefined ? { reference } : { method, reference };
    tellOperator(this.snapshot.options, error, about);
    return reference;
  }
}

/** Hands an error to whoever runs the server; a hook that fails itself does not hide it. */
export function tellOperator(
  { onError = printError }: ServerOptions<unknown>,
  error: unknown,
  about: ErrorReport,
): void {
  try {
    onError(error, about);
  } catch (failure) {
    printError(error, about);
    printError(failure, about);
  }
}

function printError(error: unknown, { method, reference }: ErrorReport): void {
  const where = [method, reference && `(reference ${reference})`].filter(Boolean).join(" ");
  console.error(`portolan: ${where}`, error);
}
