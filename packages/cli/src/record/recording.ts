import {
  closeSync,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import type { Message } from "portolan";
import { Failure } from "../failure.ts";
import { readRegularFile } from "../regular-file.ts";
import type { System } from "../system.ts";
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
  /** Adds secrets from an environment, headers or an entry. They are redacted in all messages. */
  learn(value: unknown): void;
  close(): void;
}

/** Starts a recording. Each line is written at once, so that nothing is lost when the program ends. */
export function openRecorder(
  file: string,
  { server, by, isRaw }: { readonly server: string; readonly by: string; readonly isRaw: boolean },
  system: Pick<System, "pid" | "onExit">,
): Recorder {
  // Readable by the user only, also if the file existed: a conversation is private even without secrets.
  const descriptor = openSync(file, "w", 0o600);
  const isFile = fstatSync(descriptor).isFile();
  if (isFile) fchmodSync(descriptor, 0o600);
  const redactor = isRaw ? undefined : new MessageRedactor();
  let known = 0;
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const header: RecordingHeader = {
    recording: 1,
    by,
    server,
    startedAt,
    redacted: !isRaw,
  };
  writeSync(descriptor, `${JSON.stringify(header)}\n`);
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    release();
    closeSync(descriptor);
    if (isFile && redactor && redactor.size > known) redactFile(file, redactor, system.pid);
  };
  // Clients end their servers with a signal.
  const release = system.onExit(close);
  return {
    learn(value) {
      redactor?.learn(value);
      known = redactor?.size ?? 0;
    },
    add(from, said) {
      const text = isOpen ? toText(said, redactor) : undefined;
      if (text === undefined) return;
      // The message comes last, unchanged, so that it can be replayed byte for byte.
      writeSync(descriptor, `{"at":${Math.round(performance.now() - started)},"from":"${from}","message":${text}}\n`);
    },
    close,
  };
}

/** Redacts the file again: a secret that was found late may stand in earlier lines. */
function redactFile(file: string, redactor: MessageRedactor, pid: number): void {
  const before = readFileSync(file, "utf8");
  const after = before.split("\n").map((line) => {
    const at = line.indexOf(opening);
    const text = at < 0 ? undefined : toText(line.slice(at + opening.length, line.lastIndexOf("}")), redactor);
    return text === undefined ? line : `${line.slice(0, at + opening.length)}${text}}`;
  });
  if (after.join("\n") === before) return;
  // A temporary file first: if the program ends here, one of the two files is whole.
  const temporary = `${file}.${pid}.tmp`;
  writeFileSync(temporary, after.join("\n"), { mode: 0o600, flag: "wx" });
  renameSync(temporary, file);
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

/** A recording that is read. Node.js has no longer strings. */
const maxRecordingBytes: number = 256 * 1024 * 1024;

/** Reads a recording. Skips a last line that was cut off. */
export function readRecording(file: string): Recording {
  const bytes = readRegularFile(file, maxRecordingBytes);
  if (!bytes) throw new Failure("usage", `${file} does not exist`);
  const [first = "", ...lines] = bytes.toString("utf8").split("\n");
  const header = parse(first) as RecordingHeader | undefined;
  if (header?.recording !== 1) {
    throw new Failure("usage", `${file} is not a recording: its first line is not a header`, {
      next: "portolan record --help",
    });
  }
  return { header, messages: lines.flatMap(toMessages) };
}

const opening = '"message":';

function toMessages(line: string): RecordedMessage[] {
  const entry = parse(line) as Omit<RecordedMessage, "text"> | undefined;
  if (entry === undefined || typeof entry.message !== "object" || entry.message === null) return [];
  const { at, from, message } = entry;
  if (Array.isArray(message)) {
    return (message as Message[]).map((each) => ({ at, from, message: each, text: JSON.stringify(each) }));
  }
  return [{ at, from, message, text: line.slice(line.indexOf(opening) + opening.length, line.lastIndexOf("}")) }];
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
