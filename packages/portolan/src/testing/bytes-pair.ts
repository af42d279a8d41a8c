import { PortolanError } from "../errors.ts";
import type { Channel, ChannelEvents } from "../jsonrpc/channel.ts";
import { LineReader, type LineReaderOptions } from "../jsonrpc/framing.ts";
import { serialize } from "../jsonrpc/message.ts";
import { checkOptions } from "../options.ts";
import { pieceLength, type Random, seededRandom } from "./random.ts";

/** Options of `createBytesPair`. */
export interface BytesPairOptions extends LineReaderOptions {
  /** The seed of the random sizes. The same seed gives the same pieces. Default: 1. */
  readonly seed?: number;
}

/**
 * Creates two channels that exchange lines of JSON in pieces of random size, as a pipe or a socket does: a piece can end
 * within a character, or contain several lines.
 */
export function createBytesPair(options: BytesPairOptions = {}): [Channel, Channel] {
  checkOptions(options, { seed: 1, maxBytes: 1 }, "createBytesPair");
  const random = seededRandom(options.seed ?? 1);
  const left = new Pipe(random, options);
  const right = new Pipe(random, options);
  return [createSide(left, right), createSide(right, left)];
}

function createSide(inbox: Pipe, outbox: Pipe): Channel {
  return {
    writesText: true,
    open: (incoming) => inbox.open(incoming),
    send: (message) => outbox.write(`${serialize(message)}\n`),
    close: async () => {
      await Promise.all([inbox.end(), outbox.end()]);
    },
  };
}

const encoder = new TextEncoder();
const settled = Promise.resolve();

/** One direction. All bytes that are written and not yet read form one sequence. */
class Pipe {
  readonly #random: Random;
  readonly #options: LineReaderOptions;
  #written: string[] = [];
  #bytes: Uint8Array = new Uint8Array();
  #reader: LineReader | undefined;
  #incoming: ChannelEvents | undefined;
  #isEnded = false;
  #isClosed = false;
  #isScheduled = false;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => {};

  constructor(random: Random, options: LineReaderOptions) {
    this.#random = random;
    this.#options = options;
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  open(incoming: ChannelEvents): void {
    if (this.#incoming) throw new PortolanError("invalid-argument", "the channel is already open");
    this.#incoming = incoming;
    this.#reader = new LineReader(incoming, this.#options);
    this.#schedule();
  }

  write(text: string): void {
    if (this.#isEnded) return;
    this.#written.push(text);
    this.#schedule();
  }

  /** Resolves when everything is delivered; at once if the other side is not open yet, which still gets it later. */
  end(): Promise<void> {
    this.#isEnded = true;
    this.#schedule();
    return this.#incoming ? this.#closed : settled;
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#incoming || this.#isClosed) return;
    this.#isScheduled = true;
    settled.then(() => this.#deliver());
  }

  /** Delivers one piece. Bytes that are written meanwhile can be part of the next one. */
  #deliver(): void {
    this.#isScheduled = false;
    if (this.#written.length > 0) this.#fill();
    const bytes = this.#bytes;
    const end = bytes.length === 0 ? 0 : pieceLength(bytes.length, this.#random);
    this.#bytes = bytes.subarray(end);
    try {
      if (end > 0) this.#reader?.push(bytes.subarray(0, end));
      else if (this.#isEnded) this.#close();
    } finally {
      if (this.#bytes.length > 0 || this.#written.length > 0 || this.#isEnded) this.#schedule();
    }
  }

  #fill(): void {
    const added = encoder.encode(this.#written.join(""));
    this.#written = [];
    const joined = new Uint8Array(this.#bytes.length + added.length);
    joined.set(this.#bytes);
    joined.set(added, this.#bytes.length);
    this.#bytes = joined;
  }

  #close(): void {
    this.#isClosed = true;
    this.#reader?.end();
    this.#resolveClosed();
    this.#incoming?.closed();
  }
}
