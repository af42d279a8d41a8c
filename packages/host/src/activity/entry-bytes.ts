import {
  activityPageChars,
  maxEntryHeads,
  maxQuickArgumentChars,
  maxQuickNameChars,
  maxQuickTextChars,
} from "../limits.ts";
import type { Activity } from "./log.ts";
import { hintStarts, isSmall, mayHoldSecret, tripleAfter } from "./redact.ts";

const encoder = new TextEncoder();
/** The native encoder is faster for longer texts. */
const longTextChars = 96;
const shortCopyBytes = 20;

/**
 * The lines of one page as UTF-8, written as they come. Strings that wait for the end of the page would cost the garbage
 * collector more than the calls.
 */
export class PageBuffer {
  /** True if one of the texts may contain something that looks like a secret. */
  mayHoldSecret = false;
  #bytes = new Uint8Array(activityPageChars * 2);
  length = 0;

  /** Returns a copy of the lines and begins again. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.length);
    this.length = 0;
    this.mayHoldSecret = false;
    // One long entry must not keep its memory for ever.
    if (this.#bytes.length > activityPageChars * 8) this.#bytes = new Uint8Array(activityPageChars * 2);
    return taken;
  }

  /** Makes room for this many bytes; the methods below need it. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(needed * 2);
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }

  /** Writes bytes that contain no secret. */
  copy(bytes: Uint8Array): void {
    const start = this.length;
    // A call of `set` costs more than a few bytes.
    if (bytes.length > shortCopyBytes) this.#bytes.set(bytes, start);
    else for (let at = 0; at < bytes.length; at += 1) this.#bytes[start + at] = bytes[at] ?? 0;
    this.length += bytes.length;
  }

  /** Writes a text; reserve three bytes for each character. */
  text(text: string): void {
    const bytes = this.#bytes;
    const start = this.length;
    if (text.length <= longTextChars) {
      let at = 0;
      let triple = 0;
      for (; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        if (code >= 0x80) break;
        bytes[start + at] = code;
        triple = tripleAfter(triple, code);
        if (hintStarts[triple] === 1) this.mayHoldSecret = true;
      }
      if (at === text.length) {
        this.length = start + at;
        return;
      }
    }
    this.mayHoldSecret = true;
    this.length = start + encoder.encodeInto(text, bytes.subarray(start)).written;
  }

  /** Writes a text as a JSON string; reserve six bytes for each character, and two. */
  quoted(text: string): void {
    if (text.length > longTextChars || !this.#tryQuoted(text)) this.text(JSON.stringify(text));
  }

  /** Returns false, and writes nothing, if a character must be escaped. */
  #tryQuoted(text: string): boolean {
    const bytes = this.#bytes;
    let at = this.length;
    bytes[at] = quote;
    at += 1;
    let triple = 0;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code < 0x20 || code >= 0x7f || code === quote || code === backslash) return false;
      bytes[at] = code;
      at += 1;
      triple = tripleAfter(triple, code);
      if (hintStarts[triple] === 1) this.mayHoldSecret = true;
    }
    bytes[at] = quote;
    this.length = at + 1;
    return true;
  }

  /** Writes a number; reserve 25 bytes. */
  number(value: number): void {
    if (Number.isInteger(value) && value >= 0 && value < 0x4000_0000) this.#digits(value);
    else this.text(JSON.stringify(value));
  }

  #digits(value: number): void {
    let digits = 1;
    for (let limit = 10; limit <= value; limit *= 10) digits += 1;
    const bytes = this.#bytes;
    let rest = value;
    for (let at = this.length + digits - 1; at >= this.length; at -= 1) {
      const tenth = (rest / 10) | 0;
      bytes[at] = 0x30 + rest - tenth * 10;
      rest = tenth;
    }
    this.length += digits;
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** The entry of a call that ended, as written for every call. */
export class CallEntry implements Activity {
  [member: string]: unknown;
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly by: "user" | "model" | "app";
  readonly run: string | undefined;
  readonly args: object | undefined;
  readonly ms: number;
  readonly result: object;
  /** The serialized arguments, if there are any; private, because a member would be part of the entry. */
  readonly #argsText: string | undefined;

  constructor(
    kind: CallEntry["kind"],
    id: string,
    server: string,
    name: string,
    by: CallEntry["by"],
    run: string | undefined,
    args: object | undefined,
    argsText: string | undefined,
    ms: number,
    result: object,
  ) {
    this.kind = kind;
    this.id = id;
    this.server = server;
    this.name = name;
    this.by = by;
    this.run = run;
    this.args = args;
    this.ms = ms;
    this.result = result;
    this.#argsText = argsText;
  }

  static argsText(entry: CallEntry): string | undefined {
    return entry.#argsText;
  }

  /** Returns the entry with its arguments as they were sent, because the caller may have changed the object since. */
  static asWritten(entry: CallEntry): Activity {
    return entry.#argsText === undefined ? entry : { ...entry, args: JSON.parse(entry.#argsText) };
  }
}

/** The beginning of all entries about one tool. */
interface EntryHead {
  readonly text: string;
  readonly isSuspicious: boolean;
}

/** Writes entries of tool calls. The part that is the same for all calls of a tool is serialized once. */
export class CallWriter {
  readonly #heads = new Map<string, Map<string, EntryHead>>();
  #count = 0;
  /** The beginning of the last entry, which most calls of the same millisecond share. */
  #start = new Uint8Array(0);
  #isSuspicious = false;
  #at = "";
  #server = "";
  #name: string | undefined;

  /** Writes an entry after its number; returns false if the entry needs the general way. */
  write(entry: CallEntry, at: string, page: PageBuffer): boolean {
    const { kind, id, server, name, by, run, ms, result } = entry;
    const argsText = CallEntry.argsText(entry);
    if (kind !== "call" || argsText === undefined || argsText.length > maxQuickArgumentChars) return false;
    if (name.length > maxQuickNameChars) return false;
    const onlyText = onlyTextOf(result);
    if (onlyText === undefined && !isSmall(result)) return false;
    const resultText = onlyText === undefined ? JSON.stringify(result) : onlyText;
    if (at !== this.#at || name !== this.#name || server !== this.#server) this.#begin(at, server, name);
    const runText = run === undefined ? "" : `,"run":${JSON.stringify(run)}`;
    const chars = argsText.length + runText.length + id.length + resultText.length * 2;
    page.reserve(this.#start.length + chars * 3 + 120);
    page.copy(this.#start);
    if (this.#isSuspicious) page.mayHoldSecret = true;
    page.text(argsText);
    if (runText !== "") page.text(runText);
    page.copy(by === "user" ? byUser : by === "app" ? byApp : byModel);
    page.text(id);
    page.copy(msStart);
    page.number(ms);
    if (onlyText === undefined) {
      page.copy(resultStart);
      page.text(resultText);
      page.copy(callEnd);
    } else {
      page.copy(textStart);
      page.quoted(onlyText);
      page.copy(textEnd);
    }
    return true;
  }

  #begin(at: string, server: string, name: string): void {
    const head = this.#heads.get(server)?.get(name) ?? this.#addHead(server, name);
    this.#start = encoder.encode(at + head.text);
    this.#isSuspicious = head.isSuspicious;
    this.#at = at;
    this.#server = server;
    this.#name = name;
  }

  #addHead(server: string, name: string): EntryHead {
    if (this.#count >= maxEntryHeads) {
      this.#heads.clear();
      this.#count = 0;
    }
    const heads = this.#heads.get(server) ?? new Map<string, EntryHead>();
    const text = `${JSON.stringify({ kind: "call", server, name }).slice(1, -1)},"args":`;
    const head = { text, isSuspicious: mayHoldSecret(text) };
    this.#heads.set(server, heads.set(name, head));
    this.#count += 1;
    return head;
  }
}

const byUser = encoder.encode(',"by":"user","id":"');
const byApp = encoder.encode(',"by":"app","id":"');
const byModel = encoder.encode(',"by":"model","id":"');
const msStart = encoder.encode('","ms":');
const resultStart = encoder.encode(',"result":');
const callEnd = encoder.encode("}\n");
const textStart = encoder.encode(',"result":{"content":[{"type":"text","text":');
const textEnd = encoder.encode("}]}}\n");

/** Returns the text of a result that is one short text, as most are; undefined for every other result. */
function onlyTextOf(result: object): string | undefined {
  const { content, toJSON } = result as { content?: unknown; toJSON?: unknown };
  if (!Array.isArray(content) || content.length !== 1 || toJSON !== undefined) return undefined;
  for (const name in result) if (name !== "content") return undefined;
  const block: unknown = content[0];
  if (typeof block !== "object" || block === null) return undefined;
  const { type, text, toJSON: toBlockJson } = block as { type?: unknown; text?: unknown; toJSON?: unknown };
  if (type !== "text" || typeof text !== "string" || text.length > maxQuickTextChars) return undefined;
  if (toBlockJson !== undefined) return undefined;
  // Members of a different order would be written in that order.
  let expected = "type";
  for (const name in block) {
    if (name !== expected) return undefined;
    expected = expected === "type" ? "text" : "";
  }
  return expected === "" ? text : undefined;
}
