import { nameOf, PortolanError } from "../errors.ts";
import { TextList } from "./text-list.ts";

/** An event to be sent. */
export interface OutgoingEvent {
  readonly id?: string | undefined;
  /** What kind it is; a message unless said. */
  readonly event?: string | undefined;
  /** How long the client waits before it connects again. */
  readonly retry?: number | undefined;
  readonly data: string;
}

/** An event that was read. */
export interface IncomingEvent {
  /** The id that it gave itself. */
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface EventReaderOptions {
  /** Most characters of one event, without line ends and comments; 16 Mi unless given. */
  readonly maxChars?: number;
  onRetry?(ms: number): void;
  /** Something came, though it says nothing: the stream is alive. */
  onComment?(): void;
}

/** An event as text. Every kind of line end in the data arrives as a line feed. */
export function encodeEvent({ id, event, retry, data }: OutgoingEvent): string {
  let text = "";
  if (event !== undefined) text = `event: ${oneLine("event", event)}\n`;
  if (id !== undefined) text += `id: ${oneLine("id", id)}\n`;
  if (retry !== undefined) text += `retry: ${digits(retry)}\n`;
  // Hot path: JSON text has no line ends.
  if (!hasLineEnd(data)) return `${text}data: ${data}\n\n`;
  return `${text}${eachLine("data: ", data)}\n`;
}

/** A comment as text, which readers skip. */
export function comment(text: string): string {
  return `${eachLine(": ", text)}\n`;
}

function hasLineEnd(text: string): boolean {
  return text.includes("\n") || text.includes("\r");
}

function eachLine(start: string, text: string): string {
  return `${start}${text.replace(/\r\n|\r|\n/g, `\n${start}`)}\n`;
}

/** Keeps a value from ending its line and starting a field of its own. */
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
/** The longest time that a timer can wait. */
const maxDelayMs = 2_147_483_647;

/** Server-sent events out of text in any chunking, in linear time. */
export class EventReader {
  readonly #hear: (event: IncomingEvent) => void;
  readonly #options: EventReaderOptions;
  readonly #maxChars: number;
  #isStarted = false;
  /** The last chunk ended with a carriage return: a line feed that comes next belongs to it. */
  #isAfterReturn = false;
  /** A line whose end has not come. */
  readonly #line = new TextList();
  /** Characters of the lines that the event has so far. */
  #size = 0;
  #id: string | undefined = undefined;
  #event = "";
  #data: string | undefined = undefined;
  /** The data after its first line. */
  readonly #moreData = new TextList();
  #lastEventId = "";

  constructor(hear: (event: IncomingEvent) => void, options: EventReaderOptions = {}) {
    this.#hear = hear;
    this.#options = options;
    this.#maxChars = options.maxChars ?? 16 * 1024 * 1024;
  }

  /** The last id that any whole event gave, also one without data; empty when there was none. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** Throws a PortolanError "message-too-large" at an event that is too long, and from then on until `end`. */
  push(text: string): void {
    if (text === "") return;
    let start = this.#skip(text.charCodeAt(0)) ? 1 : 0;
    // Each is searched again only from where it was found: no character is looked at twice.
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

  /** The stream is over: an event without the blank line after it is dropped. Another stream may follow. */
  end(): void {
    this.#isStarted = false;
    this.#isAfterReturn = false;
    this.#line.take();
    this.#moreData.take();
    this.#dropEvent();
  }

  /** Whether the first character of a chunk is none of its text. */
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
    if (data !== undefined) this.#hear({ id, event, data });
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
    // Nothing fits any more: the rest of this event must not be taken for another one.
    this.#size = Number.POSITIVE_INFINITY;
    this.#isStarted = true;
    throw new PortolanError(
      "message-too-large",
      `expected events of at most ${this.#maxChars} characters, got a larger one`,
    );
  }
}

/** The value of a field, without the one space that may stand before it. */
function valueAt(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start) === space ? start + 1 : start, end);
}
