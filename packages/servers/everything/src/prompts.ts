import type { PromptMessage } from "portolan";
import { form, type Server } from "portolan/server";
import { object } from "portolan-server-kit";
import { blocks, icons } from "./samples.ts";
import { text } from "./schemas.ts";

const topic = form<{ topic: string }>(object({ topic: text("What it is about", { minLength: 1 }) }));

/** Adds prompts: plain, with arguments, with all types of content, and with a question. */
export function withPrompts(server: Server): Server {
  return (
    server
      // A string is one message of the user.
      .prompt("plain", { title: "Plain", description: "One message", get: () => "Say hello." })
      .prompt("arguments", {
        title: "With arguments",
        description: "Two messages made from arguments",
        icons,
        arguments: {
          // Values are strings; required ones are always present.
          language: {
            title: "Language",
            description: "Of the code",
            required: true,
            complete: ["go", "python", "rust"],
          },
          style: {
            title: "Style",
            description: "How to review",
            // Completion can depend on the other arguments.
            complete: (typed, { language }) =>
              (language === "rust" ? ["strict", "pedantic"] : ["strict", "friendly"]).filter((style) =>
                style.startsWith(typed),
              ),
          },
        },
        get: ({ language, style = "friendly" }) => [
          { role: "user", content: { type: "text", text: `Give my ${language} a ${style} review.` } },
          { role: "assistant", content: { type: "text", text: "Show me the code." } },
        ],
      })
      .prompt("content", {
        title: "With content",
        description: "A message for each type of content, embedded resources among them",
        get: () => Object.values(blocks).map((content): PromptMessage => ({ role: "user", content })),
      })
      .prompt("asking", {
        title: "A prompt that asks",
        description: "Asks the user for a topic, if the client can ask",
        async get(_, ctx) {
          if (!ctx.mayAsk("elicitation.form")) return "Write about anything.";
          const answer = await ctx.elicit("topic", { message: "About what?", form: topic });
          return answer.action === "accept" ? `Write about ${answer.content.topic}.` : "Write about anything.";
        },
      })
  );
}
