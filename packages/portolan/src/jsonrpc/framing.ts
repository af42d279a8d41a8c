import { Lazy, type MaybePromise } from "../async.ts";
import type { ChannelEvents } from "./channel.ts";
import type { EnvelopeScanner } from "./envelope.ts";
import { defaultMaxMessageBytes, maxBatchMessages, maxScannedBytes } from "./limits.ts";
import { checkMessage, isRequestId, type Message, rpcCodes, type Unreadable } from "./message.ts";

/** Options of a `LineReader`. */
export interface LineReaderOptions {
  /** Longest line that is read, without its newline. Default: 16 MiB. */
  maxBytes?: number;
}

/** The receiver of parsed input. */
export type LineReceiver = Pick<ChannelEvents, "tap" | "message" | "batch" | "unreadable">;

const newline = 0x0a;
const openArray = 0x5b;
const openObject = 0x7b;
const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Parses newline-delimited JSON from chunks of any size. Do not reuse a chunk: it is kept until its last line ends. */
export class LineReader {
  readonly #incoming: LineReceiver;
  readonly #maxBytes: number;
  readonly #held: ByteCollection;
  /** Defined while a line that is too long is skipped. */
  #passing: UnparsedText | undefined = undefined;
  /** Pending while a line that cannot be parsed is not delivered. */
  #scanning: Promise<void> | undefined;
  #isStarted = false;
  #markBytes = 0;

  /** @param held collects the bytes of an unfinished line */
  constructor(incoming: LineReceiver, options: LineReaderOptions = {}, held: ByteCollection = new ByteList()) {
    this.#incoming = incoming;
    this.#maxBytes = options.maxBytes ?? defaultMaxMessageBytes;
    this.#held = held;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#isStarted ? chunk : this.#skipMark(chunk);
    let start = 0;
    if (this.#held.length > 0 || this.#passing !== undefined) {
      const end = bytes.indexOf(newline);
      this.#hold(end === -1 ? bytes : bytes.subarray(0, end));
      if (end === -1) return;
      this.#endLine();
      start = end + 1;
    }
    const end = bytes.lastIndexOf(newline) + 1;
    if (end > start) {
      this.#readLines(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
      start = end;
    }
    if (start < bytes.length) this.#hold(bytes.subarray(start));
  }

  /** Ends the stream and reads a last line without a newline. Returns a promise if a line is not delivered yet. */
  end(): MaybePromise<void> | undefined {
    if (!this.#isStarted) this.#hold(byteOrderMark.subarray(0, this.#markBytes));
    this.#isStarted = true;
    if (this.#held.length > 0 || this.#passing !== undefined) this.#endLine();
    return this.#scanning;
  }

  /** Removes a byte order mark from the start of the stream, also if it comes in pieces. */
  #skipMark(chunk: Uint8Array): Uint8Array {
    const before = this.#markBytes;
    let at = 0;
    while (at < chunk.length && this.#markBytes < 3 && chunk[at] === byteOrderMark[this.#markBytes]) {
      at += 1;
      this.#markBytes += 1;
    }
    if (this.#markBytes === 3) this.#isStarted = true;
    else if (at < chunk.length) {
      this.#isStarted = true;
      if (before > 0) this.#hold(byteOrderMark.subarray(0, before));
      return chunk;
    }
    return chunk.subarray(at);
  }

  #hold(bytes: Uint8Array): void {
    if (this.#passing === undefined) {
      if (this.#held.length + bytes.length <= this.#maxBytes) {
        if (bytes.length > 0) this.#held.push(bytes);
        return;
      }
      this.#passing = new UnparsedText();
      for (const piece of this.#held.takePieces()) this.#passing.feed(piece);
    }
    this.#passing.feed(bytes);
  }

  #endLine(): void {
    const passing = this.#passing;
    this.#passing = undefined;
    // Bytes and text are released before the message is handled, so that a large one is not in memory three times.
    const { length } = this.#held;
    const value = passing ?? this.#readHeld();
    const next = () =>
      value instanceof UnparsedText
        ? value.scan((found) => this.#refuseLong(found))
        : deliver(value, this.#incoming, length);
    this.#delivering(this.#scanning ? this.#scanning.then(next) : next());
  }

  /** Keeps the order: lines behind one that waits for its part wait too. */
  #delivering(scanning: MaybePromise<void>): void {
    if (!scanning) return;
    this.#scanning = scanning;
    scanning.then(() => {
      if (this.#scanning === scanning) this.#scanning = undefined;
    });
  }

  // Hot path: one decode for all complete lines of a chunk. Lines are decoded one by one only if that fails.
  #readLines(lines: Uint8Array): void {
    const text = lines.length > this.#maxBytes ? undefined : decode(lines);
    if (text === undefined) {
      this.#readEachLine(lines);
      return;
    }
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      const line = text.slice(start, end);
      const next = this.#scanning?.then(() => readText(line, this.#incoming));
      this.#delivering(next ?? readText(line, this.#incoming));
      start = end + 1;
    }
  }

  #readEachLine(lines: Uint8Array): void {
    let start = 0;
    for (let end = lines.indexOf(newline); end !== -1; end = lines.indexOf(newline, start)) {
      this.#hold(lines.subarray(start, end));
      start = end + 1;
      this.#endLine();
    }
  }

  #readHeld(): unknown {
    const line = this.#held.take();
    const text = decode(line);
    if (text === undefined) {
      const unread = brokenLine(line.subarray(0, maxScannedBytes), "the line is not valid UTF-8");
      this.#incoming.tap?.received("", undefined, unread.problem.why);
      return unread;
    }
    this.#held.release?.(line);
    return read(text, this.#incoming);
  }

  #refuseLong({ id, hasMethod, isReply }: Envelope): void {
    this.#incoming.unreadable({
      code: rpcCodes.invalidRequest,
      why: `message too large: over ${this.#maxBytes} bytes`,
      isTooLarge: true,
      answerable: !isReply && (hasMethod || id !== undefined),
      ...(id !== undefined && { id }),
    });
  }
}

/**
 * Parses the JSON text of one message or batch. Ignores blank text. Returns a promise if the text cannot be parsed and the
 * part that looks for its id is not loaded yet.
 *
 * @param parseText returns undefined for text that is not valid JSON; a caller that has parsed the text returns its value
 */
export function readText(text: string, incoming: LineReceiver, parseText?: () => unknown): MaybePromise<void> {
  return deliver(read(text, incoming, parseText), incoming, text.length);
}

/** The part for text that cannot be parsed. Loaded with the first such text, because few connections see one. */
export const scanners: Lazy<typeof import("./envelope.ts")> = new Lazy(() => import("./envelope.ts"));

/** The facts that are found in text that cannot be parsed. */
type Envelope = Pick<EnvelopeScanner, "id" | "hasMethod" | "isReply" | "startsAsJson">;

/** Assumed if the part could not be loaded. */
const unknownEnvelope: Envelope = { id: undefined, hasMethod: true, isReply: false, startsAsJson: true };

const maxWaitingPieces = 4_096;

/** Text that cannot be parsed. Its bytes wait while the scanner is loading, which takes a moment. */
class UnparsedText {
  #waiting: Uint8Array[] = [];
  #scanner: EnvelopeScanner | undefined;

  feed(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    if (scanners.loaded) this.#scan(scanners.loaded);
    else if (this.#waiting.length === 1) this.scan(() => {});
    // The part cannot be loaded: the rest of a text without end is not kept.
    else if (this.#waiting.length > maxWaitingPieces) this.#waiting.pop();
  }

  /** Calls back with what was found. */
  scan(use: (found: Envelope) => void): MaybePromise<void> {
    if (scanners.loaded) {
      use(this.#scan(scanners.loaded));
      return;
    }
    return Promise.resolve(scanners.get()).then(
      (loaded) => use(this.#scan(loaded)),
      () => use(unknownEnvelope),
    );
  }

  #scan({ EnvelopeScanner }: typeof import("./envelope.ts")): Envelope {
    this.#scanner ??= new EnvelopeScanner();
    for (const bytes of this.#waiting.splice(0)) this.#scanner.feed(bytes);
    return this.#scanner;
  }
}

/** A line that is not a JSON object or array. */
class Unread {
  readonly problem: Unreadable;
  /** The beginning of the line, if its id is looked for. */
  readonly bytes: Uint8Array | undefined;

  constructor(problem: Unreadable, bytes?: Uint8Array) {
    this.problem = problem;
    this.bytes = bytes;
  }

  tell(incoming: LineReceiver): MaybePromise<void> {
    const { problem, bytes } = this;
    if (!bytes) {
      incoming.unreadable(problem);
      return;
    }
    const text = new UnparsedText();
    text.feed(bytes);
    return text.scan(({ id, isReply, startsAsJson }) => {
      const answerable = startsAsJson && !isReply;
      incoming.unreadable({ ...problem, answerable, ...(id !== undefined && { id }) });
    });
  }
}

/** Returns the parsed object or array, an Unread, or undefined for blank text. */
function read(text: string, { tap }: LineReceiver, parseText = parse): unknown {
  const first = firstCode(text);
  if (first === undefined) return undefined;
  const value = first === openObject || first === openArray ? parseText(text) : undefined;
  if (value !== undefined) {
    tap?.received(text, value);
    return value;
  }
  const unread = readBroken(text, first);
  tap?.received(text, undefined, unread.problem.why);
  return unread;
}

function readBroken(text: string, first: number): Unread {
  if (first === openObject || first === openArray) {
    // Only the beginning is encoded and scanned: parsing a broken text has cost enough.
    return brokenLine(encoder.encode(text.slice(0, maxScannedBytes)), "the text is not valid JSON");
  }
  // A stray print is no message, and its program does not wait for an answer.
  const why = `expected a JSON object or array, got ${JSON.stringify(text.slice(0, 80))}`;
  return new Unread({ code: rpcCodes.parseError, why, answerable: false });
}

function deliver(value: unknown, incoming: LineReceiver, size: number): MaybePromise<void> {
  if (value === undefined) return;
  if (value instanceof Unread) return value.tell(incoming);
  if (Array.isArray(value)) readBatch(value, incoming);
  else readMessage(value, incoming, size);
}

function readMessage(value: unknown, incoming: LineReceiver, size?: number): void {
  const problem = checkMessage(value);
  if (problem === undefined) incoming.message(value as Message, size);
  else incoming.unreadable(problem);
}

function readBatch(values: unknown[], incoming: LineReceiver): void {
  const why = whyNoBatch(values);
  if (why === undefined) incoming.batch(values as Message[]);
  // In a batch of responses each valid one is delivered: only the requests of invalid ones fail.
  else if (values.length <= maxBatchMessages && values.some(isReplying) && !values.some(isCalling)) {
    for (const value of values) readMessage(value, incoming);
  } else
    incoming.unreadable({
      code: rpcCodes.invalidRequest,
      why,
      answerable: values.some(isAsking) && !values.some(isReplying),
    });
}

function whyNoBatch(values: unknown[]): string | undefined {
  if (values.length > maxBatchMessages) {
    return `batch: expected at most ${maxBatchMessages} messages, got ${values.length}`;
  }
  for (const [index, value] of values.entries()) {
    const problem = checkMessage(value);
    if (problem !== undefined) return `batch[${index}]: ${problem.why}`;
  }
  return undefined;
}

function isAsking(value: unknown): boolean {
  const { method, id } = (value ?? {}) as { method?: unknown; id?: unknown };
  return method !== undefined || isRequestId(id);
}

function isCalling(value: unknown): boolean {
  return (value as { method?: unknown } | null)?.method !== undefined;
}

function isReplying(value: unknown): boolean {
  const { result, error } = (value ?? {}) as { result?: unknown; error?: unknown };
  return result !== undefined || error !== undefined;
}

function brokenLine(bytes: Uint8Array, why: string): Unread {
  return new Unread({ code: rpcCodes.parseError, why, answerable: true }, bytes);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the first character that is not JSON white space. */
function firstCode(text: string): number | undefined {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0d && code !== 0x0a) return code;
  }
  return undefined;
}

/** This many small pieces are merged into one: a peer that sends single bytes must not cost an object for each. */
const mergeAfter = 256;
const smallPiece = 1024;

/** Bytes that arrive in pieces. */
export interface ByteCollection extends Pick<ByteList, "length" | "push" | "take" | "takePieces"> {
  /** Gives the memory of taken bytes back at once. Absent where the garbage collector does it. */
  release?(bytes: Uint8Array): void;
}

/** Bytes that arrive in pieces and are joined once. Pieces are kept by reference: do not write to them later. */
export class ByteList {
  #pieces: Uint8Array[] = [];
  length = 0;
  #loosePieces = 0;
  #looseBytes = 0;

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.length += piece.length;
    this.#loosePieces += 1;
    this.#looseBytes += piece.length;
    if (this.#loosePieces === mergeAfter) this.#merge();
  }

  /** Removes and returns all bytes in one array. */
  take(): Uint8Array {
    const { length } = this;
    return join(this.takePieces(), length);
  }

  /** Removes and returns the pieces without joining them. */
  takePieces(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.length = this.#loosePieces = this.#looseBytes = 0;
    return pieces;
  }

  // Only small new pieces are copied: each byte is copied at most once here and once in take().
  #merge(): void {
    if (this.#looseBytes < mergeAfter * smallPiece) {
      this.#pieces.push(join(this.#pieces.splice(-mergeAfter), this.#looseBytes));
    }
    this.#loosePieces = this.#looseBytes = 0;
  }
}

function join(pieces: Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
