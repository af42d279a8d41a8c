// Many tabs share one stream, because a browser opens only six connections to one origin. The tab that holds the lock reads
// the stream and tells the other tabs by a channel. A tab that misses events reads the state once by a stream of its own.
import type { ConsoleEvent } from "../../api.ts";
import { type ApiClient, reasonOf } from "./client.ts";
import { EventOrder, type EventPlace, readEvents, type StreamedEvent } from "./event-stream.ts";

/** Hears of events in their order, and of the state of the stream. */
export interface EventListener {
  /** Events that came together. */
  onEvents(events: readonly ConsoleEvent[]): void;
  onLink(state: StreamState, reason?: string): void;
}

export type StreamState = "opening" | "open" | "lost";

type Told =
  | { readonly kind: "events"; readonly after?: EventPlace; readonly events: readonly StreamedEvent[] }
  | { readonly kind: "link"; readonly state: StreamState; readonly reason?: string };

const lockName = "portolan-events";
/** The server sends a comment every 15 seconds: a holder that is silent for longer cannot read any more. */
const maxSilenceMs = 40_000;
/** More events while the state is read: it is read again. */
const maxHeldEvents = 5_000;
const firstRetryMs = 500;
const lastRetryMs = 8_000;

/** Follows the events of the console until `signal` aborts. */
export function followEvents(client: ApiClient, listener: EventListener, signal: AbortSignal): void {
  new EventReader(client, listener, signal).start();
}

class EventReader {
  readonly #client: ApiClient;
  readonly #listener: EventListener;
  readonly #signal: AbortSignal;
  readonly #channel = new BroadcastChannel(lockName);
  readonly #order = new EventOrder();
  /** Events that wait for the state that is being read. */
  #held: StreamedEvent[] | undefined;
  #heardAt = Date.now();
  #isHolder = false;

  constructor(client: ApiClient, listener: EventListener, signal: AbortSignal) {
    this.#client = client;
    this.#listener = listener;
    this.#signal = signal;
  }

  start(): void {
    this.#channel.onmessage = ({ data }: MessageEvent<Told>) => this.#hear(data);
    const timer = setInterval(() => this.#watch(), maxSilenceMs / 4);
    this.#signal.addEventListener("abort", () => {
      clearInterval(timer);
      this.#channel.close();
    });
    void this.#queue();
    // A tab that waits for the lock hears of changes only.
    void navigator.locks.query().then(({ held = [] }) => {
      if (!this.#isHolder && held.some(({ name }) => name === lockName)) void this.#readState();
    });
  }

  async #queue(): Promise<void> {
    while (!this.#signal.aborted) await this.#lead({ signal: this.#signal });
  }

  /** Waits for the lock, and reads the stream for all tabs until another tab takes it. */
  async #lead(options: LockOptions): Promise<void> {
    const lost = new AbortController();
    const ended = AbortSignal.any([lost.signal, this.#signal]);
    try {
      await navigator.locks.request(lockName, options, () => this.#readStream(ended));
    } catch {
      // Another tab has taken the lock, or this tab ends.
    }
    // The browser does not stop the stream of a tab that was robbed.
    lost.abort();
    this.#isHolder = false;
  }

  async #readStream(signal: AbortSignal): Promise<void> {
    this.#isHolder = true;
    this.#held = undefined;
    let waitMs = firstRetryMs;
    while (!signal.aborted) {
      try {
        const { place } = this.#order;
        const body = await this.#client.events(place && `${place.boot}.${place.n}`, signal);
        this.#tellLink("open");
        await readEvents(body, (events) => {
          waitMs = firstRetryMs;
          if (signal.aborted) return;
          const after = this.#order.place;
          this.#channel.postMessage({ kind: "events", ...(after ? { after } : {}), events } satisfies Told);
          this.#apply(events);
        });
        this.#tellLink("lost", "The console ended the connection.");
      } catch (error) {
        if (signal.aborted) return;
        this.#tellLink("lost", reasonOf(error));
      }
      await pause(waitMs, signal);
      waitMs = Math.min(waitMs * 2, lastRetryMs);
    }
  }

  #tellLink(state: StreamState, reason?: string): void {
    if (this.#signal.aborted) return;
    this.#listener.onLink(state, reason);
    this.#channel.postMessage({ kind: "link", state, ...(reason === undefined ? {} : { reason }) } satisfies Told);
  }

  #hear(told: Told): void {
    this.#heardAt = Date.now();
    if (this.#isHolder) return;
    if (told.kind === "link") this.#listener.onLink(told.state, told.reason);
    else if (this.#held) this.#held.push(...told.events.slice(0, maxHeldEvents - this.#held.length));
    else if (this.#order.misses(told.after)) void this.#readState(told.events);
    else this.#apply(told.events);
  }

  #apply(events: readonly StreamedEvent[]): void {
    const taken = this.#order.take(events);
    if (taken.length > 0) this.#listener.onEvents(taken);
  }

  /** Reads the state once by a stream of its own, and then applies the events that came meanwhile. */
  async #readState(first: readonly StreamedEvent[] = []): Promise<void> {
    const held = [...first];
    this.#held = held;
    const done = new AbortController();
    try {
      const body = await this.#client.events(undefined, AbortSignal.any([done.signal, this.#signal]));
      await readEvents(body, (events) => {
        if (events.length === 0 || done.signal.aborted) return;
        done.abort();
        if (this.#held !== held) return;
        this.#held = undefined;
        this.#listener.onLink("open");
        this.#apply([...events, ...held]);
      });
    } catch {
      // The tab that holds the lock says that the console does not answer. The next event makes this tab try again.
    }
    if (this.#held === held) this.#held = undefined;
  }

  /** Takes the stream over from a tab that has become silent. */
  #watch(): void {
    if (this.#isHolder || document.hidden || Date.now() - this.#heardAt < maxSilenceMs) return;
    this.#heardAt = Date.now();
    void this.#lead({ steal: true });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
