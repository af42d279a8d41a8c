import { type Clock, systemClock } from "../client/deadlines.ts";
import { PortolanError } from "../errors.ts";
import type { Channel, Incoming, Sendable } from "../jsonrpc/channel.ts";
import { readText } from "../jsonrpc/framing.ts";
import { serialize } from "../jsonrpc/message.ts";
import { type Random, seeded } from "./random.ts";

/** What goes wrong, and how often; chances are numbers from 0, never, to 1, always. */
export interface ChannelFaults extends LaneFaults {
  /** Decides everything that is left to chance: the same seed, the same faults. */
  readonly seed: number;
  /** The chance that a message is lost. */
  readonly drop?: number;
  /** The chance that a message arrives twice. */
  readonly duplicate?: number;
  /** The chance that a message lets the next one pass; the last one waits as long as `maxDelayMs`. */
  readonly reorder?: number;
  /** The chance that a message, and whatever comes behind it, is held up. */
  readonly delay?: number;
  /** The longest delay; 1 s unless said otherwise. */
  readonly maxDelayMs?: number;
  /** The chance that a received message arrives cut short, so that it cannot be read. */
  readonly truncate?: number;
  /** The chance that a line that is no message arrives before a received one. */
  readonly garbage?: number;
  /** How many messages, both ways together, pass before the wire is cut. */
  readonly cutAfter?: number;
  /** How many messages are sent before nothing more arrives at the other side, which is not told. */
  readonly stopSendingAfter?: number;
  /** How many messages are received before nothing more arrives here, without a word. */
  readonly stopReceivingAfter?: number;
  /** Times the delays; the clock of this machine unless said otherwise. */
  readonly clock?: Clock;
}

/** A channel that does not do what it should. */
export interface FaultyChannel extends Channel {
  /** What was done, in order, such as `→ drop {"jsonrpc":"2.0",…}`. */
  readonly injected: readonly string[];
  /** Cuts the wire: both sides hear that it is closed, and what was held up is lost. */
  cut(): void;
  /** Closes one half: nothing more passes that way, and nobody is told. */
  stop(half: "sending" | "receiving"): void;
}

/** The same channel with faults, in what is sent and in what is received. */
export function faulty(channel: Channel, faults: ChannelFaults): FaultyChannel {
  return new FaultInjector(channel, faults);
}

class FaultInjector implements FaultyChannel {
  readonly writesText: boolean;
  readonly injected: string[] = [];
  readonly #channel: Channel;
  readonly #faults: ChannelFaults;
  readonly #random: Random;
  readonly #sending: FaultyLane;
  readonly #receiving: FaultyLane;
  #passed = 0;
  #isOver = false;
  #cutBecause: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor(channel: Channel, faults: ChannelFaults) {
    const { seed, stopSendingAfter, stopReceivingAfter, clock = systemClock } = faults;
    this.#channel = channel;
    this.#faults = faults;
    this.writesText = channel.writesText === true;
    // A source for each: what happens one way does not depend on what passes the other way meanwhile.
    const seeds = seeded(seed);
    const nextSource = () => seeded(seeds() * 2 ** 32);
    this.#random = nextSource();
    this.#sending = new FaultyLane(faults, stopSendingAfter, nextSource(), clock, this.#noter("→"));
    this.#receiving = new FaultyLane(faults, stopReceivingAfter, nextSource(), clock, this.#noter("←"));
  }

  open(incoming: Incoming): void {
    this.#channel.open({
      message: (message) => this.#receive(textOf(message), incoming, () => incoming.message(message)),
      batch: (messages) => this.#receive(JSON.stringify(messages), incoming, () => incoming.batch(messages)),
      unreadable: (problem) => this.#receive(problem.why, incoming, () => incoming.unreadable(problem)),
      closed: (reason) => {
        this.#isOver = true;
        this.#receiving.flush();
        this.#sending.clear();
        incoming.closed(this.#cutBecause ?? reason);
      },
    });
  }

  send(message: Sendable): void | Promise<void> {
    // Also where the message is held up or lost: what has no JSON form is the sender's mistake, not the wire's.
    const text = this.writesText ? serialize(message) : textOf(message);
    if (this.#isOver) return;
    return this.#sending.push({ text, pass: () => this.#pass(() => this.#channel.send(message)) });
  }

  async close(): Promise<void> {
    if (!this.#isOver) this.#sending.flush();
    this.#isOver = true;
    this.#closing ??= this.#channel.close();
    await this.#closing;
  }

  cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const reason = `The wire was cut after ${this.#passed} messages`;
    this.injected.push(`cut: ${reason}`);
    this.#cutBecause = new PortolanError("connection-closed", reason);
    this.#sending.clear();
    this.#receiving.clear();
    this.#closing = this.#channel.close();
  }

  stop(half: "sending" | "receiving"): void {
    this.injected.push(`stop ${half}`);
    if (half === "sending") this.#sending.stop();
    else this.#receiving.stop();
  }

  #receive(text: string, incoming: Incoming, arrive: () => void): void {
    const { garbage = 0, truncate = 0 } = this.#faults;
    const hasGarbage = this.#random() < garbage;
    const isTruncated = this.#random() < truncate;
    const cutAt = 1 + Math.floor(this.#random() * (text.length - 1));
    if (hasGarbage) {
      this.injected.push("← garbage");
      this.#receiving.push({ text: strayLine, pass: () => this.#pass(() => readText(strayLine, incoming)) });
    }
    if (!isTruncated) {
      this.#receiving.push({ text, pass: () => this.#pass(arrive) });
      return;
    }
    const rest = text.slice(0, cutAt);
    this.injected.push(`← truncate ${rest}`);
    this.#receiving.push({ text: rest, pass: () => this.#pass(() => readText(rest, incoming)) });
  }

  #pass(deliver: () => void | Promise<void>): void | Promise<void> {
    const { cutAfter = Number.POSITIVE_INFINITY } = this.#faults;
    if (this.#passed >= cutAfter) this.cut();
    if (this.#cutBecause) return;
    this.#passed += 1;
    const delivering = deliver();
    if (this.#passed >= cutAfter) this.cut();
    return delivering;
  }

  #noter(arrow: string): (fault: string, text: string) => void {
    return (fault, text) => {
      this.injected.push(`${arrow} ${fault} ${text}`);
    };
  }
}

const strayLine = "Listening on port 8080";

/** By reference a channel also takes what has no JSON form. */
function textOf(message: Sendable): string {
  try {
    return serialize(message);
  } catch {
    return "what has no JSON form";
  }
}

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
