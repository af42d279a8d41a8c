import { sha256 } from "../../storage/digest.ts";
import type { ActivityBlock, ActivityHead } from "./sink.ts";

/** What a seal says beside its digest. */
export interface Seal extends ActivityHead {
  readonly previous: string;
  readonly entries: number;
  /** The writer, by a random name: two that write the same at the same time do not write the same block. */
  readonly by: string;
}

/** Seals lines of entries to what came before. */
export async function sealBody(
  body: string,
  entries: number,
  before: ActivityHead,
  by: string,
): Promise<ActivityBlock> {
  const seal: Omit<Seal, "seal"> = {
    previous: before.seal,
    block: before.block + 1,
    seq: before.seq + entries,
    entries,
    by,
  };
  const digest = await digestOf(seal, body);
  return { text: `${body}${writeSeal(digest, seal)}\n`, head: { seal: digest, block: seal.block, seq: seal.seq } };
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
  return seal.seal === (await digestOf(seal, body)) && line === writeSeal(seal.seal, seal);
}

function digestOf({ previous, block, seq, entries, by }: Omit<Seal, "seal">, body: string): Promise<string> {
  return sha256(`${previous}\n${block} ${seq} ${entries} ${by}\n${body}`);
}

function writeSeal(seal: string, { previous, block, seq, entries, by }: Omit<Seal, "seal">): string {
  return `{"seal":"${seal}","previous":"${previous}","block":${block},"seq":${seq},"entries":${entries},"by":"${by}"}`;
}
