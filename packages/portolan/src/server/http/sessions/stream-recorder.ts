import type { RequestId } from "../../../jsonrpc/message.ts";
import type { Caller } from "../../callers.ts";
import { entryOverheadBytes, maxKeptEvents } from "../limits.ts";
import { eventOf, type MessageSink, openingEvent, plainSink } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import type { EventLog } from "./event-log.ts";
import { releaseBytes, takeBytes } from "./kept-events.ts";

/** Makes answer streams resumable: their messages are sent with ids and stored. */
export class StreamRecorder {
  readonly #log: EventLog;
  readonly #afterTurn: (call: () => void) => void;
  /** Distinguishes the streams of this process from those of others. */
  readonly #prefix: string = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(log: EventLog, afterTurn: (call: () => void) => void) {
    this.#log = log;
    this.#afterTurn = afterTurn;
  }

  /**
   * Returns the sink for the messages of a stream. If the stream cannot be resumed, they have no ids.
   *
   * @param primes sends an opening event, so that the client can reconnect before it has received a message
   */
  record(stream: OpenStream, session: string, primes: boolean, caller: Caller, requests: RequestId[]): MessageSink {
    this.#count += 1;
    const name = `${this.#prefix}${this.#count.toString(36)}`;
    const begun = this.#log.open(session, name, caller, requests)?.catch(this.#log.report);
    if (!begun) return plainSink(stream);
    if (primes) stream.write(openingEvent(name));
    return new RecordedStream(stream, this.#log, { session, name, caller }, primes, this.#afterTurn, begun);
  }
}

interface NumberedMessage {
  readonly number: number;
  readonly text: string;
  readonly isLast: boolean;
}

/** A message that waits to be stored. Its text is missing if its caller may not keep it. */
interface WaitingMessage extends Omit<NumberedMessage, "text"> {
  readonly text: string | undefined;
}

/** Where the messages of a stream are stored, and for whom. */
interface RecordedAs {
  readonly session: string;
  readonly name: string;
  readonly caller: Caller;
}

/**
 * A stream whose messages are sent at once, and stored one after another from the end of their turn on. Those that wait
 * count as bytes of their caller: a client need not wait for the storage, and may be faster.
 */
class RecordedStream implements MessageSink {
  readonly #stream: OpenStream;
  readonly #log: EventLog;
  readonly #as: RecordedAs;
  readonly #isPrimed: boolean;
  readonly #afterTurn: (call: () => void) => void;
  /** Messages of this turn. */
  #unstored: NumberedMessage[] = [];
  /** Messages of earlier turns that are not stored yet. */
  readonly #waiting: WaitingMessage[] = [];
  #isStoring = false;
  #count = 0;

  constructor(
    stream: OpenStream,
    log: EventLog,
    as: RecordedAs,
    isPrimed: boolean,
    afterTurn: (call: () => void) => void,
    begun: Promise<void>,
  ) {
    this.#isPrimed = isPrimed;
    this.#stream = stream;
    this.#log = log;
    this.#as = as;
    this.#afterTurn = afterTurn;
    void this.#storeWaiting(begun);
  }

  write(text: string): void {
    this.#send(text, false);
  }

  end(text = ""): void {
    this.#send(text, true);
    this.#stream.end();
  }

  hangUp(): void {
    if (this.#isPrimed) this.#stream.end();
  }

  #send(text: string, isLast: boolean): void {
    this.#count += 1;
    if (text !== "") this.#stream.write(eventOf(text, `${this.#as.name}_${this.#count}`));
    if (this.#unstored.push({ number: this.#count, text, isLast }) === 1) this.#afterTurn(this.#store);
    // The log would drop the oldest ones anyway.
    else if (this.#unstored.length >= 2 * maxKeptEvents) this.#unstored.splice(0, maxKeptEvents);
  }

  readonly #store = (): void => {
    const messages = this.#unstored.slice(-maxKeptEvents);
    this.#unstored = [];
    for (const { number, text, isLast } of messages) {
      const isKept = takeBytes(this.#as.caller, text.length + entryOverheadBytes);
      // Of messages that are lost one after another, the last one says where the stream goes on.
      if (!isKept && this.#waiting.length > 0 && this.#waiting.at(-1)?.text === undefined) this.#waiting.pop();
      this.#waiting.push({ number, text: isKept ? text : undefined, isLast });
    }
    if (!this.#isStoring) void this.#storeWaiting();
  };

  async #storeWaiting(begun?: Promise<void>): Promise<void> {
    const { session, name, caller } = this.#as;
    this.#isStoring = true;
    // Not refused: a stream that has begun is stored to its end.
    caller.release("storingStreams", -1);
    await begun;
    for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
      const { number, text, isLast } = message;
      if (text !== undefined) releaseBytes(caller, text.length + entryOverheadBytes);
      // A message that cannot be stored was sent all the same.
      await this.#log.append(session, name, number, text, isLast).catch(this.#log.report);
    }
    this.#isStoring = false;
    caller.release("storingStreams");
  }
}
