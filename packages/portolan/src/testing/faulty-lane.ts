import type { Clock } from "../client/deadlines.ts";
import type { Random } from "./random.ts";

/** The faults that one direction has of its own. */
export interface LaneFaults {
  readonly drop?: number;
  readonly duplicate?: number;
  readonly reorder?: number;
  readonly delay?: number;
  readonly maxDelayMs?: number;
}

/** A message on its way. */
export interface Parcel {
  readonly text: string;
  pass(): void | Promise<void>;
}

const defaultMaxDelayMs = 1_000;

/** One direction of a faulty channel: decides for each message whether, when and how often it passes. */
export class FaultyLane {
  readonly #faults: LaneFaults;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #note: (fault: string, text: string) => void;
  #left: number;
  /** Passes behind the next one. */
  #overtaken: Parcel | undefined;
  #stopWaiting: () => void = () => {};
  /** Waits, in order, until its time has come. */
  #queue: { readonly parcel: Parcel; readonly dueAt: number }[] = [];
  #stopTimer: (() => void) | undefined;

  constructor(
    faults: LaneFaults,
    stopAfter: number | undefined,
    random: Random,
    clock: Clock,
    note: (fault: string, text: string) => void,
  ) {
    this.#faults = faults;
    this.#left = stopAfter ?? Number.POSITIVE_INFINITY;
    this.#random = random;
    this.#clock = clock;
    this.#note = note;
  }

  push(parcel: Parcel): void | Promise<void> {
    const { drop, duplicate, reorder, delay } = this.#faults;
    // All are drawn for each message: whether one fault is on does not change where the others fall.
    const isDropped = this.#random() < (drop ?? 0);
    const isDoubled = this.#random() < (duplicate ?? 0);
    const isOvertaken = this.#random() < (reorder ?? 0);
    const isDelayed = this.#random() < (delay ?? 0);
    const delayMs = this.#random() * this.#maxDelayMs;
    if (this.#left <= 0) return this.#note("stop", parcel.text);
    this.#left -= 1;
    if (isDropped) return this.#note("drop", parcel.text);
    if (isOvertaken && !this.#overtaken) return this.#letPass(parcel);
    if (isDelayed) this.#note("delay", parcel.text);
    const dueAt = this.#clock.now() + (isDelayed ? delayMs : 0);
    if (isDoubled) {
      this.#note("duplicate", parcel.text);
      this.#enqueue(parcel, dueAt);
    }
    const passing = this.#enqueue(parcel, dueAt);
    this.#releaseOvertaken();
    return passing;
  }

  /** Nothing more passes, and nobody is told. */
  stop(): void {
    this.#left = 0;
  }

  /** Lets everything pass at once that still waits. */
  flush(): void {
    this.#releaseOvertaken();
    const queue = this.#queue;
    this.clear();
    for (const { parcel } of queue) parcel.pass();
  }

  /** Loses everything that still waits. */
  clear(): void {
    this.#stopWaiting();
    this.#overtaken = undefined;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#queue = [];
  }

  get #maxDelayMs(): number {
    return this.#faults.maxDelayMs ?? defaultMaxDelayMs;
  }

  #letPass(parcel: Parcel): void {
    this.#note("reorder", parcel.text);
    this.#overtaken = parcel;
    // The last message of all has nothing behind it and would wait for ever.
    this.#stopWaiting = this.#clock.after(this.#maxDelayMs, () => this.#releaseOvertaken());
  }

  #releaseOvertaken(): void {
    const parcel = this.#overtaken;
    if (!parcel) return;
    this.#overtaken = undefined;
    this.#stopWaiting();
    this.#enqueue(parcel, this.#clock.now());
  }

  #enqueue(parcel: Parcel, dueAt: number): void | Promise<void> {
    if (this.#queue.length === 0 && dueAt <= this.#clock.now()) return parcel.pass();
    this.#queue.push({ parcel, dueAt });
    if (!this.#stopTimer) this.#arm();
  }

  #arm(): void {
    const [next] = this.#queue;
    if (!next) return;
    this.#stopTimer = this.#clock.after(next.dueAt - this.#clock.now(), () => this.#passDue());
  }

  /** Lets the first pass, and those behind it that are due as well. */
  #passDue(): void {
    this.#stopTimer = undefined;
    for (let next = this.#queue[0]; next && next.dueAt <= this.#clock.now(); next = this.#queue[0]) {
      this.#queue.shift();
      next.parcel.pass();
    }
    if (!this.#stopTimer) this.#arm();
  }
}
