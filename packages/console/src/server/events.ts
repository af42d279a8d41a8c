import type { ServerResponse } from "node:http";
import type { ConsoleEvent } from "../api.ts";
import {
  batchMs,
  commentMs,
  maxBufferedBytes,
  maxKeptEventChars,
  maxKeptEvents,
  maxStreams,
  maxUnreadChars,
} from "./limits.ts";

/** Publishes one event to every reader. */
export type Publish = (event: ConsoleEvent) => void;

interface KeptEvent {
  readonly n: number;
  readonly event: ConsoleEvent;
  readonly text: string;
}

export interface EventHubOptions {
  readonly boot: string;
  /** Returns the `reset` event for a reader that begins. */
  readonly reset: () => ConsoleEvent;
  /** Returns the whole record that a dropped row belongs to, if there is one. */
  readonly wholeOf: (event: ConsoleEvent) => ConsoleEvent | undefined;
}

/** The events of the console, for any number of readers that can resume. */
export class EventHub {
  readonly #options: EventHubOptions;
  readonly #streams = new Set<EventStream>();
  /** The events with the numbers from `#first` on. */
  #kept: KeptEvent[] = [];
  /** Events at the start of `#kept` that are dropped already. */
  #dropped = 0;
  #chars = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #comments: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: EventHubOptions) {
    this.#options = options;
    this.#comments = setInterval(() => {
      for (const stream of this.#streams) stream.comment();
    }, commentMs);
    this.#comments.unref();
  }

  publish: Publish = (event) => {
    if (this.#isClosed) return;
    this.#last += 1;
    const kept = { n: this.#last, event, text: JSON.stringify(event) };
    this.#kept.push(kept);
    this.#chars += kept.text.length;
    while (this.#kept.length - this.#dropped > maxKeptEvents || this.#chars > maxKeptEventChars) this.#dropOldest();
    if (this.#streams.size === 0) return;
    this.#timer ??= setTimeout(() => this.#flush(), batchMs);
  };

  get isFull(): boolean {
    return this.#streams.size >= maxStreams;
  }

  /** Sends events to a response until it closes: those after `lastId`, or a `reset` and what follows. */
  follow(response: ServerResponse, lastId: string | undefined): void {
    const known = this.#resumable(lastId);
    const stream = new EventStream(response, this.#options.boot, (one) => this.#fill(one));
    stream.next = known === undefined ? undefined : known + 1;
    this.#streams.add(stream);
    response.on("close", () => this.#streams.delete(stream));
    this.#fill(stream);
  }

  /** Sends `bye`, and ends all streams. */
  close(reason: string): void {
    if (this.#isClosed) return;
    this.publish({ kind: "bye", reason });
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#comments);
    this.#flush();
    for (const stream of this.#streams) stream.end();
  }

  /** Returns the number of the last event that a reader has, if all later ones are kept. */
  #resumable(lastId: string | undefined): number | undefined {
    const [, boot, digits] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(lastId ?? "") ?? [];
    if (boot !== this.#options.boot) return undefined;
    const n = Number(digits);
    return n >= this.#first - 1 && n <= this.#last ? n : undefined;
  }

  get #first(): number {
    return this.#last - (this.#kept.length - this.#dropped) + 1;
  }

  #dropOldest(): void {
    const oldest = this.#kept[this.#dropped];
    this.#chars -= oldest?.text.length ?? 0;
    this.#dropped += 1;
    if (this.#dropped < maxKeptEvents) return;
    this.#kept = this.#kept.slice(this.#dropped);
    this.#dropped = 0;
  }

  #flush(): void {
    this.#timer = undefined;
    for (const stream of this.#streams) this.#fill(stream);
  }

  /** Writes to a stream what it has room for. */
  #fill(stream: EventStream): void {
    if (stream.next === undefined || stream.next < this.#first) {
      if (!stream.hasRoom) return;
      stream.next = this.#last + 1;
      stream.write(this.#last, JSON.stringify(this.#options.reset()));
      return;
    }
    if (!stream.hasRoom) return;
    const events = this.#kept.slice(this.#dropped + stream.next - this.#first);
    stream.next = this.#last + 1;
    let chars = 0;
    for (const { text } of events) chars += text.length;
    const sent = chars > maxUnreadChars ? this.#withoutRows(events) : events;
    for (const { n, text } of sent) stream.write(n, text);
  }

  /** Returns the newest version of every record, after the number of rows that were dropped. */
  #withoutRows(events: readonly KeptEvent[]): readonly KeptEvent[] {
    const newest = new Map<string, KeptEvent>();
    const wholes = new Map<string, ConsoleEvent>();
    let rows = 0;
    for (const kept of events) {
      const { event } = kept;
      if (isRow(event)) {
        rows += countOf(event);
        const whole = this.#options.wholeOf(event);
        if (whole) wholes.set(keyOf(whole) ?? "", whole);
        continue;
      }
      const key = keyOf(event) ?? `${kept.n}`;
      newest.delete(key);
      newest.set(key, kept);
    }
    const n = events[0]?.n ?? this.#last;
    const lost: ConsoleEvent = { kind: "lost", rows };
    const records = [...newest].filter(([key]) => !wholes.has(key)).map(([, kept]) => kept);
    const repaired = [...wholes.values()].map((event) => ({ n: this.#last, event, text: JSON.stringify(event) }));
    return [{ n, event: lost, text: JSON.stringify(lost) }, ...records, ...repaired];
  }
}

/** One reader. */
class EventStream {
  /** The number of the next event; undefined before the first `reset`. */
  next: number | undefined;
  readonly #response: ServerResponse;
  readonly #boot: string;

  constructor(response: ServerResponse, boot: string, onRoom: (stream: EventStream) => void) {
    this.#response = response;
    this.#boot = boot;
    response.on("drain", () => onRoom(this));
  }

  get hasRoom(): boolean {
    return !this.#response.destroyed && this.#response.writableLength < maxBufferedBytes;
  }

  write(n: number, text: string): void {
    if (!this.#response.destroyed) this.#response.write(`id: ${this.#boot}.${n}\ndata: ${text}\n\n`);
  }

  comment(): void {
    if (this.hasRoom) this.#response.write(":\n\n");
  }

  end(): void {
    this.#response.end();
  }
}

/** Returns whether an event has rows or text to append. A slow reader misses some, and asks for them by a verb. */
function isRow(event: ConsoleEvent): boolean {
  return event.kind === "messages" || event.kind === "lines" || event.kind === "delta";
}

function countOf(event: ConsoleEvent): number {
  return "rows" in event && typeof event.rows === "object" ? event.rows.length : 1;
}

/** Returns the same text for all versions of one record; undefined for an event that must not be replaced. */
function keyOf(event: ConsoleEvent): string | undefined {
  switch (event.kind) {
    case "server":
      return `server ${event.server.name}`;
    case "server-gone":
      return `server ${event.name}`;
    case "conversation":
      return `conversation ${event.conversation.id}`;
    case "conversation-gone":
      return `conversation ${event.id}`;
    case "block":
      return `block ${event.conversation} ${event.block.id}`;
    case "call":
      return `call ${event.call.id}`;
    case "connection":
      return `connection ${event.connection.id}`;
    case "recording":
      return `recording ${event.recording.id}`;
    case "recording-gone":
      return `recording ${event.id}`;
    case "report":
      return `report ${event.report.id}`;
    case "login":
      return `login ${event.login.id}`;
    case "task":
      return `task ${event.task.id}`;
    case "task-gone":
      return `task ${event.id}`;
    case "app":
      return `app ${event.app.id}`;
    case "grants":
    case "models":
    case "roots":
    case "settings":
    case "activity":
      return event.kind;
    default:
      return undefined;
  }
}
