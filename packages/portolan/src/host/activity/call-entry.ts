import type { Activity } from "./entry.ts";
import { isSmall } from "./shorten.ts";

/** Something that was asked of a server and done: the entry that there is for every call. */
export class CallEntry implements Activity {
  [member: string]: unknown;
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly by: "user" | "model";
  readonly run: string | undefined;
  readonly args: object | undefined;
  readonly ms: number;
  readonly result: object;
  /** The arguments as JSON, where they are written already; not a member, which would be part of the entry. */
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

  /** The entry with its arguments as they were written: their owner may have changed them since. */
  static asWritten(entry: CallEntry): Activity {
    return entry.#argsText === undefined ? entry : { ...entry, args: JSON.parse(entry.#argsText) };
  }
}

/** What is longer may have to be shortened. */
const maxNameChars = 1_024;
const maxArgsChars = 16 * 1024;
const maxHeads = 1_000;

/** Writes calls of tools: what is the same for all calls of a tool is written once. */
export class CallWriter {
  readonly #heads = new Map<string, Map<string, string>>();
  #count = 0;

  /** Adds the JSON of an entry without its first brace, in pieces; false where it is not written so simply. */
  write(entry: CallEntry, pieces: string[]): boolean {
    const { kind, id, server, name, by, run, ms, result } = entry;
    const argsText = CallEntry.argsText(entry);
    if (kind !== "call" || argsText === undefined || argsText.length > maxArgsChars) return false;
    if (name.length > maxNameChars || !isSmall(result)) return false;
    pieces.push(this.#heads.get(server)?.get(name) ?? this.#addHead(server, name), argsText);
    if (run !== undefined) pieces.push(',"run":', JSON.stringify(run));
    pieces.push(by === "user" ? ',"by":"user","id":"' : ',"by":"model","id":"', id);
    pieces.push('","ms":', String(ms), ',"result":', JSON.stringify(result), "}");
    return true;
  }

  #addHead(server: string, name: string): string {
    if (this.#count >= maxHeads) {
      this.#heads.clear();
      this.#count = 0;
    }
    const heads = this.#heads.get(server) ?? new Map<string, string>();
    const head = `${JSON.stringify({ kind: "call", server, name }).slice(1, -1)},"args":`;
    this.#heads.set(server, heads.set(name, head));
    this.#count += 1;
    return head;
  }
}
