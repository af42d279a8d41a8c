import { PortolanError } from "../../../errors.ts";
import type { Storage } from "../../../storage/storage.ts";
import { eventOf, type Outlet, opening } from "../reply.ts";
import type { OpenStream } from "../streams.ts";

/** How many events of a stream are kept. */
export const keptEvents = 1_000;
const ttlMs = 5 * 60_000;
/** How long the rest of an answer waits for its client. */
const overMs = 60_000;
/** A stream that nobody renews for so long has lost its process. */
const leaseMs = 60_000;
const lookMs = leaseMs / 3;
const last = "e";
const before = "m";

/** Where a client stopped reading. */
export interface EventPosition {
  readonly stream: string;
  readonly id: string;
  /** What only who has read the standalone stream knows. */
  readonly proof?: string;
}

/** One message as it was sent; a stream that was cut short ends with an empty one. */
export interface SentEvent {
  readonly id: string;
  readonly text: string;
  readonly isLast: boolean;
}

/** The name of a session's standalone stream in its log. */
export const standaloneName = "get";
const standalonePrefix = "get-";

/**
 * What was sent on the streams of sessions, so that a client that lost its connection can read on, in any process. An
 * answer has one writer, which counts its events; the standalone stream of a session may be written by several.
 */
export class EventLog {
  readonly #storage: Storage;
  /** The streams that this process is writing. */
  readonly #leases = new Set<string>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Begins the stream of an answer, which may be waited for until its last message. */
  async open(session: string, stream: string): Promise<void> {
    const key = keyOf(session, stream);
    this.#leases.add(key);
    this.#timer ??= every(lookMs, () => this.#renew());
    await this.#storage.kv.set(leaseOf(key), "", { ttlMs: leaseMs });
  }

  /** Keeps a message of an answer under its number. */
  async keep(session: string, stream: string, number: number, text: string, isLast: boolean): Promise<void> {
    const key = keyOf(session, stream);
    try {
      await this.#storage.log.append(key, `${isLast ? last : before}${number} ${text}`, {
        keep: keptEvents,
        ttlMs: isLast ? overMs : ttlMs,
      });
    } finally {
      if (isLast && this.#leases.delete(key)) await this.#storage.kv.delete(leaseOf(key));
    }
  }

  /** Keeps a message of the standalone stream and gives its id. */
  append(session: string, text: string): Promise<string> {
    return this.#storage.log.append(keyOf(session, standaloneName), text, { keep: keptEvents, ttlMs });
  }

  /** What is kept of the standalone stream behind a place; undefined when there is no such place. */
  async read(session: string, { stream, id }: EventPosition): Promise<SentEvent[] | undefined> {
    const events: SentEvent[] = [];
    try {
      for await (const entry of this.#storage.log.after(keyOf(session, stream), id)) {
        events.push({ id: entry.id, text: entry.value, isLast: false });
      }
    } catch (cause) {
      if (cause instanceof PortolanError && cause.code === "invalid-argument") return undefined;
      throw cause;
    }
    return events;
  }

  /** Whether all that an answer said behind a place is still to be had. */
  async isKept(session: string, { stream, id }: EventPosition): Promise<boolean> {
    const key = keyOf(session, stream);
    for await (const entry of this.#storage.log.after(key, "")) return numberOf(entry.value) <= Number(id) + 1;
    return (await this.#storage.kv.get(leaseOf(key))) !== undefined;
  }

  /** What an answer says from a place on, until its last message or the end of the process that writes it. */
  async *follow(session: string, { stream, id }: EventPosition): AsyncGenerator<SentEvent> {
    const key = keyOf(session, stream);
    let read = "";
    for (;;) {
      // Asked first: what was written before the end is read in any case.
      const isWritten = (await this.#storage.kv.get(leaseOf(key))) !== undefined;
      for await (const entry of this.#storage.log.after(key, read)) {
        read = entry.id;
        const event = toEvent(stream, entry.value);
        if (numberOf(entry.value) > Number(id)) yield event;
        if (event.isLast) return;
      }
      if (!isWritten) return;
      await this.#more(key, read);
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Waits for another entry, or until the lease is to be looked at again. */
  async #more(key: string, read: string): Promise<void> {
    const entries = this.#storage.log.after(key, read, { follow: true })[Symbol.asyncIterator]();
    const look = after(lookMs);
    await Promise.race([entries.next(), look.promise]);
    look.stop();
    await entries.return?.();
  }

  #renew(): void {
    if (this.#leases.size === 0) this.close();
    // A storage that fails is told of by the messages it does not keep.
    for (const key of this.#leases) this.#storage.kv.set(leaseOf(key), "", { ttlMs: leaseMs }).catch(() => {});
  }
}

/** Reads the id of an event; undefined when it is none of ours. */
export function placeOf(eventId: string): EventPosition | undefined {
  const at = eventId.indexOf("_");
  if (at <= 0 || eventId.length > 200) return undefined;
  const [stream, id] = [eventId.slice(0, at), eventId.slice(at + 1)];
  if (stream.startsWith(standalonePrefix)) {
    return { stream: standaloneName, id, proof: stream.slice(standalonePrefix.length) };
  }
  return /^\d{0,9}$/.test(id) ? { stream, id } : undefined;
}

/** The name of a standalone stream in the ids of its events. */
export function standaloneWith(proof: string): string {
  return standalonePrefix + proof;
}

function toEvent(stream: string, value: string): SentEvent {
  const text = value.slice(value.indexOf(" ") + 1);
  return { id: `${stream}_${numberOf(value)}`, text, isLast: value.startsWith(last) };
}

function numberOf(value: string): number {
  return Number(value.slice(1, value.indexOf(" ")));
}

function keyOf(session: string, stream: string): string {
  return `mcp/events/${session}/${stream}`;
}

function leaseOf(key: string): string {
  return `${key}/lease`;
}

function after(ms: number): { readonly promise: Promise<undefined>; readonly stop: () => void } {
  let stop = () => {};
  const promise = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    if (typeof timer === "object") timer.unref?.();
    stop = () => clearTimeout(timer);
  });
  return { promise, stop };
}

function every(ms: number, call: () => void): ReturnType<typeof setInterval> {
  const timer = setInterval(call, ms);
  if (typeof timer === "object") timer.unref?.();
  return timer;
}

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
