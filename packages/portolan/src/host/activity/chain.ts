import { sha256 } from "../../storage/crypto.ts";
import type { ActivityBlock, ActivityHead } from "./sink.ts";

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
  const place = encoder.encode(`${writeSeal("".padEnd(digestChars), seal)}\n`);
  const start = sealedHead(seal);
  const bytes = joinBytes([start, ...body, place]);
  const end = bytes.length - place.length;
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
