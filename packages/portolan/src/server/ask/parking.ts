import { PortolanError } from "../../errors.ts";
import type { Conversation, ParkingLot } from "./conversation.ts";

const defaultTtlMs = 10 * 60_000;
const maxParked = 1_000;

interface Place {
  readonly conversation: Conversation;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Handlers that wait in memory for their client's answers; bounded in number and time. */
export class Parking implements ParkingLot {
  readonly #places = new Map<string, Place>();
  readonly #ttlMs: number;

  constructor(ttlMs: number = defaultTtlMs) {
    this.#ttlMs = ttlMs;
  }

  park(conversation: Conversation): string {
    if (this.#places.size >= maxParked) {
      throw new PortolanError("limit-reached", `${maxParked} handlers wait for answers already; no further one can`);
    }
    const handle = crypto.randomUUID();
    const timer = setTimeout(() => {
      this.#places.delete(handle);
      conversation.abandon(new PortolanError("timeout", "The client did not come back with an answer in time"));
    }, this.#ttlMs);
    // A waiting handler does not keep a process alive that has nothing else to do.
    (timer as { unref?: () => void }).unref?.();
    this.#places.set(handle, { conversation, timer });
    return handle;
  }

  find(handle: string): Conversation | undefined {
    return this.#places.get(handle)?.conversation;
  }

  /** Forgets a handler that goes on: a second retry with the same state finds nothing, so that none runs twice. */
  release(handle: string): void {
    clearTimeout(this.#places.get(handle)?.timer);
    this.#places.delete(handle);
  }
}
