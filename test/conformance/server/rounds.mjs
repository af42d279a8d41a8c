// @ts-check
// Tools and a prompt whose questions are `input_required` results on the stateless revision.
import { form } from "portolan/server";
import { askModel } from "./model.mjs";

/** @typedef {import("portolan/server").Server} Server */
/** @typedef {import("portolan/server").Context} Context */

/** @param {Server} server @returns {Server} */
export const addRounds = (server) =>
  server
    .tool("test_input_required_result_elicitation", {
      description: "Asks for a name",
      run: async (_, ctx) => `Hello, ${await askName(ctx)}!`,
    })
    .tool("test_input_required_result_sampling", {
      description: "Asks the model",
      run: (_, ctx) => askModel(ctx, "capital_question", "What is the capital of France?"),
    })
    .tool("test_input_required_result_list_roots", {
      description: "Asks for the roots",
      run: async (_, ctx) => JSON.stringify(await ctx.roots("client_roots")),
    })
    .tool("test_input_required_result_request_state", { description: "Asks for confirmation", run: confirmed })
    .tool("test_input_required_result_tampered_state", {
      description: "Asks for confirmation with a state that the client must not change",
      run: confirmed,
    })
    .tool("test_input_required_result_multiple_inputs", {
      description: "Asks the user, the model and for the roots at once",
      async run(_, ctx) {
        const [name, greeting, roots] = await Promise.all([
          askName(ctx),
          askModel(ctx, "greeting", "How does one greet?"),
          ctx.roots("client_roots"),
        ]);
        return `${greeting}, ${name}, who has ${roots.length} folders`;
      },
    })
    .tool("test_input_required_result_multi_round", {
      description: "Asks two questions, one after the other",
      async run(_, ctx) {
        const first = await ctx.elicit("step1", { message: "What is your name?", form: nameForm });
        const second = await ctx.elicit("step2", { message: "What is your favorite color?", form: colorForm });
        return `The answers: ${JSON.stringify([first, second])}`;
      },
    })
    .tool("test_input_required_result_capabilities", {
      description: "Asks only questions that the client's capabilities allow",
      async run(_, ctx) {
        if (ctx.mayAsk("sampling")) return askModel(ctx, "model", "Who are you?");
        if (ctx.mayAsk("elicitation.form")) return askName(ctx);
        return "The client supports no questions";
      },
    })
    .prompt("test_input_required_result_prompt", {
      description: "Asks for a topic before it returns its messages",
      async get(_, ctx) {
        const answer = await ctx.elicit("user_context", { message: "What is this about?", form: contextForm });
        return `Please help with ${answer.action === "accept" ? answer.content["context"] : "anything"}`;
      },
    });

const nameForm = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });
const colorForm = form({ type: "object", properties: { color: { type: "string" } }, required: ["color"] });
const contextForm = form({ type: "object", properties: { context: { type: "string" } }, required: ["context"] });
const okForm = form({ type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] });

async function askName(/** @type {Context} */ ctx) {
  const answer = await ctx.elicit("user_name", { message: "What is your name?", form: nameForm });
  return answer.action === "accept" ? String(answer.content["name"]) : "stranger";
}

async function confirmed(/** @type {object} */ _, /** @type {Context} */ ctx) {
  const { action } = await ctx.elicit("confirm", { message: "Shall I go on?", form: okForm });
  return action === "accept" ? "state-ok" : ctx.cancelled();
}
