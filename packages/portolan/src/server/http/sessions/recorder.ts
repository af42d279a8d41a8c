import { eventOf, opening } from "../event-stream.ts";
import type { Outlet } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import { type EventLog, keptEvents } from "./event-log.ts";

/** Makes streams that can be resumed. */
export class Recorder {
  readonly #log: EventLog;
  readonly #afterTurn: (call: () => void) => void;
  /** Tells the streams of this process from those of others. */
  readonly #name: string = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(log: EventLog, afterTurn: (call: () => void) => void) {
    this.#log = log;
    this.#afterTurn = afterTurn;
  }

  record(stream: OpenStream, session: string, primes: boolean): Outlet {
    this.#count += 1;
    const name = `${this.#name}${this.#count.toString(36)}`;
    if (primes) stream.write(opening(name));
    return new RecordedStream(stream, this.#log, session, name, primes, this.#afterTurn);
  }
}

interface Said {
  readonly number: number;
  readonly text: string;
  readonly isLast: boolean;
}

/** A stream whose events are kept under their ids, turn by turn. */
class RecordedStream implements Outlet {
  readonly #stream: OpenStream;
  readonly #log: EventLog;
  readonly #session: string;
  readonly #name: string;
  readonly #isPrimed: boolean;
  readonly #afterTurn: (call: () => void) => void;
  /** What was said in this turn. */
  #said: Said[] = [];
  #count = 0;
  #stored: Promise<void>;

  constructor(
    stream: OpenStream,
    log: EventLog,
    session: string,
    name: string,
    isPrimed: boolean,
    afterTurn: (call: () => void) => void,
  ) {
    this.#isPrimed = isPrimed;
    this.#stream = stream;
    this.#log = log;
    this.#session = session;
    this.#name = name;
    this.#afterTurn = afterTurn;
    this.#stored = log.open(session, name).catch(() => {});
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
    if (text !== "") this.#stream.write(eventOf(text, `${this.#name}_${this.#count}`));
    if (this.#said.push({ number: this.#count, text, isLast }) === 1) this.#afterTurn(this.#keep);
    // The log would forget the others.
    else if (this.#said.length >= 2 * keptEvents) this.#said.splice(0, keptEvents);
  }

  readonly #keep = (): void => {
    const said = this.#said.slice(-keptEvents);
    this.#said = [];
    this.#stored = this.#stored.then(async () => {
      for (const { number, text, isLast } of said) {
        // What cannot be kept is sent all the same: only the way back is lost.
        await this.#log.keep(this.#session, this.#name, number, text, isLast).catch(() => {});
      }
    });
  };
}
