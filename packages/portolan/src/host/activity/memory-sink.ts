import { type ActivityHead, type ActivitySink, emptyHead } from "./sink.ts";

/** A log that is gone with its process; `text` is all of it. */
export interface MemorySink extends ActivitySink {
  readonly text: string;
}

/** A sink for tests and for hosts that keep nothing. */
export function memorySink(): MemorySink {
  let head: ActivityHead = emptyHead;
  const blocks: string[] = [];
  let turn: Promise<void> = Promise.resolve();
  return {
    isLinear: true,
    get text() {
      return blocks.join("");
    },
    append(build) {
      const write = async () => {
        const block = await build(head);
        blocks.push(new TextDecoder().decode(block.bytes));
        head = block.head;
      };
      turn = turn.then(write, write);
      return turn;
    },
    async read(newestFirst) {
      const texts = newestFirst ? blocks.toReversed() : [...blocks];
      return { head, texts: inOrder(texts) };
    },
    async close() {},
  };
}

async function* inOrder(texts: readonly string[]) {
  for (const text of texts) yield { part: "memory", text };
}
