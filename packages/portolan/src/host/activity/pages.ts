import { PortolanError } from "../../errors.ts";
import { sha256 } from "../../storage/crypto.ts";
import { CallEntry, CallWriter } from "./call-entry.ts";
import type { Activity } from "./entry.ts";
import type { Redactor } from "./redact.ts";
import { isSmall, type LongText, maxEntryChars, shorten } from "./shorten.ts";

/** Lines that follow each other, as bytes: what waits is no work for the garbage collector. */
interface Page {
  readonly bytes: Uint8Array;
  readonly entries: number;
  /** The number that its first entry has in the text. */
  readonly first: number;
  /** What must be hashed before it can be written. */
  readonly long: readonly LongText[];
}

/** The oldest of what waits, ready to be sealed. */
export interface Lines {
  /** One after the other. */
  readonly pieces: readonly Uint8Array[];
  readonly entries: number;
  /** The number of the first entry, or -1 where they do not follow each other. */
  readonly first: number;
}

const pageChars = 32 * 1024;
const encoder = new TextEncoder();

/** Entries that wait to be written. Kept in a few pieces: thousands of them would cost more than the calls they tell of. */
export class ActivityPages {
  readonly #redactor: Redactor;
  readonly #now: () => number;
  /** Random, so that nothing that is recorded can stand where a digest belongs. */
  readonly #nonce = crypto.randomUUID();
  #marks = 0;
  readonly #calls = new CallWriter();
  #pages: Page[] = [];
  /** The page that is being filled. */
  #pieces: string[] = [];
  #pageSize = 0;
  #entries = 0;
  #long: LongText[] = [];
  #next = 1;
  #waiting = 0;
  #size = 0;
  #moment = Number.NaN;
  #momentText = "";

  constructor(redactor: Redactor, now: () => number) {
    this.#redactor = redactor;
    this.#now = now;
  }

  /** How many entries wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How much they are, in characters or bytes. */
  get size(): number {
    return this.#size;
  }

  /** Adds an entry: one look and one stringify, for this is on the way of every call. */
  add(activity: Activity): void {
    const pieces = this.#pieces;
    const before = pieces.length;
    pieces.push(this.#entries === 0 ? '{"seq":' : '\n{"seq":', String(this.#next), this.#at());
    try {
      if (!(activity instanceof CallEntry)) pieces.push(this.#stringify(activity));
      else if (!this.#calls.write(activity, pieces)) pieces.push(this.#stringify(CallEntry.asWritten(activity)));
    } catch (error) {
      pieces.length = before;
      throw error;
    }
    let size = 1;
    for (let at = before; at < pieces.length; at += 1) size += pieces[at]?.length ?? 0;
    this.#pageSize += size;
    this.#size += size;
    this.#next += 1;
    this.#entries += 1;
    this.#waiting += 1;
    if (this.#pageSize > pageChars) this.#endPage();
  }

  /** The oldest pages, about this many bytes of them; they stay until they are dropped. */
  async take(maxBytes: number): Promise<Lines> {
    this.#endPage();
    const pieces: Uint8Array[] = [];
    let size = 0;
    let entries = 0;
    const first = this.#pages[0]?.first ?? this.#next;
    let isInOrder = true;
    for (const page of this.#pages) {
      size += page.bytes.length;
      if (pieces.length > 0 && size > maxBytes) break;
      isInOrder &&= page.first === first + entries;
      pieces.push(page.long.length === 0 ? page.bytes : await fillIn(page));
      entries += page.entries;
    }
    return { pieces, entries, first: isInOrder ? first : -1 };
  }

  /** Forgets what was written; `seq` is the number of its last entry, from which the next ones are counted. */
  drop(written: Lines, seq: number): void {
    for (const { bytes, long } of this.#pages.slice(0, written.pieces.length))
      this.#size -= bytes.length + lengthOf(long);
    this.#pages = this.#pages.slice(written.pieces.length);
    this.#waiting -= written.entries;
    this.#endPage();
    this.#next = seq + this.#waiting + 1;
  }

  /** Secrets are looked for here, once for many entries. */
  #endPage(): void {
    if (this.#entries === 0) return;
    // Joined here: to append each piece to a text would cost twice as much.
    const text = `${this.#pieces.join("")}\n`;
    let bytes = encoder.encode(text);
    if (this.#redactor.mayConcern(text, bytes)) bytes = encoder.encode(redactLines(text, this.#redactor));
    this.#pages.push({ bytes, entries: this.#entries, first: this.#next - this.#entries, long: this.#long });
    this.#size += bytes.length - this.#pageSize;
    this.#pieces = [];
    this.#pageSize = 0;
    this.#entries = 0;
    this.#long = [];
  }

  /** The JSON of any entry without its first brace. */
  #stringify(activity: Activity): string {
    const entry = writable(activity);
    let text = isSmall(entry) ? JSON.stringify(entry) : "";
    if (text === "" || text.length > maxEntryChars) text = this.#stringifyShort(entry);
    if (text.startsWith('{"')) return text.slice(1);
    throw new PortolanError("invalid-argument", "Activity: expected an object with a kind");
  }

  #stringifyShort(activity: Activity): string {
    const mark = () => {
      this.#marks += 1;
      return `${this.#nonce}.${this.#marks}.`;
    };
    const clean = (text: string) => String(this.#redactor.redact(text));
    const long: LongText[] = [];
    const text = JSON.stringify(this.#redactor.redact(shorten(activity, { mark, clean }, long)));
    this.#long.push(...long);
    this.#size += lengthOf(long);
    return text;
  }

  #at(): string {
    const now = Math.floor(this.#now());
    if (now !== this.#moment) {
      this.#moment = now;
      this.#momentText = `,"at":"${new Date(now).toISOString()}",`;
    }
    return this.#momentText;
  }
}

/** Lines with the numbers from `from` on; they have them already unless somebody else wrote in between. */
export function numbered({ pieces, first }: Lines, from: number): readonly Uint8Array[] {
  if (first === from) return pieces;
  let seq = from - 1;
  return pieces.map((piece) => {
    // A brace and a quote at the start of a line are never within a text, whatever ends lines.
    const text = new TextDecoder().decode(piece).replace(/^\{"seq":\d+/gm, () => {
      seq += 1;
      return `{"seq":${seq}`;
    });
    return encoder.encode(text);
  });
}

/** What the log itself says of an entry cannot be said by another. */
function writable(activity: Activity): Activity {
  if (!("seq" in activity || "at" in activity)) return activity;
  const { seq: _seq, at: _at, ...rest } = activity;
  return rest as Activity;
}

function redactLines(text: string, redactor: Redactor): string {
  const lines = text.split("\n");
  return lines.map((line) => (redactor.mayConcern(line) ? redactLine(line, redactor) : line)).join("\n");
}

/** What the log itself says stays in front, whatever the other members are called. */
function redactLine(line: string, redactor: Redactor): string {
  const end = line.indexOf(",", line.indexOf(",") + 1) + 1;
  const said: unknown = JSON.parse(`{${line.slice(end)}`);
  return `${line.slice(0, end)}${JSON.stringify(redactor.redact(said)).slice(1)}`;
}

async function fillIn({ bytes, long }: Page): Promise<Uint8Array> {
  let filled = new TextDecoder().decode(bytes);
  for (const { mark, text: whole } of long) filled = filled.replace(mark, `sha256-${await sha256(whole)}`);
  return encoder.encode(filled);
}

function lengthOf(long: readonly LongText[]): number {
  return long.reduce((sum, { text }) => sum + text.length, 0);
}
