import { type ActivityHead, type ActivitySink, emptyHead } from "./sink.ts";

/** A log that is gone with its process; `text` is all that is kept of it. */
export interface MemorySink extends ActivitySink {
  readonly text: string;
}

/** A sink for tests and for hosts that keep nothing; the oldest blocks make room for the newest. 16 Mi characters unless given. */
export function memorySink({ maxChars = 16 * 1024 * 1024 }: { readonly maxChars?: number } = {}): MemorySink {
  let head: ActivityHead = emptyHead;
  let base: ActivityHead = emptyHead;
  const blocks: { readonly text: string; readonly head: ActivityHead }[] = [];
  let chars = 0;
  let turn: Promise<void> = Promise.resolve();
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
      turn = turn.then(write, write);
      return turn;
    },
    async read(newestFirst) {
      const texts = blocks.map(({ text }) => text);
      return { head, base, texts: inOrder(newestFirst ? texts.reverse() : texts) };
    },
    async close() {},
  };
}

async function* inOrder(texts: readonly string[]) {
  for (const text of texts) yield { part: "memory", text };
}
