import { PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcNotification } from "../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../protocol/revision.ts";
import type { ServerCapabilities, SubscriptionFilter } from "../protocol/types/index.ts";
import type { Change, ChangeFilter, ChangeStream } from "./api.ts";
import type { ClientConnection } from "./connection.ts";
import { aborted, cutOff, isPassing, timedOut, toError } from "./failures.ts";
import type { CallOptions } from "./options.ts";

/** While nobody looks, so many addresses are kept apart; more of them are told as a change of all. */
const maxPending = 10_000;

const listKinds = ["tools", "prompts", "resources"] as const;

/** Changes that wait for a reader: a kind or an address that changed twice is told once. */
export class Changes implements ChangeStream {
  honoured: ChangeFilter = {};
  readonly #stop: () => Promise<void>;
  readonly #pending = new Map<string, Change>();
  #wake: () => void = () => {};
  #isOver = false;
  #failure: Error | undefined;

  constructor(stop: () => Promise<void>) {
    this.#stop = stop;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  tell(change: Change): void {
    if (this.#isOver) return;
    if (change.kind !== "resource") this.#pending.set(change.kind, change);
    else if (this.#pending.size < maxPending) this.#pending.set(`resource ${change.uri}`, change);
    else this.#tellOfEverything();
    this.#wake();
  }

  /** Everything that is watched may be another now. */
  tellAll(): void {
    for (const kind of listKinds) if (this.honoured[kind]) this.tell({ kind });
    for (const uri of this.honoured.uris ?? []) this.tell({ kind: "resource", uri });
  }

  /** Ends the iteration, after what is pending; with an error if there is one. */
  end(failure?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    this.#wake();
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.end();
    this.#pending.clear();
    await this.#stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change> {
    try {
      for (;;) {
        for (const [key, change] of this.#pending) {
          this.#pending.delete(key);
          yield change;
        }
        if (this.#pending.size > 0) continue;
        if (this.#failure) throw this.#failure;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      // Leaving the loop ends the watch.
      await this.close();
    }
  }

  #tellOfEverything(): void {
    for (const [key, { kind }] of this.#pending) if (kind === "resource") this.#pending.delete(key);
    this.#pending.set("resources", { kind: "resources" });
  }
}

/** The part of a filter that a server's capabilities promise; throws when nothing is left. */
export function promised(filter: ChangeFilter, capabilities: ServerCapabilities): ChangeFilter {
  const { tools, prompts, resources } = capabilities;
  const uris = filter.uris && resources?.subscribe ? [...new Set(filter.uris)] : [];
  const left: ChangeFilter = {
    ...(filter.tools && tools?.listChanged && { tools: true }),
    ...(filter.prompts && prompts?.listChanged && { prompts: true }),
    ...(filter.resources && resources?.listChanged && { resources: true }),
    ...(uris.length > 0 && { uris }),
  };
  if (Object.keys(left).length > 0) return left;
  const asked = Object.keys(filter).filter((name) => filter[name as keyof ChangeFilter]);
  throw new PortolanError(
    "capability-missing",
    asked.length === 0
      ? "watch: expected at least one of tools, prompts, resources and uris"
      : `watch: the server tells no changes of ${asked.join(", ")}`,
  );
}

/** What a notification says has changed; undefined when it is about something else. */
export function changeIn({ method, params }: RpcNotification): Change | undefined {
  for (const kind of listKinds) if (method === `notifications/${kind}/list_changed`) return { kind };
  const uri = params?.["uri"];
  if (method !== "notifications/resources/updated" || typeof uri !== "string") return undefined;
  return { kind: "resource", uri };
}

/** Whether a change is one that was asked for; an address also stands for what lies below it. */
export function isWatched(change: Change, { uris = [], ...lists }: ChangeFilter): boolean {
  if (change.kind !== "resource") return lists[change.kind] === true;
  const { uri } = change;
  return uris.some((watched) => uri === watched || uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`));
}

/** Watches over a stateful connection share its subscriptions: the last one to leave ends them. */
export class StatefulWatches {
  readonly #wire: ClientConnection;
  readonly #watchers = new Map<string, { count: number; begun: Promise<unknown> }>();

  constructor(wire: ClientConnection) {
    this.#wire = wire;
    wire.onRenewed(() => this.#subscribeAgain());
  }

  async open(filter: ChangeFilter, options: CallOptions): Promise<Changes> {
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

const firstDelayMs = 500;
const longestDelayMs = 30_000;

/** Watches over a stateless server by one request that stays open, and opens another when that one ends. */
export async function openStatelessWatch(
  wire: ClientConnection,
  filter: ChangeFilter,
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
  readonly #wire: ClientConnection;
  readonly #filter: ChangeFilter;
  readonly #interrupted: () => void;
  readonly #stopListening: () => void;
  readonly #stopWaiting: () => void;
  #id: RequestId | undefined;
  #acknowledged: (() => void) | undefined;
  #refused: ((reason: Error) => void) | undefined;
  #attempts = 0;
  #stopTimer: (() => void) | undefined;

  constructor(wire: ClientConnection, filter: ChangeFilter, interrupted: () => void) {
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

function toWire({ tools, prompts, resources, uris }: ChangeFilter): SubscriptionFilter {
  return {
    ...(tools && { toolsListChanged: true }),
    ...(prompts && { promptsListChanged: true }),
    ...(resources && { resourcesListChanged: true }),
    ...(uris && { resourceSubscriptions: [...uris] }),
  };
}

/** What was asked for and is granted; a server cannot grant more than that. */
function common(asked: ChangeFilter, granted: SubscriptionFilter): ChangeFilter {
  const list = Array.isArray(granted.resourceSubscriptions) ? granted.resourceSubscriptions : [];
  const uris = asked.uris?.filter((uri) => list.includes(uri)) ?? [];
  return {
    ...(asked.tools && granted.toolsListChanged === true && { tools: true }),
    ...(asked.prompts && granted.promptsListChanged === true && { prompts: true }),
    ...(asked.resources && granted.resourcesListChanged === true && { resources: true }),
    ...(uris.length > 0 && { uris }),
  };
}
