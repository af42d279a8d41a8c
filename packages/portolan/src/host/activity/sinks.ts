import type { Log } from "../../storage/storage.ts";
import { parseSeal } from "./chain.ts";
import { type ActivityHead, type ActivitySink, type ActivityText, emptyHead } from "./sink.ts";

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
  let turn: Promise<void> = Promise.resolve();
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
      turn = turn.then(write, write);
      return turn;
    },
    async read(newestFirst) {
      if (!newestFirst) return { texts: blocksOf(log, key) };
      const texts: ActivityText[] = [];
      for await (const text of blocksOf(log, key)) texts.push(text);
      return { texts: inOrder(texts.reverse()) };
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

async function* inOrder(texts: readonly ActivityText[]): AsyncGenerator<ActivityText> {
  yield* texts;
}
