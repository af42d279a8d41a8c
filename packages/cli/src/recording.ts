import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Message } from "portolan";
import { redact } from "portolan/host";
import { Failure } from "./failure.ts";

/** Who sent a message. */
export type Side = "client" | "server";

/** The first line of a recording. */
export interface RecordingHeader {
  /** The version of the format. */
  readonly recording: 1;
  readonly by: string;
  readonly server: string;
  readonly startedAt: string;
  /** Whether what looks like a secret was taken out. */
  readonly redacted: boolean;
}

/** One message of a recording. */
export interface RecordedMessage {
  /** Milliseconds since the beginning. */
  readonly at: number;
  readonly from: Side;
  readonly message: Message;
  /** The message as it was written. */
  readonly text: string;
}

export interface Recording {
  readonly header: RecordingHeader;
  readonly messages: readonly RecordedMessage[];
}

/** Writes what is said into a file. */
export interface Recorder {
  /** A message, or its JSON text. */
  add(from: Side, said: string | Message): void;
  close(): void;
}

/** Begins a recording. It is on disk line by line, whatever ends this program. */
export function openRecorder(
  file: string,
  { server, by, isRaw }: { readonly server: string; readonly by: string; readonly isRaw: boolean },
): Recorder {
  // For the user alone: a conversation is private even without its secrets.
  const descriptor = openSync(file, "w", 0o600);
  const started = Date.now();
  const header: RecordingHeader = {
    recording: 1,
    by,
    server,
    startedAt: new Date(started).toISOString(),
    redacted: !isRaw,
  };
  writeSync(descriptor, `${JSON.stringify(header)}\n`);
  return {
    add(from, said) {
      const text = toText(said, isRaw);
      if (text === undefined) return;
      // The message comes last and as it was written, so that it can be given again byte for byte.
      writeSync(descriptor, `{"at":${Date.now() - started},"from":"${from}","message":${text}}\n`);
    },
    close: () => closeSync(descriptor),
  };
}

/** What is kept of a message; nothing of what is no JSON. */
function toText(said: string | Message, isRaw: boolean): string | undefined {
  const message = typeof said === "string" ? parse(said) : said;
  if (message === undefined) return undefined;
  const kept = isRaw ? message : redactMessage(message);
  const text = JSON.stringify(kept);
  return typeof said === "string" && (kept === message || text === JSON.stringify(message)) ? said : text;
}

const schemas = new Set(["inputSchema", "outputSchema", "requestedSchema"]);

/** A message without what looks like a secret. */
export function redactMessage<T>(message: T): T {
  return restoreSchemas(message, redact(message)) as T;
}

/** A schema may have a member called `password`, and it is none: there only texts are looked at. */
function restoreSchemas(original: unknown, redacted: unknown): unknown {
  if (original === redacted || typeof original !== "object" || typeof redacted !== "object") return redacted;
  if (original === null || redacted === null) return redacted;
  if (Array.isArray(original)) return original.map((item, at) => restoreSchemas(item, (redacted as unknown[])[at]));
  const cleaned = redacted as { readonly [name: string]: unknown };
  return Object.fromEntries(
    Object.entries(original).map(([name, value]) => [
      name,
      schemas.has(name) ? redactTexts(value) : restoreSchemas(value, cleaned[name]),
    ]),
  );
}

function redactTexts(value: unknown): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(redactTexts);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, redactTexts(part)]));
}

/** Reads a recording; a message that was cut off by the end of a program is left out. */
export function readRecording(file: string): Recording {
  const [first = "", ...lines] = readFileSync(file, "utf8").split("\n");
  const header = parse(first) as RecordingHeader | undefined;
  if (header?.recording !== 1) {
    throw new Failure("usage", `${file} is no recording: its first line is not the header of one`, {
      next: "portolan record <target> --out <file>",
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

/** The JSON text of an object with another value for one of its own members, and no other byte changed. */
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

/** Where a text, a number or null ends. */
function endOfScalar(text: string, start: number): number {
  let at = start;
  while (/\s/.test(text[at] ?? "")) at += 1;
  if (text[at] === '"') return endOfString(text, at);
  while (at < text.length && !/[,}\s]/.test(text[at] ?? "")) at += 1;
  return at;
}
