import { type AskableCapability, type Context, form, inputRequired, type Server, ToolError } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { choices, fields } from "./fields.ts";
import { text } from "./schemas.ts";

// Forms are compiled where the program starts. The parameter says what an answer that fits is.
const everyField = form(fields);
const someOf = form(choices);
const guess = form<{ number: number }>(object({ number: integer("From 1 to 10", { minimum: 1, maximum: 10 }) }));
const person = form<{ name: string }>(object({ name: text("A name", { minLength: 1 }) }));

const answers = object(
  {
    action: { enum: ["accept", "decline", "cancel"], description: "What the user did" },
    content: { type: "object", description: "What the user filled in" },
  },
  ["content"],
);

/** Tools that ask the user. Each is written once, for clients that are sent questions and for those that call again. */
export function withQuestions(server: Server): Server {
  return server
    .tool("ask-yes", {
      title: "Ask for a yes",
      description: "Asks the user one question, and refuses clients that cannot be asked",
      input: object({}),
      output: object({ yes: { type: "boolean", description: "Whether it was a yes" } }),
      annotations: annotations.reads,
      // Checked before the tool runs: -32021 on 2026-07-28, -32602 before.
      needs: { elicitation: { form: {} } },
      // A no, a closed form: everything but a yes is false.
      run: async (_, ctx) => ({ yes: await ctx.confirm("yes", "Yes or no?") }),
    })
    .tool("ask-form", {
      title: "Ask with a form",
      description: "Asks the user to fill in a form with a field of every type, choices of several aside",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        // Other tools may go on without an answer; this one says what is missing.
        need(ctx, "elicitation.form");
        // `{ action: "accept", content }`, `decline` for a no, or `cancel` for a form that was closed.
        return ctx.elicit("fields", { message: "Please fill this in", form: everyField });
      },
    })
    .tool("ask-choices", {
      title: "Ask for several choices",
      description: "Asks the user to choose some of several things; clients since 2025-11-25",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // On 2025-06-18 there is no such field, and the question is refused with -32602.
        return ctx.elicit("choices", { message: "Please choose", form: someOf });
      },
    })
    .tool("ask-page", {
      title: "Send to a page",
      description: "Sends the user to a page, as for a payment or a sign-in; clients since 2025-11-25",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.url");
        // The address must be the same in each round; one with a random part would come from `ctx.once`.
        const url = "https://example.com/everything";
        // `ready` resolves when the user is done on the page; here that is at once.
        return ctx.openUrl("page", { message: "Please visit this page", url, ready: () => {} });
      },
    })
    .tool("ask-steps", {
      title: "Ask step by step",
      description: "Asks for a name, then a question that depends on it, and does something once",
      input: object({}),
      output: object({ name: text("The name"), sure: { type: "boolean", description: "Whether it is right" } }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // Stateless clients call again with each answer and this runs anew: effects before a question go into `once`.
        const ticket = await ctx.once("ticket", () => "ticket 1");
        const first = await ctx.elicit("name", { message: `Which name goes on ${ticket}?`, form: person });
        if (first.action !== "accept") return ctx.cancelled("No name was given.");
        const { name } = first.content;
        return { name, sure: await ctx.confirm("sure", `Is it really ${name}?`) };
      },
    })
    .tool("ask-together", {
      title: "Ask together",
      description: "Asks two questions in one round, because neither depends on the other",
      input: object({}),
      output: object({ yes: integer("How many were a yes") }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        const said = await Promise.all([ctx.confirm("tea", "Tea?"), ctx.confirm("cake", "Cake?")]);
        return { yes: said.filter(Boolean).length };
      },
    })
    .tool("ask-until", {
      title: "Ask in a loop",
      description: "Lets the user guess a number, five times at most; it is 7",
      input: object({}),
      output: object({ guesses: integer("How many it took") }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        for (let round = 1; round <= 5; round += 1) {
          // Keys in loops get a number: a key names one question of the call.
          const answer = await ctx.elicit(`guess-${round}`, { message: `Guess ${round}: which number?`, form: guess });
          if (answer.action !== "accept") return ctx.cancelled("The user gave up.");
          if (answer.content.number === 7) return { guesses: round };
        }
        throw new ToolError("Five wrong guesses; it was 7");
      },
    })
    .tool("ask-parked", {
      title: "Ask and stay",
      description:
        "Asks while it holds something that cannot travel, so that it waits in memory instead of running again",
      input: object({}),
      output: object({ pages: text("The pages that were read") }),
      annotations: annotations.reads,
      asks: "park",
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // An open book, half read: no JSON can carry it.
        const book = ["one", "two", "three"].values();
        const pages = [book.next().value];
        while (pages.length < 3 && (await ctx.confirm(`after-${pages.length}`, "Turn the page?"))) {
          pages.push(book.next().value);
        }
        return { pages: pages.join(" ") };
      },
    })
    .tool("ask-explicit", {
      title: "List the questions",
      description: "Asks in the protocol's own form: returns questions and a state, and runs again with both",
      input: object({}),
      output: object({ name: text("The name"), rounds: integer("How often it was asked") }),
      annotations: annotations.reads,
      run(_, ctx) {
        need(ctx, "elicitation.form");
        const rounds = Number(ctx.state() ?? 0);
        // Nobody has compared this answer with the form: check it.
        const answer = ctx.answer("name") as { action?: unknown; content?: { name?: unknown } } | undefined;
        const name = answer?.content?.name;
        if (typeof name === "string" && name !== "") return { name, rounds };
        if (rounds > 0 && answer?.action !== "accept") return ctx.cancelled("No name was given.");
        if (rounds === 3) throw new ToolError("Three answers without a name; ask the user for it first");
        const params = { mode: "form", message: "Which name?", requestedSchema: person.schema } as const;
        return inputRequired({ requests: { name: { method: "elicitation/create", params } }, state: rounds + 1 });
      },
    });
}

/** Refuses in words for the model where the client cannot be asked. */
export function need(ctx: Context, question: AskableCapability): void {
  if (ctx.mayAsk(question)) return;
  throw new ToolError(`This client cannot be asked (${question}, on ${ctx.protocolVersion}); go on without this tool`);
}
