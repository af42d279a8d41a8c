import { type Clock, systemClock } from "../client/deadlines.ts";
import { PortolanError } from "../errors.ts";
import type { Channel, ChannelEvents, Sendable } from "../jsonrpc/channel.ts";
import * as envelope from "../jsonrpc/envelope.ts";
import { readText, scanners } from "../jsonrpc/framing.ts";
import { serialize } from "../jsonrpc/message.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { type Random, seededRandom } from "./random.ts";

// Loaded before the first fault, so that the same seed gives the same order of messages.
scanners.loaded ??= envelope;

/** The faults to inject. Probabilities are numbers from 0 (never) to 1 (always). */
export interface ChannelFaults {
  /** The seed of the random numbers. The same seed gives the same faults. */
  readonly seed: number;
  /** The probability that a message is lost. */
  readonly drop?: number;
  /** The probability that a message arrives twice. */
  readonly duplicate?: number;
  /** The probability that a message changes places with the next one. The last one waits for `maxDelayMs`. */
  readonly reorder?: number;
  /** The probability that a message is delayed, with all messages after it. */
  readonly delay?: number;
  /** The longest delay. Default: 1 s. */
  readonly maxDelayMs?: number;
  /** The probability that a received message is truncated, so that it is unreadable. */
  readonly truncate?: number;
  /** The probability that a line which is no message arrives before a received one. */
  readonly garbage?: number;
  /** Closes the connection after this many messages in both directions together. */
  readonly cutAfter?: number;
  /** Drops all sent messages after this many, without an error. */
  readonly stopSendingAfter?: number;
  /** Drops all received messages after this many, without an error. */
  readonly stopReceivingAfter?: number;
  /** The clock of the delays. Default: the system clock. */
  readonly clock?: Clock;
}

/** A channel with faults. */
export interface FaultyChannel extends Channel {
  /** The faults so far, in order, such as `→ drop {"jsonrpc":"2.0",…}`. */
  readonly injected: readonly string[];
  /** Closes the connection for both sides. Delayed messages are lost. */
  cut(): void;
  /** Drops all further messages in one direction, without an error. */
  stop(half: "sending" | "receiving"): void;
}

/** Wraps a channel so that sent and received messages suffer faults. */
export function faultyChannel(channel: Channel, faults: ChannelFaults): FaultyChannel {
  checkOptions(faults, faultNames, "faulty");
  return new FaultInjector(channel, faults);
}

const faultNames: OptionNames<ChannelFaults> = {
  seed: 1,
  drop: 1,
  duplicate: 1,
  reorder: 1,
  delay: 1,
  maxDelayMs: 1,
  truncate: 1,
  garbage: 1,
  cutAfter: 1,
  stopSendingAfter: 1,
  stopReceivingAfter: 1,
  clock: 1,
};

class FaultInjector implements FaultyChannel {
  readonly writesText: boolean;
  readonly injected: string[] = [];
  readonly #channel: Channel;
  readonly #faults: ChannelFaults;
  readonly #random: Random;
  readonly #sending: FaultyDirection;
  readonly #receiving: FaultyDirection;
  #passed = 0;
  #isOver = false;
  #cutBecause: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor(channel: Channel, faults: ChannelFaults) {
    const { seed, stopSendingAfter, stopReceivingAfter, clock = systemClock } = faults;
    this.#channel = channel;
    this.#faults = faults;
    this.writesText = channel.writesText === true;
    // One random source each: faults in one direction do not depend on the traffic in the other.
    const seeds = seededRandom(seed);
    const nextSource = () => seededRandom(seeds() * 2 ** 32);
    this.#random = nextSource();
    this.#sending = new FaultyDirection(faults, stopSendingAfter, nextSource(), clock, this.#noter("→"));
    this.#receiving = new FaultyDirection(faults, stopReceivingAfter, nextSource(), clock, this.#noter("←"));
  }

  open(incoming: ChannelEvents): void {
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
    // Serialized even if the message is lost: a value without a JSON form is the sender's mistake.
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
    const reason = `The connection was cut after ${this.#passed} messages`;
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

  #receive(text: string, incoming: ChannelEvents, arrive: () => void): void {
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

/** A channel that passes objects also accepts values without a JSON form. */
function textOf(message: Sendable): string {
  try {
    return serialize(message);
  } catch {
    return "(no JSON form)";
  }
}

/** The faults that apply to each direction separately. */
type DirectionFaults = Pick<ChannelFaults, "drop" | "duplicate" | "reorder" | "delay" | "maxDelayMs">;

/** A message that has not been delivered yet. */
interface PendingMessage {
  readonly text: string;
  pass(): void | Promise<void>;
}

const defaultMaxDelayMs = 1_000;

/** One direction of a faulty channel. Decides for each message if, when and how often it passes. */
class FaultyDirection {
  readonly #faults: DirectionFaults;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #note: (fault: string, text: string) => void;
  #left: number;
  /** The message that waits for the next one to pass it. */
  #overtaken: PendingMessage | undefined;
  #stopWaiting: () => void = () => {};
  /** Delayed messages in order. */
  #queue: { readonly message: PendingMessage; readonly dueAt: number }[] = [];
  #stopTimer: (() => void) | undefined;

  constructor(
    faults: DirectionFaults,
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

  push(message: PendingMessage): void | Promise<void> {
    const { drop, duplicate, reorder, delay } = this.#faults;
    // Always drawn: turning one fault on must not change which messages the others hit.
    const isDropped = this.#random() < (drop ?? 0);
    const isDoubled = this.#random() < (duplicate ?? 0);
    const isOvertaken = this.#random() < (reorder ?? 0);
    const isDelayed = this.#random() < (delay ?? 0);
    const delayMs = this.#random() * this.#maxDelayMs;
    if (this.#left <= 0) return this.#note("stop", message.text);
    this.#left -= 1;
    if (isDropped) return this.#note("drop", message.text);
    if (isOvertaken && !this.#overtaken) return this.#letPass(message);
    if (isDelayed) this.#note("delay", message.text);
    const dueAt = this.#clock.now() + (isDelayed ? delayMs : 0);
    if (isDoubled) {
      this.#note("duplicate", message.text);
      this.#enqueue(message, dueAt);
    }
    const passing = this.#enqueue(message, dueAt);
    this.#releaseOvertaken();
    return passing;
  }

  /** Drops all further messages. */
  stop(): void {
    this.#left = 0;
  }

  /** Delivers all waiting messages at once. */
  flush(): void {
    this.#releaseOvertaken();
    const queue = this.#queue;
    this.clear();
    for (const { message } of queue) message.pass();
  }

  /** Drops all waiting messages. */
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

  #letPass(message: PendingMessage): void {
    this.#note("reorder", message.text);
    this.#overtaken = message;
    // The last message has no successor and would wait forever.
    this.#stopWaiting = this.#clock.after(this.#maxDelayMs, () => this.#releaseOvertaken());
  }

  #releaseOvertaken(): void {
    const message = this.#overtaken;
    if (!message) return;
    this.#overtaken = undefined;
    this.#stopWaiting();
    this.#enqueue(message, this.#clock.now());
  }

  #enqueue(message: PendingMessage, dueAt: number): void | Promise<void> {
    if (this.#queue.length === 0 && dueAt <= this.#clock.now()) return message.pass();
    this.#queue.push({ message, dueAt });
    if (!this.#stopTimer) this.#arm();
  }

  #arm(): void {
    const [next] = this.#queue;
    if (!next) return;
    this.#stopTimer = this.#clock.after(next.dueAt - this.#clock.now(), () => this.#passDue());
  }

  /** Delivers all messages that are due. */
  #passDue(): void {
    this.#stopTimer = undefined;
    for (let next = this.#queue[0]; next && next.dueAt <= this.#clock.now(); next = this.#queue[0]) {
      this.#queue.shift();
      next.message.pass();
    }
    if (!this.#stopTimer) this.#arm();
  }
}
