import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Block, ConsoleEvent } from "../../api.ts";
import { type ApiClient, reasonOf } from "../api/client.ts";
import { SignalRecords } from "./records.ts";
import type { ConsoleStore } from "./store.ts";

type Delta = Extract<ConsoleEvent, { readonly kind: "delta" }>;

/** Returns the text with a delta, or undefined if something between them is missing. */
export function withDelta(text: string, { from, delta }: Pick<Delta, "from" | "delta">): string | undefined {
  if (text.length < from) return undefined;
  // A text that was read after the delta was sent has it already.
  return text.length >= from + delta.length ? text : text.slice(0, from) + delta;
}

/** The blocks of one conversation, as they are read and as events change them. */
export class ConversationBlocks {
  readonly id: string;
  readonly blocks: SignalRecords<Block> = new SignalRecords(({ id }) => id);
  readonly #state: Signal<{ readonly is: "loading" | "loaded" | "failed"; readonly reason?: string }>;
  readonly #api: ApiClient;
  readonly #store: ConsoleStore;
  /** Events that came while the blocks are read. */
  #waiting: ConsoleEvent[] | undefined;

  constructor(id: string, api: ApiClient, store: ConsoleStore) {
    this.id = id;
    this.#api = api;
    this.#store = store;
    this.#state = signal({ is: "loading" });
  }

  get state(): ReadonlySignal<{ readonly is: "loading" | "loaded" | "failed"; readonly reason?: string }> {
    return this.#state;
  }

  /** Reads the blocks and follows the events. Returns a function that ends this. */
  follow(): () => void {
    const end = this.#store.listen((event) => this.#hear(event));
    void this.load();
    return end;
  }

  async load(): Promise<void> {
    const waiting: ConsoleEvent[] = [];
    this.#waiting = waiting;
    try {
      const { blocks } = await this.#api.read("conversation.blocks", { id: this.id });
      if (this.#waiting !== waiting) return;
      this.#waiting = undefined;
      batch(() => {
        this.blocks.reset(blocks);
        for (const event of waiting) this.#apply(event);
        this.#state.value = { is: "loaded" };
      });
    } catch (error) {
      if (this.#waiting !== waiting) return;
      this.#waiting = undefined;
      this.#state.value = { is: "failed", reason: reasonOf(error) };
    }
  }

  #hear(event: ConsoleEvent): void {
    // After a reset nobody knows what was missed.
    if (event.kind === "reset") void this.load();
    else if (this.#waiting) this.#waiting.push(event);
    else this.#apply(event);
  }

  #apply(event: ConsoleEvent): void {
    if (event.kind === "block" && event.conversation === this.id) this.blocks.put(event.block);
    if (event.kind !== "delta" || event.conversation !== this.id) return;
    const block = this.blocks.get(event.block).peek();
    const isText = block?.kind === "text" || block?.kind === "thinking";
    const text = isText ? withDelta(block.text, event) : undefined;
    if (isText && text !== undefined) this.blocks.put({ ...block, text });
    else void this.load();
  }
}
