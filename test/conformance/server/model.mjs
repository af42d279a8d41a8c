// @ts-check
/** What the client's model says to one question. @param {import("portolan/server").Context} ctx @param {string} key @param {string} text */
export async function askModel(ctx, key, text) {
  const { content } = await ctx.sample(key, {
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens: 100,
  });
  const [said] = [content].flat();
  return said?.type === "text" ? said.text : "nothing";
}
