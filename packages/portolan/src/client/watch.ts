import { onAbort } from "../async.ts";
import { nameOf, PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcNotification, rpcCodes } from "../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { protocolCodes } from "../protocol/errors.ts";
import { metaKeys, metaOf } from "../protocol/revision.ts";
import type { ServerCapabilities, SubscriptionFilter } from "../protocol/types/index.ts";
import type { ChangeFilter, ChangeStream } from "./api.ts";
import { ChangeQueue, changeIn, isWatched, type WatchedMembers } from "./change-queue.ts";
import type { ClientConnection } from "./connection.ts";
import { aborted, disconnected, isTransient, timedOut, toError } from "./failures.ts";
import { firstListenRetryMs, listenRetryGrowth, maxListenRetryMs } from "./limits.ts";
import type { CallOptions } from "./options.ts";

/** Returns the part of a filter that the server's capabilities allow. Throws if nothing is left. */
export function supportedFilter(
  filter: ChangeFilter,
  capabilities: ServerCapabilities,
  watchedMembers?: WatchedMembers,
): ChangeFilter {
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) {
    throw unexpected("watch", 'a filter such as { tools: true, uris: ["note://1"] }', filter);
  }
  checkOptions(filter, filterNames, "watch", { synonyms: { uri: "uris" } });
  if (filter.uris !== undefined && !Array.isArray(filter.uris)) {
    throw unexpected("watch: uris", 'an array of URIs such as ["note://1"]', filter.uris);
  }
  const unknown = Object.keys(filter.extensions ?? {}).find((member) => !watchedMembers?.watched(member));
  if (unknown !== undefined) {
    const why = `watch: no extension of this client has ${JSON.stringify(unknown)} with this server's protocol version`;
    throw new PortolanError("capability-missing", why);
  }
  const { tools, prompts, resources } = capabilities;
  const uris = filter.uris && resources?.subscribe ? [...new Set(filter.uris)] : [];
  const left: ChangeFilter = {
    ...(filter.tools && tools?.listChanged && { tools: true }),
    ...(filter.prompts && prompts?.listChanged && { prompts: true }),
    ...(filter.resources && resources?.listChanged && { resources: true }),
    ...(uris.length > 0 && { uris }),
    ...(filter.extensions && { extensions: filter.extensions }),
  };
  if (Object.keys(left).length > 0) return left;
  const asked = Object.keys(filter).filter((name) => filter[name as keyof ChangeFilter]);
  throw new PortolanError(
    "capability-missing",
    asked.length === 0
      ? "watch: expected at least one of tools, prompts, resources and uris"
      : `watch: the server does not report changes of ${asked.join(", ")}`,
  );
}

const filterNames = {
  tools: 1,
  prompts: 1,
  resources: 1,
  uris: 1,
  extensions: 1,
} satisfies OptionNames<ChangeFilter>;

function unexpected(what: string, expected: string, got: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${what}: expected ${expected}, got ${nameOf(got)}`);
}

/** The watches of one URI, and its subscription. */
interface UriWatcher {
  count: number;
  begun: Promise<unknown>;
}

/** The watches of a stateful connection. They share its subscriptions: the last watch of a URI ends its subscription. */
export class StatefulWatches {
  readonly #connection: ClientConnection;
  readonly #watchers = new Map<string, UriWatcher>();
  readonly #queues = new Set<ChangeQueue>();

  constructor(connection: ClientConnection) {
    this.#connection = connection;
    connection.onRenewed(() => this.#subscribeAgain());
  }

  async open(filter: ChangeFilter, options: CallOptions): Promise<ChangeStream> {
    const subscribed: string[] = [];
    const { extensions } = this.#connection;
    const changes = new ChangeQueue(extensions, async () => {
      this.#queues.delete(changes);
      stopListening();
      stopWaiting();
      await Promise.all(subscribed.map((uri) => this.#unsubscribe(uri)));
    });
    changes.acceptedFilter = filter;
    const stopWaiting = this.#connection.onLost((reason) =>
      changes.end(this.#connection.isClosing ? undefined : reason),
    );
    this.#queues.add(changes);
    const stopListening = this.#connection.listen((notification) => {
      const change = changeIn(notification, filter, extensions);
      if (change && isWatched(change, filter)) changes.push(change);
    });
    try {
      changes.acceptedFilter = await this.#subscribeAll(filter, subscribed, options);
    } catch (reason) {
      await changes.close();
      throw reason;
    }
    return changes;
  }

  /** Returns the filter without the URIs that the server refuses. Throws if nothing is left of it, or nothing was answered. */
  async #subscribeAll(filter: ChangeFilter, subscribed: string[], options: CallOptions): Promise<ChangeFilter> {
    const { uris = [], ...lists } = filter;
    const refusals: Error[] = [];
    await Promise.all(
      uris.map((uri) =>
        this.#subscribe(uri, options).then(
          () => subscribed.push(uri),
          (reason) => refusals.push(toError(reason)),
        ),
      ),
    );
    if (refusals.length === 0) return filter;
    const isNothingLeft = subscribed.length === 0 && !Object.values(lists).some(Boolean);
    const fatal = refusals.find((reason) => isNothingLeft || !(reason instanceof RpcError));
    if (fatal) throw fatal;
    for (const reason of refusals) this.#connection.report(reason);
    return subscribed.length === 0 ? lists : { ...lists, uris: subscribed };
  }

  async #subscribe(uri: string, options: CallOptions): Promise<void> {
    let watcher = this.#watchers.get(uri);
    if (!watcher) {
      watcher = { count: 0, begun: this.#connection.call("resources/subscribe", { uri }, options) };
      this.#watchers.set(uri, watcher);
    }
    watcher.count += 1;
    try {
      await watcher.begun;
    } catch (reason) {
      watcher.count -= 1;
      // The next watch of this URI asks again.
      if (this.#watchers.get(uri) === watcher) this.#watchers.delete(uri);
      throw reason;
    }
  }

  /** Subscribes again after the server has lost the session. Then everything watched may have changed meanwhile. */
  #subscribeAgain(): void {
    for (const changes of this.#queues) changes.pushLists();
    for (const [uri, watcher] of this.#watchers) {
      const begun = this.#connection.call("resources/subscribe", { uri }, {});
      watcher.begun = begun;
      this.#confirm(uri, watcher, begun, 0);
    }
  }

  /** Reports a URI as changed once it is subscribed to again: a change before that would not be heard. */
  #confirm(uri: string, watcher: UriWatcher, begun: Promise<unknown>, failures: number): void {
    const isCurrent = () => this.#watchers.get(uri) === watcher && watcher.begun === begun;
    const pushChange = () => {
      for (const changes of isCurrent() ? this.#queues : []) changes.pushUri(uri);
    };
    begun.then(pushChange, (reason) => {
      const error = toError(reason);
      if (!mayPass(error) || this.#connection.lostReason) {
        this.#connection.report(error);
        pushChange();
        return;
      }
      const pause = Math.min(firstListenRetryMs * listenRetryGrowth ** failures, maxListenRetryMs);
      this.#connection.clock.after(pause * (1 + Math.random() / 10), () => {
        if (!isCurrent() || this.#connection.lostReason) return;
        const again = this.#connection.call("resources/subscribe", { uri }, {});
        watcher.begun = again;
        this.#confirm(uri, watcher, again, failures + 1);
      });
    });
  }

  async #unsubscribe(uri: string): Promise<void> {
    const watcher = this.#watchers.get(uri);
    if (!watcher) return;
    watcher.count -= 1;
    if (watcher.count > 0) return;
    this.#watchers.delete(uri);
    try {
      await watcher.begun;
      await this.#connection.call("resources/unsubscribe", { uri }, {});
    } catch {
      // The subscription failed or the server is gone: there is nothing to end.
    }
  }
}

/**
 * Watches a stateless server with one `subscriptions/listen` request that stays open, and opens another one when it ends.
 * `interrupted` is called after each gap.
 */
export async function openStatelessWatch(
  connection: ClientConnection,
  filter: ChangeFilter,
  signal: AbortSignal | undefined,
  interrupted: () => void,
): Promise<ChangeStream> {
  const subscription = new ListenSubscription(connection, filter, interrupted);
  const abort = () => subscription.abort(aborted("watch", signal as AbortSignal, true));
  if (signal?.aborted) abort();
  const stopWaiting = signal && onAbort(signal, abort);
  try {
    await subscription.begin();
  } finally {
    stopWaiting?.();
  }
  return subscription.changes;
}

class ListenSubscription {
  readonly changes: ChangeQueue;
  readonly #connection: ClientConnection;
  readonly #filter: ChangeFilter;
  readonly #interrupted: () => void;
  readonly #stopListening: () => void;
  readonly #stopWaiting: () => void;
  #id: RequestId | undefined;
  #acknowledged: (() => void) | undefined;
  #refused: ((reason: Error) => void) | undefined;
  #attempts = 0;
  #stopTimer: (() => void) | undefined;

  constructor(connection: ClientConnection, filter: ChangeFilter, interrupted: () => void) {
    this.#connection = connection;
    this.#filter = filter;
    this.#interrupted = interrupted;
    this.changes = new ChangeQueue(connection.extensions, async () => this.#stop());
    this.#stopListening = connection.listen((notification) => this.#receive(notification));
    this.#stopWaiting = connection.onLost((reason) => this.#lost(reason));
  }

  /** Resolves when the server has acknowledged the subscription. */
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
      const id = this.#connection.nextId();
      this.#id = id;
      this.#acknowledged = resolve;
      this.#refused = reject;
      const { idleMs } = this.#connection;
      this.#stopTimer = this.#connection.clock.after(idleMs, () =>
        reject(timedOut(`watch: the server did not acknowledge subscriptions/listen within ${idleMs} ms`)),
      );
      const params: JsonObject = { notifications: toSubscriptionFilter(this.#filter) };
      this.#connection.link.exchange(this.#connection.encode(id, "subscriptions/listen", params, {}), {
        response: (response) => {
          if ("error" in response) {
            const { code, message, data } = response.error;
            const error = new RpcError(code, message, { data });
            this.#ended(id, error, !mayPass(error));
          } else this.#ended(id, subscriptionEnded("the server ended the subscription"), false);
        },
        // Later, because a loss of the whole link is reported right after this and is more than an interruption.
        failed: (reason) => queueMicrotask(() => this.#ended(id, disconnected("watch", reason), false)),
      });
    });
  }

  #receive(notification: RpcNotification): void {
    const { method, params } = notification;
    const id = this.#id;
    if (id === undefined) return;
    if (method === "notifications/cancelled" && params?.["requestId"] === id) {
      this.#ended(id, subscriptionEnded("the server cancelled the subscription"), false);
      return;
    }
    if (metaOf(params)?.[metaKeys.subscriptionId] !== id) return;
    if (method === "notifications/subscriptions/acknowledged") this.#acknowledge(params?.["notifications"]);
    const { extensions } = this.#connection;
    const change = changeIn(notification, this.changes.acceptedFilter, extensions);
    if (!change) return;
    if (isWatched(change, this.changes.acceptedFilter)) this.changes.push(change);
    else this.#connection.invalid(`${method}, which was not requested`);
  }

  #acknowledge(notifications: unknown): void {
    if (!this.#acknowledged) return;
    this.#stopTimer?.();
    this.changes.acceptedFilter = grantedFilter(this.#filter, (notifications ?? {}) as SubscriptionFilter);
    if (Object.keys(this.changes.acceptedFilter).length === 0) {
      this.#refused?.(new PortolanError("capability-missing", "watch: the server reports none of these changes"));
      return;
    }
    this.#attempts = 0;
    this.#acknowledged();
    this.#acknowledged = undefined;
    this.#refused = undefined;
  }

  /** Handles the end of the request: before its acknowledgement a refusal, later an interruption unless it is final. */
  #ended(id: RequestId, reason: Error, isFinal: boolean): void {
    if (this.#id !== id) return;
    this.#id = undefined;
    this.#stopTimer?.();
    if (this.#refused) this.#refused(reason);
    else if (isFinal) this.#giveUp(reason);
    else this.#retryLater();
  }

  #retryLater(): void {
    if (this.changes.isOver) return;
    const delay = Math.min(firstListenRetryMs * listenRetryGrowth ** this.#attempts, maxListenRetryMs);
    this.#attempts += 1;
    this.#stopTimer = this.#connection.clock.after(delay * (1 + Math.random() / 10), () => {
      this.#listen().then(
        () => {
          this.#interrupted();
          this.changes.pushAll();
        },
        (reason) => this.#retryFailed(toError(reason)),
      );
    });
  }

  /** Retries while the server is unreachable, shuts down or is overloaded. */
  #retryFailed(reason: Error): void {
    this.#stopTimer?.();
    if (this.#id !== undefined) this.#connection.link.cancel(this.#id, "The server did not acknowledge");
    this.#id = undefined;
    this.#acknowledged = undefined;
    this.#refused = undefined;
    if (mayPass(reason) && !this.#connection.lostReason) this.#retryLater();
    else this.#giveUp(reason);
  }

  #lost(reason: Error): void {
    this.#id = undefined;
    if (this.#refused) this.#refused(disconnected("watch", reason));
    else this.#giveUp(this.#connection.isClosing ? undefined : reason);
  }

  #giveUp(reason: Error | undefined): void {
    this.changes.end(reason);
    this.#stop();
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopListening();
    this.#stopWaiting();
    if (this.#id !== undefined) this.#connection.link.cancel(this.#id, "The client stops listening");
    this.#id = undefined;
  }
}

/** The codes with which a server refuses what it may accept later: while it shuts down or its storage fails, or beyond a limit. */
const passingCodes: readonly number[] = [
  rpcCodes.internalError,
  protocolCodes.limitExceeded,
  protocolCodes.upstreamLost,
];

/** Tells if the server may accept a subscription later that it refuses now. */
function mayPass(reason: Error): boolean {
  return isTransient(reason) || (reason instanceof RpcError && passingCodes.includes(reason.code));
}

function subscriptionEnded(why: string): PortolanError {
  return new PortolanError("connection-closed", `watch: ${why}`);
}

function toSubscriptionFilter({ tools, prompts, resources, uris, extensions }: ChangeFilter): SubscriptionFilter {
  return {
    ...(tools && { toolsListChanged: true }),
    ...(prompts && { promptsListChanged: true }),
    ...(resources && { resourcesListChanged: true }),
    ...(uris && { resourceSubscriptions: [...uris] }),
    ...extensions,
  };
}

/** Returns the granted part of a filter. A server cannot grant more than was requested. */
function grantedFilter(asked: ChangeFilter, granted: SubscriptionFilter): ChangeFilter {
  const list = Array.isArray(granted.resourceSubscriptions) ? granted.resourceSubscriptions : [];
  const uris = asked.uris?.filter((uri) => list.includes(uri)) ?? [];
  const known = Object.keys(asked.extensions ?? {}).filter((member) => Object.hasOwn(granted, member));
  const extensions = Object.fromEntries(known.map((member) => [member, (granted as JsonObject)[member]]));
  return {
    ...(asked.tools && granted.toolsListChanged === true && { tools: true }),
    ...(asked.prompts && granted.promptsListChanged === true && { prompts: true }),
    ...(asked.resources && granted.resourcesListChanged === true && { resources: true }),
    ...(uris.length > 0 && { uris }),
    ...(known.length > 0 && { extensions }),
  };
}
