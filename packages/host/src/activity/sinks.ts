import { storeIn } from "portolan/auth/client";
import type { Log, Storage } from "portolan/storage";
import { sha256 } from "portolan/storage";
import { maxMemoryLogChars } from "../limits.ts";

/** The storage of a log. */
export interface ActivitySink {
  /** True if each block follows the previous one. Otherwise concurrent writers may fork the chain. */
  readonly isLinear: boolean;
  /**
   * Appends the block that `build` makes for the current head, completely or not at all. After a rejection it is called
   * again with the same entries, which must not be stored twice.
   */
  append(build: (head: ActivityHead) => Promise<ActivityBlock>): Promise<void>;
  read(newestFirst: boolean): Promise<ActivityReading>;
  close(): Promise<void>;
}

/** The end of a chain of blocks. */
export interface ActivityHead {
  /** The last seal; empty before the first block. */
  readonly seal: string;
  /** Number of the last block, from 1; 0 before the first. */
  readonly block: number;
  /** Number of the last entry, from 1; 0 before the first. */
  readonly seq: number;
}

/** Some entries and their seal. */
export interface ActivityBlock {
  /** Lines of JSON in UTF-8. */
  readonly bytes: Uint8Array;
  readonly head: ActivityHead;
}

/** A snapshot of a log. */
export interface ActivityReading {
  /** The head before the oldest text, if older ones were dropped. */
  readonly base?: ActivityHead;
  /** The separately stored head; "missing" or "unreadable" if there should be one. */
  readonly head?: ActivityHead | "missing" | "unreadable";
  /** Complete lines, except at the end of the last text. The latest text first if requested. */
  readonly texts: AsyncIterable<ActivityText>;
}

/** Some lines of a log, in the order of writing. */
export interface ActivityText {
  /** The file or other part that contains them. */
  readonly part: string;
  readonly text: string;
}

/** The end of a log that is still empty. */
export const emptyHead: ActivityHead = { seal: "", block: 0, seq: 0 };

/** A log in memory; `text` is its whole content. */
export interface MemorySink extends ActivitySink {
  readonly text: string;
}

/**
 * Creates a sink for tests and for hosts that store nothing. The oldest blocks make room for the newest. Default: 16 Mi
 * characters.
 */
export function memorySink({ maxChars = maxMemoryLogChars }: { readonly maxChars?: number } = {}): MemorySink {
  let head: ActivityHead = emptyHead;
  let base: ActivityHead = emptyHead;
  const blocks: { readonly text: string; readonly head: ActivityHead }[] = [];
  let chars = 0;
  let queue: Promise<void> = Promise.resolve();
  return {
    isLinear: true,
    get text() {
      return blocks.map(({ text }) => text).join("");
    },
    append(build) {
      const write = async () => {
        const block = await build(head);
        head = block.head;
        const text = new TextDecoder().decode(block.bytes);
        blocks.push({ text, head });
        chars += text.length;
        while (chars > maxChars && blocks.length > 1) {
          const oldest = blocks.shift();
          chars -= oldest?.text.length ?? 0;
          base = oldest?.head ?? base;
        }
      };
      queue = queue.then(write, write);
      return queue;
    },
    async read(newestFirst) {
      const texts = blocks.map(({ text }) => text);
      return { head, base, texts: memoryTexts(newestFirst ? texts.reverse() : texts) };
    },
    async close() {},
  };
}

async function* memoryTexts(texts: readonly string[]) {
  for (const text of texts) yield { part: "memory", text };
}

/**
 * Stores a log in any `Storage`. Several processes may write to one key: they take turns, so that their blocks form one
 * chain. The head of the chain is stored apart, so that a removed end is noticed.
 */
export function storageSink(storage: Storage, key: string): ActivitySink {
  const { kv, log } = storage;
  const headKey = `${key}/head`;
  const turns = storeIn(storage, { prefix: `${key}/` });
  let head: ActivityHead = emptyHead;
  let lastId = "";
  /** The seal of a block that may have been stored although its append failed. */
  let unsure: string | undefined;
  const catchUp = async () => {
    for await (const { id, value } of log.after(key, lastId)) {
      lastId = id;
      head = headOf(value) ?? head;
      if (head.seal === unsure) unsure = undefined;
    }
  };
  const readTexts = async (): Promise<ActivityReading> => {
    const stored = await kv.get(headKey);
    const known = stored === undefined ? "missing" : (parseHead(stored) ?? "unreadable");
    return { head: known, texts: blocksOf(log, key, known) };
  };
  return {
    // A process that was suspended in its turn may fork the chain.
    isLinear: false,
    append: (build) =>
      turns.exclusive("append", async () => {
        const wasUnsure = unsure !== undefined;
        await catchUp();
        if (!wasUnsure || unsure !== undefined) {
          const block = await build(head);
          unsure = block.head.seal;
          await log.append(key, new TextDecoder().decode(block.bytes));
          head = block.head;
        }
        await kv.set(headKey, JSON.stringify(head));
        unsure = undefined;
      }),
    async read(newestFirst) {
      const reading = await readTexts();
      if (!newestFirst) return reading;
      const texts: ActivityText[] = [];
      for await (const text of reading.texts) texts.push(text);
      return { ...reading, texts: iterate(texts.reverse()) };
    },
    async close() {},
  };
}

function parseHead(text: string): ActivityHead | undefined {
  try {
    const { seal, block, seq } = JSON.parse(text);
    if (typeof seal === "string" && typeof block === "number" && typeof seq === "number") return { seal, block, seq };
  } catch {
    // Not written by a log.
  }
  return undefined;
}

function headOf(block: string): ActivityHead | undefined {
  const seal = parseSeal(block.slice(block.lastIndexOf("\n", block.length - 2) + 1, -1));
  return seal && { seal: seal.seal, block: seal.block, seq: seal.seq };
}

/** Reads the blocks up to the head, and one more: its writer may have stopped before it stored the head. */
async function* blocksOf(log: Log, key: string, head: ActivityReading["head"]): AsyncGenerator<ActivityText> {
  let left = Number.POSITIVE_INFINITY;
  for await (const { value } of log.after(key, "")) {
    if (left === 0) return;
    left -= 1;
    yield { part: key, text: value };
    if (typeof head === "object" && headOf(value)?.seal === head.seal) left = 1;
  }
}

async function* iterate(texts: readonly ActivityText[]): AsyncGenerator<ActivityText> {
  yield* texts;
}

/** The content of a seal. */
export interface Seal extends ActivityHead {
  readonly previous: string;
  readonly entries: number;
  /** Random name of the writer, so that two writers never write the same block. */
  readonly by: string;
}

const encoder = new TextEncoder();
/** Length of a SHA-256 digest in base64url. */
const digestChars = 43;

/** Seals lines of entries to the previous head. */
export async function sealBody(
  body: readonly Uint8Array[],
  entries: number,
  before: ActivityHead,
  by: string,
): Promise<ActivityBlock> {
  const seal = { previous: before.seal, block: before.block + 1, seq: before.seq + entries, entries, by };
  // Reserves the space of the seal, whose length is fixed.
  const placeholder = encoder.encode(`${writeSeal("".padEnd(digestChars), seal)}\n`);
  const start = sealedHead(seal);
  const bytes = joinBytes([start, ...body, placeholder]);
  const end = bytes.length - placeholder.length;
  const digest = await sha256(bytes.subarray(0, end));
  encoder.encodeInto(writeSeal(digest, seal), bytes.subarray(end));
  return { bytes: bytes.subarray(start.length), head: { seal: digest, block: seal.block, seq: seal.seq } };
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** Parses a seal; undefined for any other line. The line of an entry never begins like a seal. */
export function parseSeal(line: string): Seal | undefined {
  const found =
    /^\{"seal":"([\w-]{43})","previous":"([\w-]{43}|)","block":(\d{1,15}),"seq":(\d{1,15}),"entries":(\d{1,15}),"by":"([\w-]{1,36})"\}$/;
  const [, seal, previous, block, seq, entries, by] = line.match(found) ?? [];
  if (seal === undefined || previous === undefined || by === undefined) return undefined;
  return { seal, previous, block: Number(block), seq: Number(seq), entries: Number(entries), by };
}

/** True if a seal matches these lines, byte for byte. */
export async function isSealOf(line: string, seal: Seal, body: string): Promise<boolean> {
  const digest = await sha256(joinBytes([sealedHead(seal), encoder.encode(body)]));
  return seal.seal === digest && line === writeSeal(seal.seal, seal);
}

/** The bytes before the lines in the input of a seal's digest. */
function sealedHead({ previous, block, seq, entries, by }: Omit<Seal, "seal">): Uint8Array {
  return encoder.encode(`${previous}\n${block} ${seq} ${entries} ${by}\n`);
}

function writeSeal(seal: string, { previous, block, seq, entries, by }: Omit<Seal, "seal">): string {
  return `{"seal":"${seal}","previous":"${previous}","block":${block},"seq":${seq},"entries":${entries},"by":"${by}"}`;
}
