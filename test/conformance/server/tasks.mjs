// @ts-check
// Tools that run as tasks on the stateless revision.
import { setTimeout as sleep } from "node:timers/promises";
import { form, RpcError, ToolError } from "portolan/server";

/** @typedef {import("portolan/server").Server} Server */
/** @typedef {import("portolan/server").Context} Context */

const forms = {
  confirm: form({ type: "object", properties: { confirm: { type: "boolean" } }, required: ["confirm"] }),
  name: form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] }),
};

/** @param {Context} ctx @param {string} key @param {keyof typeof forms} which @param {string} message */
async function ask(ctx, key, which, message) {
  const answer = await ctx.elicit(key, { message, form: forms[which] });
  return answer.action === "accept" ? JSON.stringify(answer.content) : answer.action;
}

/** @param {Server} server @returns {Server} */
export const addTasks = (server) =>
  server
    .tool("greet", { description: "Greets at once", run: ({ name }) => `Hello, ${name}!` })
    .tool("slow_compute", {
      description: "Computes for some seconds",
      task: "optional",
      async run({ seconds, label }, ctx) {
        ctx.status(`Computing ${label}`);
        await sleep(Number(seconds) * 1_000, undefined, { signal: ctx.signal });
        return `Computed ${label}`;
      },
    })
    .tool("failing_job", {
      description: "Fails as a tool",
      task: "required",
      run() {
        throw new ToolError("The job failed");
      },
    })
    .tool("protocol_error_job", {
      description: "Fails with an error of the protocol",
      task: "optional",
      run() {
        throw new RpcError(-32_000, "The job is refused");
      },
    })
    .tool("confirm_delete", {
      description: "Asks before it deletes",
      task: "optional",
      run: async ({ filename }, ctx) => `${filename}: ${await ask(ctx, "confirm", "confirm", "Delete it?")}`,
    })
    .tool("multi_input", {
      description: "Asks two questions at once",
      task: "optional",
      async run(_, ctx) {
        const answers = await Promise.all([
          ask(ctx, "name", "name", "What is your name?"),
          ask(ctx, "confirm", "confirm", "Are you sure?"),
        ]);
        return answers.join(" ");
      },
    })
    .tool("test_tool_with_task", {
      description: "Asks, and then works as a task",
      task: { mode: "required", quickMs: 500 },
      async run(_, ctx) {
        const name = await ask(ctx, "user_name", "name", "What is your name?");
        await sleep(1_000, undefined, { signal: ctx.signal });
        return `Hello, ${name}`;
      },
    });
