import type { RpcNotification } from "../jsonrpc/message.ts";
import type { Change, ChangeFilter, ChangeStream } from "./api.ts";
import type { WatchedMember } from "./extension.ts";
import { maxPendingChanges } from "./limits.ts";

/** The members of the filter that extensions add. */
export interface WatchedMembers {
  watched(member: string): WatchedMember | undefined;
}

/** Changes that wait for their reader; each list and each URI is in the queue once. */
export class ChangeQueue implements ChangeStream {
  acceptedFilter: ChangeFilter = {};
  readonly #members: WatchedMembers | undefined;
  readonly #stop: () => Promise<void>;
  readonly #pending = new Map<string, Change>();
  #wake: () => void = () => {};
  #isOver = false;
  #failure: Error | undefined;

  constructor(members: WatchedMembers | undefined, stop: () => Promise<void>) {
    this.#members = members;
    this.#stop = stop;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  push(change: Change): void {
    if (this.#isOver) return;
    if (change.kind === "extension") this.#pushExtension(change);
    else if (change.kind !== "resource") this.#pending.set(change.kind, change);
    else if (this.#pending.size < maxPendingChanges) this.#pending.set(`resource ${change.uri}`, change);
    else this.#collapse();
    this.#wake();
  }

  /** Beyond the bound all pending changes of a member become one with empty params. */
  #pushExtension(change: Change & { readonly kind: "extension" }): void {
    const { member, params } = change;
    const key = this.#members?.watched(member)?.keyOf?.(params) ?? "";
    if (this.#pending.size < maxPendingChanges || this.#pending.has(`extension ${member} ${key}`)) {
      this.#pending.set(`extension ${member} ${key}`, change);
      return;
    }
    for (const [pending, { kind }] of this.#pending) if (kind === "extension") this.#pending.delete(pending);
    this.#pending.set(`extension ${member} `, { ...change, params: {} });
  }

  /** Reports everything watched as changed. */
  pushAll(): void {
    for (const member of Object.keys(this.acceptedFilter.extensions ?? {})) {
      const method = this.#members?.watched(member)?.notification ?? "";
      this.push({ kind: "extension", member, method, params: {} });
    }
    this.pushLists();
    for (const uri of this.acceptedFilter.uris ?? []) this.push({ kind: "resource", uri });
  }

  /** Reports all watched lists as changed. */
  pushLists(): void {
    for (const kind of listKinds) if (this.acceptedFilter[kind]) this.push({ kind });
  }

  /** Reports a URI as changed if it is watched. */
  pushUri(uri: string): void {
    if (this.acceptedFilter.uris?.includes(uri)) this.push({ kind: "resource", uri });
  }

  /** Ends the iteration after the pending changes, with an error if there is one. */
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
      // Runs also when the reader leaves its loop.
      await this.close();
    }
  }

  /** Replaces all pending URIs by one change of the list, because there are too many. */
  #collapse(): void {
    for (const [key, { kind }] of this.#pending) if (kind === "resource") this.#pending.delete(key);
    this.#pending.set("resources", { kind: "resources" });
  }
}

const listKinds = ["tools", "prompts", "resources"] as const;

/** Returns the change that a notification reports; undefined for other notifications. */
export function changeIn(
  { method, params }: RpcNotification,
  { extensions = {} }: ChangeFilter,
  members: WatchedMembers | undefined,
): Change | undefined {
  for (const [member, wanted] of Object.entries(extensions)) {
    const watched = members?.watched(member);
    if (watched?.notification !== method || watched.covers?.(wanted, params ?? {}) === false) continue;
    return { kind: "extension", member, method, params: params ?? {} };
  }
  for (const kind of listKinds) if (method === `notifications/${kind}/list_changed`) return { kind };
  const uri = params?.["uri"];
  if (method !== "notifications/resources/updated" || typeof uri !== "string") return undefined;
  return { kind: "resource", uri };
}

/** Tells if a filter covers a change. A URI also covers its children. */
export function isWatched(change: Change, { uris = [], ...lists }: ChangeFilter): boolean {
  if (change.kind === "extension") return true;
  if (change.kind !== "resource") return lists[change.kind] === true;
  const { uri } = change;
  return uris.some((watched) => uri === watched || uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`));
}
