// @ts-check
// A model of your own: whatever makes words of a conversation.

/**
 * @param {(prompt: string, signal?: AbortSignal) => AsyncIterable<string>} generate
 * @returns {import("portolan-host/models").Model}
 */
export const own = (generate) => ({
  id: "own",
  // It is given no tools and no images, and no more than it can take.
  capabilities: { tools: false, images: false, contextTokens: 8_000 },
  async *stream({ system, messages, signal }) {
    const said = messages.map(({ role, content }) => {
      const texts = [content].flat().map((block) => (block.type === "text" ? block.text : `(${block.type})`));
      return `${role}: ${texts.join("\n")}`;
    });
    for await (const delta of generate([system, ...said].join("\n\n"), signal)) yield { type: "text", delta };
    yield { type: "end", stopReason: "endTurn", model: "own" };
  },
});
