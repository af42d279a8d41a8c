// @ts-check
// Your own model: any function that generates text from a conversation.

/**
 * @param {(prompt: string, signal?: AbortSignal) => AsyncIterable<string>} generate
 * @returns {import("portolan-host/models").Model}
 */
export const own = (generate) => ({
  id: "own",
  // The host sends this model no tools, no images, and at most 8,000 tokens.
  capabilities: { tools: false, images: false, contextTokens: 8_000 },
  async *stream({ system, messages, signal }) {
    const turns = messages.map(({ role, content }) => {
      const texts = [content].flat().map((block) => (block.type === "text" ? block.text : `(${block.type})`));
      return `${role}: ${texts.join("\n")}`;
    });
    for await (const delta of generate([system, ...turns].join("\n\n"), signal)) yield { type: "text", delta };
    yield { type: "end", stopReason: "endTurn", model: "own" };
  },
});
