import type { Storage } from "../../storage/storage.ts";

const keep = 1_000;
const ttlMs = 5 * 60_000;
/** A stream that nobody renews for so long has lost its process. */
const leaseMs = 60_000;
const lookMs = leaseMs / 3;
const last = "e";
const before = "m";

/** Where a client stopped reading. */
export interface Place {
  readonly stream: string;
  readonly id: string;
}

/** One message as it was sent; a stream that was cut short ends with an empty one. */
export interface SentEvent {
  readonly id: string;
  readonly text: string;
  readonly isLast: boolean;
}

/** What was sent on the streams of sessions, so that a client that lost its connection can read on, in any process. */
export class EventLog {
  readonly #storage: Storage;
  /** The streams that this process is writing. */
  readonly #leases = new Set<string>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Begins a stream that may be waited for until its last message. */
  async open(session: string, stream: string): Promise<void> {
    const key = keyOf(session, stream);
    this.#leases.add(key);
    this.#timer ??= every(lookMs, () => this.#renew());
    await this.#storage.kv.set(leaseOf(key), "", { ttlMs: leaseMs });
  }

  /** Keeps a message and gives the id of its event. */
  async append(session: string, stream: string, text: string, isLast: boolean): Promise<string> {
    const key = keyOf(session, stream);
    const id = await this.#storage.log.append(key, (isLast ? last : before) + text, { keep, ttlMs });
    if (isLast && this.#leases.delete(key)) await this.#storage.kv.delete(leaseOf(key));
    return `${stream}_${id}`;
  }

  /** What is kept behind a place; rejects with "invalid-argument" when there is no such place. */
  async read(session: string, { stream, id }: Place): Promise<SentEvent[]> {
    const events: SentEvent[] = [];
    for await (const entry of this.#storage.log.after(keyOf(session, stream), id)) events.push(toEvent(stream, entry));
    return events;
  }

  /** What is sent from a place on, until the last message or the end of the process that writes the stream. */
  async *follow(session: string, { stream, id }: Place): AsyncGenerator<SentEvent> {
    const key = keyOf(session, stream);
    const entries = this.#storage.log.after(key, id, { follow: true })[Symbol.asyncIterator]();
    try {
      let next = entries.next();
      while ((await this.#storage.kv.get(leaseOf(key))) !== undefined || (await isSettled(next))) {
        const look = after(lookMs);
        const step = await Promise.race([next, look.promise]);
        look.stop();
        if (step === undefined) continue;
        if (step.done) return;
        const event = toEvent(stream, step.value);
        yield event;
        if (event.isLast) return;
        next = entries.next();
      }
    } finally {
      await entries.return?.();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #renew(): void {
    if (this.#leases.size === 0) this.close();
    // A storage that fails is told of by the messages it does not keep.
    for (const key of this.#leases) this.#storage.kv.set(leaseOf(key), "", { ttlMs: leaseMs }).catch(() => {});
  }
}

/** Reads the id of an event; undefined when it is none of ours. */
export function placeOf(eventId: string): Place | undefined {
  const at = eventId.indexOf("_");
  if (at <= 0 || eventId.length > 200) return undefined;
  return { stream: eventId.slice(0, at), id: eventId.slice(at + 1) };
}

function toEvent(stream: string, { id, value }: { id: string; value: string }): SentEvent {
  return { id: `${stream}_${id}`, text: value.slice(1), isLast: value.startsWith(last) };
}

function keyOf(session: string, stream: string): string {
  return `mcp/events/${session}/${stream}`;
}

function leaseOf(key: string): string {
  return `${key}/lease`;
}

/** Whether a promise has its value already. */
function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), Promise.resolve().then(() => false)]);
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
