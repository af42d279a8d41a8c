import type { ConsoleEvent } from "../../api.ts";

/** One event with its place in the order of all events of a process. */
export interface StreamedEvent {
  readonly boot: string;
  readonly n: number;
  readonly event: ConsoleEvent;
}

/** Longer events end the stream, which then begins anew: no console sends one. */
const maxEventChars = 16_000_000;

/** Reads server-sent events. Calls `onEvents` with those of each piece, also with none if the piece has only comments. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvents: (events: readonly StreamedEvent[]) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r", "");
    const end = rest.lastIndexOf("\n\n");
    if (end === -1) {
      if (rest.length > maxEventChars) throw new Error("An event is too long.");
      // A comment alone is a sign of life.
      if (rest.startsWith(":")) onEvents([]);
      continue;
    }
    const whole = rest.slice(0, end);
    rest = rest.slice(end + 2);
    onEvents(whole.split("\n\n").flatMap((text) => parseEvent(text) ?? []));
  }
}

/** Returns undefined for comments and for what no reader understands. */
export function parseEvent(text: string): StreamedEvent | undefined {
  let id = "";
  const data: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("id:")) id = line.slice(3).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
  }
  const dot = id.lastIndexOf(".");
  const n = Number(id.slice(dot + 1));
  if (data.length === 0 || dot < 1 || !Number.isSafeInteger(n)) return undefined;
  return { boot: id.slice(0, dot), n, event: JSON.parse(data.join("\n")) as ConsoleEvent };
}

/** A place in the order of all events. */
export interface EventPlace {
  readonly boot: string;
  readonly n: number;
}

/** Brings the events of several sources into one order without gaps and repetitions. */
export class EventOrder {
  #place: EventPlace | undefined;

  /** The last event that was taken. */
  get place(): EventPlace | undefined {
    return this.#place;
  }

  /** True if events before `after` are missing here. */
  misses(after: EventPlace | undefined): boolean {
    if (after === undefined) return false;
    return this.#place?.boot !== after.boot || this.#place.n < after.n;
  }

  /** Returns the events that are new, without those before the first state. */
  take(events: readonly StreamedEvent[]): ConsoleEvent[] {
    const taken: ConsoleEvent[] = [];
    for (const { boot, n, event } of events) {
      const isKnown = boot === this.#place?.boot && n <= this.#place.n;
      const isStrange = boot !== this.#place?.boot && event.kind !== "reset";
      // A state is the newest of its number: events with the same number may be older than it.
      if (isStrange || (isKnown && !(event.kind === "reset" && n === this.#place?.n))) continue;
      this.#place = { boot, n };
      taken.push(event);
    }
    return taken;
  }
}
