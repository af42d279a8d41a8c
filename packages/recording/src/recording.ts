import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { type Message, PortolanError } from "portolan";
import type { TapEvent } from "portolan/client";
import { maxRecordingBytes } from "./limits.ts";
import { RecordingFile } from "./recording-file.ts";
import { MessageRedactor } from "./redact.ts";

/** The sender of a message. */
export type Side = "client" | "server";

/** The first line of a recording. */
export interface RecordingHeader {
  /** The version of the format. */
  readonly recording: 1;
  readonly by: string;
  readonly server: string;
  readonly startedAt: string;
  /** True if secrets were removed. */
  readonly redacted: boolean;
}

/** One message of a recording. */
export interface RecordedMessage {
  /** Milliseconds since the start of the recording. */
  readonly at: number;
  readonly from: Side;
  readonly message: Message;
  /** The message as it was written, byte for byte. */
  readonly text: string;
}

export interface Recording {
  readonly header: RecordingHeader;
  readonly messages: readonly RecordedMessage[];
}

/** Writes messages to a recording. */
export interface Recorder {
  /** Adds a message, or its JSON text. */
  add(from: Side, said: string | Message): void;
  /** Adds what a tap heard. */
  hear(event: TapEvent): void;
  /** Adds secrets from an environment, headers or an entry. They are redacted in all messages. */
  learn(value: unknown): void;
  /** Ends the recording at once. A secret that was found late is removed from the earlier lines before. */
  close(): void;
  /** Ends the recording as `close` does, in slices. */
  end(): Promise<void>;
}

/** The process that writes a recording. */
export interface RecorderProcess {
  readonly pid: number;
  /** Calls `work` when the process ends, in whichever way. Returns a function that cancels this. */
  onExit(work: () => void): () => void;
}

/** Starts a recording. Each line is written at once, so that nothing is lost when the program ends. */
export function openRecorder(
  path: string,
  { server, by, isRaw }: { readonly server: string; readonly by: string; readonly isRaw: boolean },
  process: RecorderProcess,
): Recorder {
  const redactor = isRaw ? undefined : new MessageRedactor();
  const file = new RecordingFile(
    path,
    process.pid,
    redactor && {
      get size() {
        return redactor.size;
      },
      redactLine: (line) => redactLine(line, redactor),
    },
  );
  const started = performance.now();
  const header: RecordingHeader = {
    recording: 1,
    by,
    server,
    startedAt: new Date().toISOString(),
    redacted: !isRaw,
  };
  file.write(JSON.stringify(header));
  const close = () => {
    release();
    file.close();
  };
  // Clients end their servers with a signal.
  const release = process.onExit(close);
  const add = (from: Side, said: string | Message) => {
    const text = file.isOpen ? toText(said, redactor) : undefined;
    if (text === undefined) return;
    // The message comes last, unchanged, so that it can be replayed byte for byte.
    file.write(`{"at":${now()},"from":"${from}","message":${text}}`);
  };
  const now = () => Math.round(performance.now() - started);
  const addOther = (kind: "http" | "stderr" | "note", value: unknown) => {
    if (!file.isOpen) return;
    const kept = redactor ? redactor.redact(value) : value;
    file.write(`{"at":${now()},${JSON.stringify(kind)}:${JSON.stringify(kept)}}`);
  };
  return {
    learn(value) {
      redactor?.learn(value);
      file.learned();
    },
    add,
    hear(event) {
      const { at: _, call: __, ...facts } = event;
      if (facts.kind === "message") add(facts.from, facts.text);
      else if (facts.kind === "stderr") addOther("stderr", facts.line);
      else {
        const { kind, ...rest } = facts;
        if (kind === "http") addOther("http", rest);
        else addOther("note", { [kind]: rest });
      }
    },
    close,
    async end() {
      release();
      await file.end();
    },
  };
}

function redactLine(line: string, redactor: MessageRedactor): string {
  if (/^\{"at":\d+,"from":/.test(line)) {
    const text = toText(textOfMessage(line), redactor);
    return text === undefined ? line : `${line.slice(0, line.indexOf(opening) + opening.length)}${text}}`;
  }
  const entry = parse(line) as { readonly recording?: unknown } | undefined;
  if (entry === undefined || entry.recording !== undefined) return line;
  const kept = redactor.redact(entry);
  return kept === entry ? line : JSON.stringify(kept);
}

/** Returns the text of a message to write, or undefined if it is not JSON. */
function toText(said: string | Message, redactor: MessageRedactor | undefined): string | undefined {
  const message = typeof said === "string" ? parse(said) : said;
  if (message === undefined) return undefined;
  try {
    const kept = redactor ? redactor.redact(message) : message;
    const text = JSON.stringify(kept);
    return typeof said === "string" && (kept === message || text === JSON.stringify(message)) ? said : text;
  } catch (reason) {
    // A peer can nest a message deeper than the stack: a text stands for it, and the conversation goes on.
    if (reason instanceof RangeError) return '"left out: nested too deeply to be recorded"';
    throw reason;
  }
}

/** A file that is something else. */
export class NotARecording extends PortolanError {
  constructor(file: string) {
    super("invalid-argument", `${file} is not a recording: its first line is not a header`);
    this.name = "NotARecording";
  }
}

/** Reads a recording. Skips a last line that was cut off. */
export function readRecording(file: string): Recording {
  const bytes = readBytes(file);
  const [first = "", ...lines] = bytes.toString("utf8").split("\n");
  const header = parse(first) as RecordingHeader | undefined;
  if (header?.recording !== 1) {
    throw new NotARecording(file);
  }
  return { header, messages: lines.flatMap(messagesIn) };
}

/** Reads a file that a stranger can have made: no pipe and no device, and no more than is allowed. */
function readBytes(file: string): Buffer {
  const invalid = (why: string) => new PortolanError("invalid-argument", `${file}${why}`);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) throw invalid(" does not exist");
  // Opening a pipe would wait for a writer. Windows has no such flag, and no such pipes.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const { size } = fstatSync(descriptor);
    if (!fstatSync(descriptor).isFile()) throw invalid(": expected a file, got a folder, pipe or device");
    if (size > maxRecordingBytes) throw invalid(` has more than ${maxRecordingBytes} bytes`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const opening = '"message":';

/** Returns the messages of a line; none for a line of another kind. */
function messagesIn(line: string): RecordedMessage[] {
  const entry = parse(line) as Partial<RecordedMessage> | undefined;
  const { at = 0, from } = entry ?? {};
  return from === undefined ? [] : toMessages(at, from, textOfMessage(line));
}

/** Returns the text of the message in a line, byte for byte. The message is the last member. */
export function textOfMessage(line: string): string {
  return line.slice(line.indexOf(opening) + opening.length, line.lastIndexOf("}"));
}

/** Returns the messages in a text: several for a batch, none for what is no message. */
export function toMessages(at: number, from: Side, text: string): RecordedMessage[] {
  const message = parse(text);
  if (typeof message !== "object" || message === null) return [];
  if (!Array.isArray(message)) return [{ at, from, message, text }];
  return (message as Message[]).map((each) => ({ at, from, message: each, text: JSON.stringify(each) }));
}

function parse(text: string): Message | undefined {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return undefined;
  }
}

/** Replaces the value of a top-level member in JSON text, and changes no other byte. */
export function replaceMember(text: string, name: string, value: string): string {
  let depth = 0;
  let isKey = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && isKey && JSON.parse(text.slice(at, end)) === name) {
        const from = text.indexOf(":", end) + 1;
        return `${text.slice(0, from)}${value}${text.slice(endOfScalar(text, from))}`;
      }
      isKey = false;
      at = end - 1;
    } else if (character === "{" || character === "[") {
      depth += 1;
      isKey = character === "{";
    } else if (character === "}" || character === "]") depth -= 1;
    else if (character === ",") isKey = true;
  }
  return text;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Returns the end of a string, number or null. */
function endOfScalar(text: string, start: number): number {
  let at = start;
  while (/\s/.test(text[at] ?? "")) at += 1;
  if (text[at] === '"') return endOfString(text, at);
  while (at < text.length && !/[,}\s]/.test(text[at] ?? "")) at += 1;
  return at;
}
