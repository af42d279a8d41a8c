import { nameOf, PortolanError } from "../errors.ts";
import { TextList } from "./text-list.ts";

/** A server-sent event to be sent. */
export interface OutgoingEvent {
  readonly id?: string | undefined;
  /** The kind of the event. Default: "message". */
  readonly event?: string | undefined;
  /** Milliseconds that the client waits before it connects again. */
  readonly retry?: number | undefined;
  readonly data: string;
}

/** A server-sent event that was read. */
export interface IncomingEvent {
  /** The event's own id; undefined if it has none. */
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface EventReaderOptions {
  /** The longest event, without line ends and comments. Default: 16 Mi characters. */
  readonly maxChars?: number;
  onRetry?(ms: number): void;
  /** Called for each comment. Servers send comments to keep the stream alive. */
  onComment?(): void;
}

/** Returns the text of an event. Readers receive every line end of the data as a line feed. */
export function encodeEvent({ id, event, retry, data }: OutgoingEvent): string {
  let text = "";
  if (event !== undefined) text = `event: ${oneLine("event", event)}\n`;
  if (id !== undefined) text += `id: ${oneLine("id", id)}\n`;
  if (retry !== undefined) text += `retry: ${digits(retry)}\n`;
  // Hot path: JSON text has no line ends.
  if (!hasLineEnd(data)) return `${text}data: ${data}\n\n`;
  return `${text}${eachLine("data: ", data)}\n`;
}

function hasLineEnd(text: string): boolean {
  return text.includes("\n") || text.includes("\r");
}

function eachLine(start: string, text: string): string {
  return `${start}${text.replace(/\r\n|\r|\n/g, `\n${start}`)}\n`;
}

/** Prevents a value from ending its line and starting another field. */
function oneLine(field: string, value: string): string {
  if (!hasLineEnd(value) && !value.includes("\0")) return value;
  throw new PortolanError("invalid-argument", `${field}: expected no line ends and no NUL, got ${nameOf(value)}`);
}

function digits(ms: number): string {
  if (Number.isSafeInteger(ms) && ms >= 0) return String(ms);
  throw new PortolanError("invalid-argument", `retry: expected whole milliseconds, got ${ms}`);
}

const byteOrderMark = 0xfeff;
const lineFeed = 0x0a;
const space = 0x20;
const colon = 0x3a;
/** The longest delay that timers accept. */
const maxDelayMs = 2_147_483_647;
/** Enough for a message with a file. */
const defaultMaxEventChars = 16 * 1024 * 1024;

/** Parses server-sent events from chunks of any size, in linear time. */
export class EventReader {
  readonly #onEvent: (event: IncomingEvent) => void;
  readonly #options: EventReaderOptions;
  readonly #maxChars: number;
  #isStarted = false;
  /** The last chunk ended with a carriage return: a line feed at the start of the next belongs to it. */
  #isAfterReturn = false;
  /** An incomplete line. */
  readonly #line = new TextList();
  /** Characters of the event's lines so far. */
  #size = 0;
  #id: string | undefined = undefined;
  #event = "";
  #data: string | undefined = undefined;
  /** The data after its first line. */
  readonly #moreData = new TextList();
  #lastEventId = "";

  constructor(onEvent: (event: IncomingEvent) => void, options: EventReaderOptions = {}) {
    this.#onEvent = onEvent;
    this.#options = options;
    this.#maxChars = options.maxChars ?? defaultMaxEventChars;
  }

  /** The id of the last complete event that had one, even without data; empty if there was none. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Throws a PortolanError "message-too-large" for an event that is too long, and for all later text until `end`. */
  push(text: string): void {
    if (text === "") return;
    let start = this.#skip(text.charCodeAt(0)) ? 1 : 0;
    // Each search continues where the last one ended: no character is read twice.
    let feed = text.indexOf("\n", start);
    let carriage = text.indexOf("\r", start);
    while (feed !== -1 || carriage !== -1) {
      const isFeed = carriage === -1 || (feed !== -1 && feed < carriage);
      const end = isFeed ? feed : carriage;
      this.#endLine(text, start, end);
      start = end + 1;
      if (isFeed) {
        // The blank line after most events needs no search.
        if (text.charCodeAt(start) === lineFeed) {
          this.#endEvent();
          start += 1;
        }
      } else {
        carriage = text.indexOf("\r", start);
        if (feed === start) start += 1;
        else this.#isAfterReturn = start === text.length;
      }
      if (feed !== -1 && feed < start) feed = text.indexOf("\n", start);
    }
    if (start < text.length) this.#hold(text.slice(start));
  }

  /** Ends the stream and drops an incomplete event. Another stream may follow. */
  end(): void {
    this.#isStarted = false;
    this.#isAfterReturn = false;
    this.#line.take();
    this.#moreData.take();
    this.#dropEvent();
  }

  /** Tells if the first character of a chunk is not part of its text. */
  #skip(first: number): boolean {
    const isSkipped = this.#isStarted ? this.#isAfterReturn && first === lineFeed : first === byteOrderMark;
    this.#isStarted = true;
    this.#isAfterReturn = false;
    return isSkipped;
  }

  #hold(text: string): void {
    this.#checkSize(this.#line.length + text.length);
    this.#line.push(text);
  }

  #endLine(text: string, start: number, end: number): void {
    if (this.#line.length === 0) {
      this.#readLine(text, start, end);
      return;
    }
    this.#line.push(text.slice(start, end));
    const line = this.#line.take();
    this.#readLine(line, 0, line.length);
  }

  #readLine(text: string, start: number, end: number): void {
    this.#checkSize(end - start);
    if (start === end) {
      this.#endEvent();
    } else if (text.charCodeAt(start) === colon) {
      this.#options.onComment?.();
    } else {
      this.#size += end - start;
      if (text.startsWith("data:", start)) this.#addData(valueAt(text, start + 5, end));
      else if (text.startsWith("id:", start)) this.#setId(valueAt(text, start + 3, end));
      else if (text.startsWith("event:", start)) this.#event = valueAt(text, start + 6, end);
      else this.#readField(text.slice(start, end));
    }
  }

  #readField(line: string): void {
    const end = line.indexOf(":");
    const value = end === -1 ? "" : valueAt(line, end + 1, line.length);
    switch (end === -1 ? line : line.slice(0, end)) {
      case "data":
        this.#addData(value);
        break;
      case "event":
        this.#event = value;
        break;
      case "id":
        this.#setId(value);
        break;
      case "retry":
        if (/^\d+$/.test(value)) this.#options.onRetry?.(Math.min(Number(value), maxDelayMs));
        break;
    }
  }

  #setId(value: string): void {
    if (!value.includes("\0")) this.#id = value;
  }

  #addData(value: string): void {
    if (this.#data === undefined) {
      this.#data = value;
      return;
    }
    this.#moreData.push("\n");
    this.#moreData.push(value);
  }

  #endEvent(): void {
    const id = this.#id;
    const event = this.#event === "" ? "message" : this.#event;
    const data = this.#moreData.length === 0 ? this.#data : this.#data + this.#moreData.take();
    this.#dropEvent();
    if (id !== undefined) this.#lastEventId = id;
    if (data !== undefined) this.#onEvent({ id, event, data });
  }

  #dropEvent(): void {
    this.#size = 0;
    this.#id = undefined;
    this.#event = "";
    this.#data = undefined;
  }

  #checkSize(more: number): void {
    if (this.#size + more <= this.#maxChars) return;
    this.end();
    // Refuse all further text: the rest of this event must not be read as another event.
    this.#size = Number.POSITIVE_INFINITY;
    this.#isStarted = true;
    throw new PortolanError(
      "message-too-large",
      `expected events of at most ${this.#maxChars} characters, got a larger one`,
    );
  }
}

/** Returns the value of a field without one leading space. */
function valueAt(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start) === space ? start + 1 : start, end);
}
