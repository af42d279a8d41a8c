// @ts-check
// Tools that ask one question, in the way of the client's revision.
import { form } from "portolan/server";
import { askModel } from "./model.mjs";
import { account, choices, defaults } from "./schemas.mjs";

/** @typedef {import("portolan/server").Server} Server */

const accountForm = form(account);
const defaultsForm = form(defaults);
const choicesForm = form(choices);

/** @param {Server} server @returns {Server} */
export const addQuestions = (server) =>
  server
    .tool("test_sampling", {
      description: "Asks the client's model",
      input: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
      run: async ({ prompt }, ctx) => `LLM response: ${await askModel(ctx, "prompt", String(prompt))}`,
    })
    .tool("test_elicitation", {
      description: "Asks the user",
      input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      async run({ message }, ctx) {
        const answer = await ctx.elicit("user", { message: String(message), form: accountForm });
        return `User response: ${JSON.stringify(answer)}`;
      },
    })
    .tool("test_elicitation_sep1034_defaults", {
      description: "Asks with a form that has defaults",
      async run(_, ctx) {
        const answer = await ctx.elicit("defaults", { message: "Please review the values", form: defaultsForm });
        return `Elicitation completed: ${JSON.stringify(answer)}`;
      },
    })
    .tool("test_elicitation_sep1330_enums", {
      description: "Asks with a form that has choices of every kind",
      async run(_, ctx) {
        const answer = await ctx.elicit("choices", { message: "Please choose", form: choicesForm });
        return `Elicitation completed: ${JSON.stringify(answer)}`;
      },
    })
    .tool("test_missing_capability", {
      description: "Needs sampling",
      needs: { sampling: {} },
      run: () => "The client has a model",
    })
    .tool("test_streaming_elicitation", {
      description: "Tells whether it could ask the user, without asking",
      run: (_, ctx) => `The user ${ctx.mayAsk("elicitation.form") ? "could" : "could not"} be asked`,
    });
