import { sha256 } from "../../storage/digest.ts";
import type { ActivityBlock, ActivityHead } from "./sink.ts";

/** What a seal says beside its digest. */
export interface Seal extends ActivityHead {
  readonly previous: string;
  readonly entries: number;
  /** The writer, by a random name: two that write the same at the same time do not write the same block. */
  readonly by: string;
}

const encoder = new TextEncoder();

/** Seals lines of entries to what came before. */
export async function sealBody(
  body: Uint8Array,
  entries: number,
  before: ActivityHead,
  by: string,
): Promise<ActivityBlock> {
  const seal = { previous: before.seal, block: before.block + 1, seq: before.seq + entries, entries, by };
  const sealed = sealedBytes(seal, body);
  const digest = await sha256(sealed);
  const lines = [body, encoder.encode(`${writeSeal(digest, seal)}\n`)];
  return { bytes: joinBytes(lines), head: { seal: digest, block: seal.block, seq: seal.seq } };
}

/** Bytes in one piece. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
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
  const digest = await sha256(sealedBytes(seal, encoder.encode(body)));
  return seal.seal === digest && line === writeSeal(seal.seal, seal);
}

/** What a seal is the digest of. */
function sealedBytes({ previous, block, seq, entries, by }: Omit<Seal, "seal">, body: Uint8Array) {
  return joinBytes([encoder.encode(`${previous}\n${block} ${seq} ${entries} ${by}\n`), body]);
}

function writeSeal(seal: string, { previous, block, seq, entries, by }: Omit<Seal, "seal">): string {
  return `{"seal":"${seal}","previous":"${previous}","block":${block},"seq":${seq},"entries":${entries},"by":"${by}"}`;
}
