import type { Storage } from "../../storage/storage.ts";

const keep = 1_000;
const ttlMs = 5 * 60_000;
const last = "e";
const before = "m";

/** What was sent on the streams of a session, so that a client that lost its connection can read on. */
export class EventLog {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Keeps a message and gives the id of its event. */
  async append(session: string, stream: string, text: string, isLast: boolean): Promise<string> {
    const key = keyOf(session, stream);
    const id = await this.#storage.log.append(key, (isLast ? last : before) + text, { keep, ttlMs });
    return `${stream}_${id}`;
  }

  /** The messages behind an event, and those still to come until the last one of the stream. */
  async *after(session: string, place: Place): AsyncGenerator<{ id: string; text: string }> {
    const entries = this.#storage.log.after(keyOf(session, place.stream), place.id, { follow: true });
    for await (const { id, value } of entries) {
      yield { id: `${place.stream}_${id}`, text: value.slice(1) };
      if (value.startsWith(last)) return;
    }
  }
}

/** Where a client stopped reading. */
export interface Place {
  readonly stream: string;
  readonly id: string;
}

/** Reads the id of an event; undefined when it is none of ours. */
export function placeOf(eventId: string): Place | undefined {
  const at = eventId.indexOf("_");
  if (at <= 0 || eventId.length > 200) return undefined;
  return { stream: eventId.slice(0, at), id: eventId.slice(at + 1) };
}

function keyOf(session: string, stream: string): string {
  return `mcp/events/${session}/${stream}`;
}
