import { maxDialPauseMs, minDialPauseMs } from "./limits.ts";

/** One connection of the storage, made from the user's client. It reconnects by itself, and sends nothing twice. */
export interface RedisLink {
  readonly isCluster: boolean;
  readonly state: LinkState;
  /** Why the state is "down". */
  readonly reason: unknown;
  /** Resolves when the first attempt to connect has ended. */
  readonly tried: Promise<void>;
  /** Begins to connect. A second call does nothing. */
  open(): void;
  /** Sends a command, whose first key says to which node of a cluster. */
  send(key: string, args: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  /** Replaces a connection that is silent, or whose server no longer takes writes. */
  reset(): void;
  /** Closes the connection. Commands under way are rejected. */
  close(): Promise<void>;
}

/** "connecting" is the first attempt alone: until it ends, commands wait. */
export type LinkState = "idle" | "connecting" | "up" | "down" | "closed";

/** The events of a link. */
export interface RedisLinkEvents {
  /** Messages may have been lost, or another server may answer from now on. */
  disturbed(): void;
  received(channel: string, text: string): void;
}

/** How the connections of a storage behave. */
export interface LinkOptions {
  readonly events: RedisLinkEvents;
  /** A connection that owes an answer and is silent for this long is closed. */
  readonly silentMs: number;
}

/** The state of a link, and who is told when it changes. */
export class LinkStatus {
  state: LinkState = "idle";
  reason: unknown;
  readonly tried: Promise<void>;
  readonly #events: RedisLinkEvents;
  #endTry: () => void = ignore;
  #wasUp = false;

  constructor(events: RedisLinkEvents) {
    this.#events = events;
    this.tried = new Promise((resolve) => {
      this.#endTry = resolve;
    });
  }

  connecting(): void {
    this.state = "connecting";
  }

  up(): void {
    if (this.state === "up" || this.state === "closed") return;
    this.state = "up";
    this.reason = undefined;
    this.#endTry();
    if (this.#wasUp) this.#events.disturbed();
    this.#wasUp = true;
  }

  down(reason: unknown): void {
    if (this.state === "closed") return;
    // The close of a socket says less than the error before it.
    this.reason = reason ?? this.reason;
    this.state = "down";
    this.#endTry();
  }

  closed(): void {
    this.state = "closed";
    this.#endTry();
  }
}

/** Returns the pause before the next attempt to connect: longer each time, and random, so that processes do not come together. */
export function dialPauseMs(attempt: number): number {
  return Math.min(minDialPauseMs * 2 ** Math.min(attempt, 10), maxDialPauseMs) * (0.5 + Math.random() / 2);
}

export function ignore(): void {}
