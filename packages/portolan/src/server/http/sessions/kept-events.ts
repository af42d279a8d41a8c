import type { Caller } from "../../callers.ts";
import { entryOverheadBytes, maxKeptEvents, streamOverheadBytes } from "../limits.ts";

/** The stored events of one stream, as the limits of its caller count them. */
export class KeptEvents {
  readonly #caller: Caller;
  readonly #sizes: number[] = [];
  #isOver = false;
  /** The time at which the storage drops them. */
  expiresAt: number = Number.POSITIVE_INFINITY;
  /** The number of an event that is not stored, while events before it may still be. */
  gap: number | undefined;

  /** The caller has taken `streamOverheadBytes` for the stream. */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Counts one more event. Returns false if the caller may not keep it. */
  add(text: string): boolean {
    const size = text.length + entryOverheadBytes;
    // Its session may have ended while an event waited for the storage.
    if (this.#isOver || !takeBytes(this.#caller, size)) return false;
    this.#sizes.push(size);
    if (this.#sizes.length > maxKeptEvents) releaseBytes(this.#caller, this.#sizes.shift() ?? 0);
    return true;
  }

  /** Stops counting the events. */
  clear(): void {
    for (const size of this.#sizes.splice(0)) releaseBytes(this.#caller, size);
  }

  /** Stops counting the events and the stream. */
  end(): void {
    this.clear();
    if (this.#isOver) return;
    this.#isOver = true;
    releaseBytes(this.#caller, streamOverheadBytes);
  }
}

/** Takes bytes for events. Returns false if the caller may not keep them; then nothing is taken. */
export function takeBytes(caller: Caller, size: number): boolean {
  if (caller.exhausts("eventBytes", size) || caller.take("keptBytes", size)) return false;
  caller.take("eventBytes", size);
  return true;
}

export function releaseBytes(caller: Caller, size: number): void {
  caller.release("eventBytes", size);
  caller.release("keptBytes", size);
}
