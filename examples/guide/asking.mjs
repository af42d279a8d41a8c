// @ts-check
// Handlers that ask the user, the model and the client before they return a result.
import { EventEmitter, once } from "node:events";
import { createServer, form, inputRequired } from "portolan/server";
import { z } from "zod";

// region order
const address = form(z.object({ street: z.string().min(1), express: z.boolean() }));

export const createShop = (options = {}) =>
  createServer({ name: "shop", version: "1.0.0" }, options).tool("order", {
    input: z.object({ article: z.string() }),
    output: z.object({ order: z.string(), street: z.string() }),
    needs: { elicitation: { form: {} } },
    async run({ article }, ctx) {
      const price = await ctx.once("reserve", () => reserve(article));
      const key = await ctx.once("key", () => crypto.randomUUID());
      const answer = await ctx.elicit("address", { message: `Where do we send ${article}?`, form: address });
      if (answer.action !== "accept") return ctx.cancelled("Nothing was ordered.");
      const { street, express } = answer.content;
      const total = express ? price + 10 : price;
      if (!(await ctx.confirm("pay", `Pay ${total} euros?`))) return ctx.cancelled("Nothing was paid.");
      const order = await ctx.once("charge", () => charge(key, article, total));
      return { order, street };
    },
  });
// endregion

// region together
export const kitchen = createServer({ name: "kitchen", version: "1.0.0" }).tool("set_table", {
  async run(_, ctx) {
    const [isVegan, hasGuests] = await Promise.all([
      ctx.confirm("vegan", "Is anyone vegan?"),
      ctx.confirm("guests", "Will guests come?"),
    ]);
    return JSON.stringify({ isVegan, hasGuests });
  },
});
// endregion

// region model
export const reader = createServer({ name: "reader", version: "1.0.0" }).tool("name_project", {
  needs: { sampling: {}, roots: {} },
  async run(_, ctx) {
    const folders = (await ctx.roots()).map(({ uri }) => uri).join(", ");
    const { content } = await ctx.sample("name", {
      messages: [{ role: "user", content: { type: "text", text: `A short name for a project in ${folders}?` } }],
      maxTokens: 20,
    });
    const [reply] = [content].flat();
    return reply?.type === "text" ? reply.text : "unnamed";
  },
});
// endregion

// region visit
export const accounts = createServer({ name: "accounts", version: "1.0.0" }).tool("connect", {
  async run(_, ctx) {
    if (!ctx.mayAsk("elicitation.url")) return "Open the settings page to connect your account.";
    const url = await ctx.once("link", () => `https://example.com/connect/${crypto.randomUUID()}`);
    const { action } = await ctx.openUrl("account", {
      message: "Connect your account",
      url,
      ready: (signal) => connected(url, signal),
    });
    return action === "accept" ? "connected" : ctx.cancelled();
  },
});
// endregion

// region park
export const library = createServer({ name: "library", version: "1.0.0" }).tool("read_aloud", {
  asks: "park",
  async run(_, ctx) {
    const book = borrow();
    try {
      const pages = [book.nextPage()];
      while (await ctx.confirm(`after-${pages.length}`, "Read on?")) pages.push(book.nextPage());
      return pages.join(" ");
    } finally {
      book.return();
    }
  },
});
// endregion

// region explicit
export const namer = createServer({ name: "namer", version: "1.0.0" }).tool("rename", {
  run(_, ctx) {
    const { success, data } = accepted.safeParse(ctx.answer("name"));
    if (success) return `Now named ${data.content.name}`;
    const attempts = Number(ctx.state() ?? 0);
    if (attempts === 2) return ctx.cancelled("No name was given.");
    return inputRequired({
      requests: {
        name: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Which name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          },
        },
      },
      state: attempts + 1,
    });
  },
});
const accepted = z.object({ action: z.literal("accept"), content: z.object({ name: z.string().min(1) }) });
// endregion

/** Counts of the shop's side effects, for the tests. */
export const effects = { reserved: 0, charged: 0 };

function reserve(/** @type {string} */ _article) {
  effects.reserved += 1;
  return 30;
}

/** @type {Map<string, string>} */
const orders = new Map();

/** Charges once for each key, as payment services do. */
function charge(/** @type {string} */ key, /** @type {string} */ article, /** @type {number} */ euros) {
  const known = orders.get(key);
  if (known) return known;
  effects.charged += 1;
  const order = `order-${effects.charged}: ${article} for ${euros}`;
  orders.set(key, order);
  return order;
}

/** @type {Set<string>} */
const finished = new Set();
const pages = new EventEmitter();

/** Marks a page as finished; the web page behind the link calls this. */
export function finish(/** @type {string} */ url) {
  finished.add(url);
  pages.emit(url);
}

/** Resolves when the user has finished a page, at once if that has already happened. */
async function connected(/** @type {string} */ url, /** @type {AbortSignal} */ signal) {
  if (!finished.has(url)) await once(pages, url, { signal });
}

/** Books that are not returned yet. */
export const borrowed = new Set();

function borrow() {
  let page = 0;
  const book = {
    nextPage: () => `Page ${++page}.`,
    return: () => borrowed.delete(book),
  };
  borrowed.add(book);
  return book;
}
