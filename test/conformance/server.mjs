// @ts-check
// The server that the conformance suite expects: PORT=3000 npm run --silent conformance:server
import { createServer, live } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { skills } from "portolan/server/skills";
import { tasks } from "portolan/server/tasks";
import { addPrompts } from "./server/prompts.mjs";
import { addQuestions } from "./server/questions.mjs";
import { addResources } from "./server/resources.mjs";
import { addRounds } from "./server/rounds.mjs";
import { exampleSkills } from "./server/skills.mjs";
import { addTasks } from "./server/tasks.mjs";
import { addTools } from "./server/tools.mjs";

const parts = [addTools, addQuestions, addRounds, addTasks, addResources, addPrompts];
const defined = parts.reduce(
  (server, add) => add(server),
  createServer({ name: "conformance", version: "1.0.0" }).extend(skills(exampleSkills)).extend(tasks()),
);

/** @type {import("portolan/server").LiveServer} */
const server = live(
  defined
    .tool("test_trigger_tool_change", {
      description: "Announces a change of the tools",
      run: () => server.publish("tools/list_changed", {}),
    })
    .tool("test_trigger_prompt_change", {
      description: "Announces a change of the prompts",
      run: () => server.publish("prompts/list_changed", {}),
    }),
);

const { url } = await serveHttp(server).listen(Number(process.env["PORT"] ?? 3000), "localhost");
console.log(`Serving ${url} with Node ${process.version}`);

// npm does not forward the signal that ends it, so the server exits when its parent process is gone.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(), 500).unref();
