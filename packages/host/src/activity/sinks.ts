import type { Log } from "portolan/storage";
import { sha256 } from "portolan/storage";
import { maxMemoryLogChars } from "../limits.ts";

/** Where a log is kept. */
export interface ActivitySink {
  /** Whether each block follows the one before it; otherwise writers that do not wait for each other may fork the chain. */
  readonly isLinear: boolean;
  /**
   * Adds what `build` makes of the present head; all of it is there when this resolves. After a rejection it is called
   * with the same entries again, which are not to be there twice.
   */
  append(build: (head: ActivityHead) => Promise<ActivityBlock>): Promise<void>;
  read(newestFirst: boolean): Promise<ActivityReading>;
  close(): Promise<void>;
}

/** Where a chain of blocks stands. */
export interface ActivityHead {
  /** The last seal; empty before the first block. */
  readonly seal: string;
  /** The number of the last block, from 1; 0 before the first. */
  readonly block: number;
  /** The number of the last entry, from 1; 0 before the first. */
  readonly seq: number;
}

/** Some entries and the seal behind them. */
export interface ActivityBlock {
  /** Lines of JSON in UTF-8. */
  readonly bytes: Uint8Array;
  readonly head: ActivityHead;
}

/** A log as it was at one moment. */
export interface ActivityReading {
  /** What the oldest text follows, where those before it were let go. */
  readonly base?: ActivityHead;
  /** The head as it is kept apart from the lines; `missing` and `unreadable` where there should be one. */
  readonly head?: ActivityHead | "missing" | "unreadable";
  /** Whole lines, except at the end of the last text; the latest text first where that was asked for. */
  readonly texts: AsyncIterable<ActivityText>;
}

/** Some lines of a log as they were written, in the order of writing. */
export interface ActivityText {
  /** The file or other part that they are from. */
  readonly part: string;
  readonly text: string;
}

/** Before the first block. */
export const emptyHead: ActivityHead = { seal: "", block: 0, seq: 0 };

/** A log that is gone with its process; `text` is all that is kept of it. */
export interface MemorySink extends ActivitySink {
  readonly text: string;
}

/** A sink for tests and for hosts that keep nothing; the oldest blocks make room for the newest. 16 Mi characters unless given. */
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
 * Keeps a log in any `Storage`. Several processes may write to one key; their blocks then form a tree rather than a
 * chain, since nobody waits for the others, and a block that nothing was built on can be taken away unnoticed. One key
 * for each process keeps a chain.
 */
export function storageSink(log: Log, key: string): ActivitySink {
  let head: ActivityHead = emptyHead;
  let lastId = "";
  /** The seal of a block that may have arrived although its append failed. */
  let unsure: string | undefined;
  const catchUp = async () => {
    for await (const { id, value } of log.after(key, lastId)) {
      lastId = id;
      head = headOf(value) ?? head;
      if (head.seal === unsure) unsure = undefined;
    }
  };
  let queue: Promise<void> = Promise.resolve();
  return {
    isLinear: false,
    append(build) {
      const write = async () => {
        const wasUnsure = unsure !== undefined;
        await catchUp();
        if (wasUnsure && unsure === undefined) return;
        const block = await build(head);
        unsure = block.head.seal;
        await log.append(key, new TextDecoder().decode(block.bytes));
        unsure = undefined;
      };
      queue = queue.then(write, write);
      return queue;
    },
    async read(newestFirst) {
      if (!newestFirst) return { texts: blocksOf(log, key) };
      const texts: ActivityText[] = [];
      for await (const text of blocksOf(log, key)) texts.push(text);
      return { texts: iterate(texts.reverse()) };
    },
    async close() {},
  };
}

function headOf(block: string): ActivityHead | undefined {
  const seal = parseSeal(block.slice(block.lastIndexOf("\n", block.length - 2) + 1, -1));
  return seal && { seal: seal.seal, block: seal.block, seq: seal.seq };
}

async function* blocksOf(log: Log, key: string): AsyncGenerator<ActivityText> {
  for await (const { value } of log.after(key, "")) yield { part: key, text: value };
}

async function* iterate(texts: readonly ActivityText[]): AsyncGenerator<ActivityText> {
  yield* texts;
}

/** What a seal says beside its digest. */
export interface Seal extends ActivityHead {
  readonly previous: string;
  readonly entries: number;
  /** The writer, by a random name: two that write the same at the same time do not write the same block. */
  readonly by: string;
}

const encoder = new TextEncoder();
/** Of SHA-256 in base64url. */
const digestChars = 43;

/** Seals lines of entries, in pieces that follow each other, to what came before. */
export async function sealBody(
  body: readonly Uint8Array[],
  entries: number,
  before: ActivityHead,
  by: string,
): Promise<ActivityBlock> {
  const seal = { previous: before.seal, block: before.block + 1, seq: before.seq + entries, entries, by };
  // The seal gets its place before it is known: it is always this long.
  const position = encoder.encode(`${writeSeal("".padEnd(digestChars), seal)}\n`);
  const start = sealedHead(seal);
  const bytes = joinBytes([start, ...body, position]);
  const end = bytes.length - position.length;
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

/** Whether a line is a seal, and what it says; the line of an entry never begins like this. */
export function parseSeal(line: string): Seal | undefined {
  const found =
    /^\{"seal":"([\w-]{43})","previous":"([\w-]{43}|)","block":(\d{1,15}),"seq":(\d{1,15}),"entries":(\d{1,15}),"by":"([\w-]{1,36})"\}$/;
  const [, seal, previous, block, seq, entries, by] = line.match(found) ?? [];
  if (seal === undefined || previous === undefined || by === undefined) return undefined;
  return { seal, previous, block: Number(block), seq: Number(seq), entries: Number(entries), by };
}

/** Whether a seal is the one of these lines, to the last byte. */
export async function isSealOf(line: string, seal: Seal, body: string): Promise<boolean> {
  const digest = await sha256(joinBytes([sealedHead(seal), encoder.encode(body)]));
  return seal.seal === digest && line === writeSeal(seal.seal, seal);
}

/** What stands before the lines in what a seal is the digest of. */
function sealedHead({ previous, block, seq, entries, by }: Omit<Seal, "seal">): Uint8Array {
  return encoder.encode(`${previous}\n${block} ${seq} ${entries} ${by}\n`);
}

function writeSeal(seal: string, { previous, block, seq, entries, by }: Omit<Seal, "seal">): string {
  return `{"seal":"${seal}","previous":"${previous}","block":${block},"seq":${seq},"entries":${entries},"by":"${by}"}`;
}
