// @ts-check
/** Asks the client's model and returns its text. @param {import("portolan/server").Context} ctx @param {string} key @param {string} text */
export async function askModel(ctx, key, text) {
  const { content } = await ctx.sample(key, {
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens: 100,
  });
  const [reply] = [content].flat();
  return reply?.type === "text" ? reply.text : "nothing";
}
