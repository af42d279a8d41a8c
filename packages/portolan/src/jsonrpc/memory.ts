import { PortolanError } from "../errors.ts";
import type { Channel, ChannelEvents, PreparedResponse, Sendable, WireTap } from "./channel.ts";
import { readText } from "./framing.ts";
import type { JsonObject, Message, RpcResponse } from "./message.ts";
import { serialize } from "./message.ts";

/** Options of `createMemoryPair`. */
export interface MemoryPairOptions {
  /** Serializes and parses every message, as a real transport does. Default: messages are passed by reference. */
  serialize?: boolean;
}

/** Creates two linked channels in one process. Messages arrive in order and never inside `send`. */
export function createMemoryPair(options: MemoryPairOptions = {}): [Channel, Channel] {
  const writesText = options.serialize === true;
  const pack = writesText ? serialize : byReference;
  const left = new Inbox();
  const right = new Inbox();
  return [
    { writesText, ...createSide(left, right, pack) },
    { writesText, ...createSide(right, left, pack) },
  ];
}

/** A message, a batch, or the JSON text of either. */
type Parcel = Message | RpcResponse[] | string;
type Pack = (message: Sendable) => Parcel;

function byReference(message: Sendable): Parcel {
  if ("messageText" in message) return message.messageText;
  return Array.isArray(message) ? message.map(unprepared) : unprepared(message);
}

function unprepared<M extends Message>(message: M | PreparedResponse): M | RpcResponse {
  if (!("resultText" in message)) return message;
  return { jsonrpc: "2.0", id: message.id, result: JSON.parse(message.resultText) as JsonObject };
}

function createSide(inbox: Inbox, outbox: Inbox, pack: Pack): Channel {
  return {
    open: (incoming) => inbox.open(incoming),
    send: (message) => {
      if (outbox.isEnded) return;
      const parcel = pack(message);
      if (typeof parcel === "string") inbox.tap?.sent(parcel);
      outbox.push(parcel);
    },
    close: async () => {
      await Promise.all([inbox.end(), outbox.end()]);
    },
  };
}

const settled = Promise.resolve();

/** One direction: queues messages until its owner opens it, and delivers a burst in one microtask. */
class Inbox {
  isEnded = false;
  #incoming: ChannelEvents | undefined = undefined;
  #parcels: Parcel[] = [];
  #next = 0;
  #isScheduled = false;
  #isClosed = false;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => {};
  readonly #drain = (): void => this.#deliverAll();

  constructor() {
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  get tap(): WireTap | undefined {
    return this.#incoming?.tap;
  }

  open(incoming: ChannelEvents): void {
    if (this.#incoming !== undefined) throw new PortolanError("invalid-argument", "open: the channel is already open");
    this.#incoming = incoming;
    this.#schedule();
  }

  push(parcel: Parcel): void {
    this.#parcels.push(parcel);
    this.#schedule();
  }

  /** Resolves when all messages are delivered. Before `open` it resolves at once; the messages are delivered after it. */
  end(): Promise<void> {
    this.isEnded = true;
    this.#schedule();
    return this.#incoming === undefined ? settled : this.#closed;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#incoming === undefined) return;
    this.#isScheduled = true;
    settled.then(this.#drain);
  }

  #deliverAll(): void {
    const incoming = this.#incoming;
    if (incoming === undefined) return;
    try {
      for (let parcel = this.#parcels[this.#next]; parcel !== undefined; parcel = this.#parcels[this.#next]) {
        this.#next += 1;
        deliver(parcel, incoming);
      }
      this.#parcels = [];
      this.#next = 0;
      if (this.isEnded) this.#close(incoming);
    } finally {
      this.#isScheduled = false;
      // A listener that throws is reported as an unhandled rejection; the messages behind it still arrive.
      if (this.#next < this.#parcels.length || (this.isEnded && !this.#isClosed)) this.#schedule();
    }
  }

  #close(incoming: ChannelEvents): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#resolveClosed();
    incoming.closed();
  }
}

function deliver(parcel: Parcel, incoming: ChannelEvents): void {
  if (typeof parcel === "string") readText(parcel, incoming);
  else if (Array.isArray(parcel)) incoming.batch(parcel);
  else incoming.message(parcel);
}
