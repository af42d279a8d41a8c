import type { EventLog } from "./event-log.ts";
import { eventOf, opening } from "./event-stream.ts";
import type { Outlet } from "./post-reply.ts";
import type { OpenStream } from "./streams.ts";

/** Makes streams that can be resumed. */
export class Recorder {
  readonly #log: EventLog;
  /** Tells the streams of this process from those of others. */
  readonly #name: string = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(log: EventLog) {
    this.#log = log;
  }

  record(stream: OpenStream, session: string, primes: boolean): Outlet {
    this.#count += 1;
    const name = `${this.#name}${this.#count.toString(36)}`;
    if (primes) stream.write(opening(name));
    return new RecordedStream(stream, this.#log, session, name);
  }
}

/** A stream whose events are kept under their ids. */
class RecordedStream implements Outlet {
  readonly #stream: OpenStream;
  readonly #log: EventLog;
  readonly #session: string;
  readonly #name: string;
  #count = 0;
  #stored: Promise<void>;

  constructor(stream: OpenStream, log: EventLog, session: string, name: string) {
    this.#stream = stream;
    this.#log = log;
    this.#session = session;
    this.#name = name;
    this.#stored = log.open(session, name).catch(() => {});
  }

  write(text: string): void {
    this.#send(text, false);
  }

  end(text = ""): void {
    this.#send(text, true);
    this.#stream.end();
  }

  #send(text: string, isLast: boolean): void {
    this.#count += 1;
    const number = this.#count;
    if (text !== "") this.#stream.write(eventOf(text, `${this.#name}_${number}`));
    // What cannot be kept is sent all the same: only the way back is lost.
    const keep = () => this.#log.keep(this.#session, this.#name, number, text, isLast);
    this.#stored = this.#stored.then(keep).catch(() => {});
  }
}
