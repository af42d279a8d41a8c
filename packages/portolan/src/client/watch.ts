import { PortolanError } from "../errors.ts";
import type { RpcNotification } from "../jsonrpc/message.ts";
import type { ServerCapabilities } from "../protocol/types/index.ts";
import type { Change, Watch, WatchFilter } from "./api.ts";

/** While nobody looks, so many addresses are kept apart; more of them are told as a change of all. */
const maxPending = 10_000;

const listKinds = ["tools", "prompts", "resources"] as const;

/** Changes that wait for a reader: a kind or an address that changed twice is told once. */
export class Changes implements Watch {
  honoured: WatchFilter = {};
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
export function promised(filter: WatchFilter, capabilities: ServerCapabilities): WatchFilter {
  const { tools, prompts, resources } = capabilities;
  const uris = filter.uris && resources?.subscribe ? [...new Set(filter.uris)] : [];
  const left: WatchFilter = {
    ...(filter.tools && tools?.listChanged && { tools: true }),
    ...(filter.prompts && prompts?.listChanged && { prompts: true }),
    ...(filter.resources && resources?.listChanged && { resources: true }),
    ...(uris.length > 0 && { uris }),
  };
  if (Object.keys(left).length > 0) return left;
  const asked = Object.keys(filter).filter((name) => filter[name as keyof WatchFilter]);
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
export function isWatched(change: Change, { uris = [], ...lists }: WatchFilter): boolean {
  if (change.kind !== "resource") return lists[change.kind] === true;
  const { uri } = change;
  return uris.some((watched) => uri === watched || uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`));
}
