// @ts-check
// A server that asks every kind of question.
import { createServer, form } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

const order = form({
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", description: "As on the \u001b[31mdoor\u202e", minLength: 2 },
    email: { type: "string", format: "email" },
    size: { type: "string", enum: ["small", "large"], default: "large" },
    toppings: {
      type: "array",
      items: {
        anyOf: [
          { const: "c", title: "Cheese" },
          { const: "o", title: "Olives" },
        ],
      },
    },
    count: { type: "integer", minimum: 1, maximum: 9 },
    hurry: { type: "boolean", default: false },
    note: { type: "string" },
  },
  required: ["name", "count"],
});
const login = form({ type: "object", properties: { password: { type: "string", minLength: 4 } }, required: [] });

/** @param {unknown} value */
const told = (value) => ({ content: [{ type: /** @type {const} */ ("text"), text: JSON.stringify(value) }] });

const server = createServer({ name: "asking", version: "1.0.0" })
  .tool("order", {
    run: async (_, ctx) => told(await ctx.elicit("order", { message: "What would you like?", form: order })),
  })
  .tool("login", { run: async (_, ctx) => told(await ctx.elicit("login", { message: "Who are you?", form: login })) })
  .tool("sure", { run: async (_, ctx) => told(await ctx.confirm("sure", "Are you sure?")) })
  .tool("visit", {
    input: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    run: async ({ url }, ctx) =>
      told(await ctx.openUrl("visit", { message: "Please pay", url: String(url), ready: async () => {} })),
  })
  .tool("sample", {
    run: async (_, ctx) =>
      told(
        await ctx.sample("sample", {
          systemPrompt: "You are brief.",
          messages: [{ role: "user", content: { type: "text", text: "Name a colour" } }],
          maxTokens: 50,
        }),
      ),
  })
  .tool("folders", { run: async (_, ctx) => told(await ctx.roots()) })
  .tool("paint", {
    description: "Paints a wall",
    input: {
      type: "object",
      properties: {
        colour: { type: "string", enum: ["red", "green"] },
        coats: { type: "integer" },
        where: { type: "object" },
      },
      required: ["colour", "coats", "where"],
    },
    run: (args) => told(args),
  })
  .tool("forever", {
    run: (_, ctx) =>
      new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason))),
  })
  .tool("leave", { run: () => process.exit(3) })
  .prompt("greet", {
    description: "A greeting",
    arguments: { who: { required: true, complete: ["Ada", "Alan", "Grace"] } },
    get: ({ who }) => [{ role: "user", content: { type: "text", text: `Paint for ${who} colour=red` } }],
  })
  .resource("note://today", { name: "today", read: () => "buy milk" });

await serveStdio(server);
