import { type AskableCapability, type Context, form, inputRequired, type Server, ToolError } from "portolan/server";
import { annotations, integer, object } from "portolan-server-kit";
import { choices, fields } from "./fields.ts";
import { text } from "./schemas.ts";

// Forms are compiled once at module load. The type parameter is the type of a valid answer.
const everyField = form(fields);
const someOf = form(choices);
const guess = form<{ number: number }>(object({ number: integer("From 1 to 10", { minimum: 1, maximum: 10 }) }));
const person = form<{ name: string }>(object({ name: text("A name", { minLength: 1 }) }));

const answers = object(
  {
    action: { enum: ["accept", "decline", "cancel"], description: "Action of the user" },
    content: { type: "object", description: "Input of the user" },
  },
  ["content"],
);

/** Adds tools that ask the user. Each works for clients that receive requests and for clients that call again. */
export function withQuestions(server: Server): Server {
  return server
    .tool("ask-yes", {
      title: "Ask for a confirmation",
      description: "Asks the user one question; refuses clients without elicitation",
      input: object({}),
      output: object({ yes: { type: "boolean", description: "True if the user said yes" } }),
      annotations: annotations.reads,
      // Checked before the tool runs: -32021 on 2026-07-28, -32602 before.
      needs: { elicitation: { form: {} } },
      // A no and a closed form are both false.
      run: async (_, ctx) => ({ yes: await ctx.confirm("yes", "Yes or no?") }),
    })
    .tool("ask-form", {
      title: "Ask with a form",
      description: "Asks the user to fill in a form with every type of field except multiple choice",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        // Other tools may continue without an answer; this one reports the missing capability.
        need(ctx, "elicitation.form");
        // Returns `{ action: "accept", content }`, `decline` for a no, or `cancel` for a closed form.
        return ctx.elicit("fields", { message: "Please fill this in", form: everyField });
      },
    })
    .tool("ask-choices", {
      title: "Ask with multiple choice",
      description: "Asks the user a multiple-choice question; needs a client of 2025-11-25 or newer",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // 2025-06-18 has no such field: the question fails with -32602.
        return ctx.elicit("choices", { message: "Please choose", form: someOf });
      },
    })
    .tool("ask-page", {
      title: "Open a page",
      description: "Sends the user to a page, as for a payment or a sign-in; needs a client of 2025-11-25 or newer",
      input: object({}),
      output: answers,
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.url");
        // The URL must be the same in each round; create one with a random part in `ctx.once`.
        const url = "https://example.com/everything";
        // `ready` resolves when the user has finished on the page; here at once.
        return ctx.openUrl("page", { message: "Please visit this page", url, ready: () => {} });
      },
    })
    .tool("ask-steps", {
      title: "Ask step by step",
      description: "Asks for a name, then a question that depends on it, and performs an effect once",
      input: object({}),
      output: object({
        name: text("The name"),
        sure: { type: "boolean", description: "True if the user confirmed it" },
      }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // Stateless clients call again with each answer, and the handler runs again: put effects before a question into `once`.
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
      output: object({ yes: integer("Number of questions answered with yes") }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        const said = await Promise.all([ctx.confirm("tea", "Tea?"), ctx.confirm("cake", "Cake?")]);
        return { yes: said.filter(Boolean).length };
      },
    })
    .tool("ask-until", {
      title: "Ask in a loop",
      description: "Lets the user guess a number, at most five times; it is 7",
      input: object({}),
      output: object({ guesses: integer("Number of guesses") }),
      annotations: annotations.reads,
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        for (let round = 1; round <= 5; round += 1) {
          // Number the keys in a loop: each key names one question of the call.
          const answer = await ctx.elicit(`guess-${round}`, { message: `Guess ${round}: which number?`, form: guess });
          if (answer.action !== "accept") return ctx.cancelled("The user gave up.");
          if (answer.content.number === 7) return { guesses: round };
        }
        throw new ToolError("Five wrong guesses; it was 7");
      },
    })
    .tool("ask-parked", {
      title: "Ask and wait in memory",
      description:
        "Asks while it holds a value that cannot be serialized: the handler waits in memory instead of running again",
      input: object({}),
      output: object({ pages: text("The pages that were read") }),
      annotations: annotations.reads,
      asks: "park",
      async run(_, ctx) {
        need(ctx, "elicitation.form");
        // A half-consumed iterator cannot be serialized.
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
      description: "Asks in the form of the protocol: returns questions and a state, and runs again with both",
      input: object({}),
      output: object({ name: text("The name"), rounds: integer("Number of rounds") }),
      annotations: annotations.reads,
      run(_, ctx) {
        need(ctx, "elicitation.form");
        const rounds = Number(ctx.state() ?? 0);
        // This answer was not validated against the form: check it.
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

/** Throws a ToolError if the client does not support a kind of question. */
export function need(ctx: Context, question: AskableCapability): void {
  if (ctx.mayAsk(question)) return;
  throw new ToolError(
    `The client does not support ${question} (protocol ${ctx.protocolVersion}); continue without this tool`,
  );
}
