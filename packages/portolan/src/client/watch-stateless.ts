import { PortolanError } from "../errors.ts";
import type { JsonObject, RequestId, RpcNotification } from "../jsonrpc/message.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../protocol/revision.ts";
import type { SubscriptionFilter } from "../protocol/types/index.ts";
import type { WatchFilter } from "./api.ts";
import type { Wire } from "./connection.ts";
import { aborted, cutOff, isPassing, timedOut, toError } from "./failures.ts";
import { Changes, changeIn, isWatched } from "./watch.ts";

const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** Watches over a stateless server by one request that stays open, and opens another when that one ends. */
export async function openStatelessWatch(
  wire: Wire,
  filter: WatchFilter,
  signal: AbortSignal | undefined,
  interrupted: () => void,
): Promise<Changes> {
  const listening = new Listening(wire, filter, interrupted);
  const abort = () => listening.abort(aborted("watch", signal as AbortSignal, true));
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await listening.begin();
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  return listening.changes;
}

class Listening {
  readonly changes: Changes;
  readonly #wire: Wire;
  readonly #filter: WatchFilter;
  readonly #interrupted: () => void;
  readonly #stopListening: () => void;
  readonly #stopWaiting: () => void;
  #id: RequestId | undefined;
  #acknowledged: (() => void) | undefined;
  #refused: ((reason: Error) => void) | undefined;
  #attempts = 0;
  #stopTimer: (() => void) | undefined;

  constructor(wire: Wire, filter: WatchFilter, interrupted: () => void) {
    this.#wire = wire;
    this.#filter = filter;
    this.#interrupted = interrupted;
    this.changes = new Changes(async () => this.#stop());
    this.#stopListening = wire.listen((notification) => this.#hear(notification));
    this.#stopWaiting = wire.onLost((reason) => this.#lost(reason));
  }

  /** Resolves when the server has acknowledged. */
  async begin(): Promise<void> {
    try {
      await this.#listen();
    } catch (reason) {
      this.changes.end(toError(reason));
      this.#stop();
      throw reason;
    }
  }

  abort(reason: Error): void {
    this.#refused?.(reason);
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const id = this.#wire.nextId();
      this.#id = id;
      this.#acknowledged = resolve;
      this.#refused = reject;
      const { idleMs } = this.#wire;
      this.#stopTimer = this.#wire.clock.after(idleMs, () =>
        reject(timedOut(`watch: the server did not acknowledge subscriptions/listen in ${idleMs} ms`)),
      );
      const params: JsonObject = { notifications: toWire(this.#filter) };
      this.#wire.link.exchange(this.#wire.encode(id, "subscriptions/listen", params, {}), {
        response: (response) => {
          if ("error" in response) {
            const { code, message, data } = response.error;
            this.#ended(id, new RpcError(code, message, { data }), true);
          } else this.#ended(id, ended("the server ended the subscription"), false);
        },
        // The loss of the whole link is told right after this, and is more than an interruption.
        failed: (reason) => queueMicrotask(() => this.#ended(id, cutOff("watch", reason), false)),
      });
    });
  }

  #hear(notification: RpcNotification): void {
    const { method, params } = notification;
    const id = this.#id;
    if (id === undefined) return;
    if (method === "notifications/cancelled" && params?.["requestId"] === id) {
      this.#ended(id, ended("the server cancelled the subscription"), false);
      return;
    }
    if (metaOf(params)?.[metaKeys.subscriptionId] !== id) return;
    if (method === "notifications/subscriptions/acknowledged") this.#acknowledge(params?.["notifications"]);
    const change = changeIn(notification);
    if (!change) return;
    if (isWatched(change, this.changes.honoured)) this.changes.tell(change);
    else this.#wire.odd(`${method}, which nobody listens to`);
  }

  #acknowledge(notifications: unknown): void {
    if (!this.#acknowledged) return;
    this.#stopTimer?.();
    this.changes.honoured = common(this.#filter, (notifications ?? {}) as SubscriptionFilter);
    if (Object.keys(this.changes.honoured).length === 0) {
      this.#refused?.(new PortolanError("capability-missing", "watch: the server will tell none of these changes"));
      return;
    }
    this.#attempts = 0;
    this.#acknowledged();
    this.#acknowledged = undefined;
    this.#refused = undefined;
  }

  /** The request is over: before it began that is a refusal, afterwards an interruption, unless nothing can follow. */
  #ended(id: RequestId, reason: Error, isFinal: boolean): void {
    if (this.#id !== id) return;
    this.#id = undefined;
    this.#stopTimer?.();
    if (this.#refused) this.#refused(reason);
    else if (isFinal) this.#giveUp(reason);
    else this.#again();
  }

  #again(): void {
    if (this.changes.isOver) return;
    const delay = Math.min(firstDelayMs * 1.6 ** this.#attempts, longestDelayMs);
    this.#attempts += 1;
    this.#stopTimer = this.#wire.clock.after(delay * (1 + Math.random() / 10), () => {
      this.#listen().then(
        () => {
          this.#interrupted();
          this.changes.tellAll();
        },
        (reason) => this.#failedAgain(toError(reason)),
      );
    });
  }

  /** A server that is out of reach for a while is asked again. */
  #failedAgain(reason: Error): void {
    this.#stopTimer?.();
    if (this.#id !== undefined) this.#wire.link.cancel(this.#id, "The server did not acknowledge");
    this.#id = undefined;
    this.#acknowledged = undefined;
    this.#refused = undefined;
    if (isPassing(reason) && !this.#wire.lostBy) this.#again();
    else this.#giveUp(reason);
  }

  #lost(reason: Error): void {
    this.#id = undefined;
    if (this.#refused) this.#refused(cutOff("watch", reason));
    else this.#giveUp(this.#wire.isClosing ? undefined : reason);
  }

  #giveUp(reason: Error | undefined): void {
    this.changes.end(reason);
    this.#stop();
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopListening();
    this.#stopWaiting();
    if (this.#id !== undefined) this.#wire.link.cancel(this.#id, "The client stops listening");
    this.#id = undefined;
  }
}

function ended(why: string): PortolanError {
  return new PortolanError("connection-closed", `watch: ${why}`);
}

function toWire({ tools, prompts, resources, uris }: WatchFilter): SubscriptionFilter {
  return {
    ...(tools && { toolsListChanged: true }),
    ...(prompts && { promptsListChanged: true }),
    ...(resources && { resourcesListChanged: true }),
    ...(uris && { resourceSubscriptions: [...uris] }),
  };
}

/** What was asked for and is granted; a server cannot grant more than that. */
function common(asked: WatchFilter, granted: SubscriptionFilter): WatchFilter {
  const list = Array.isArray(granted.resourceSubscriptions) ? granted.resourceSubscriptions : [];
  const uris = asked.uris?.filter((uri) => list.includes(uri)) ?? [];
  return {
    ...(asked.tools && granted.toolsListChanged === true && { tools: true }),
    ...(asked.prompts && granted.promptsListChanged === true && { prompts: true }),
    ...(asked.resources && granted.resourcesListChanged === true && { resources: true }),
    ...(uris.length > 0 && { uris }),
  };
}
