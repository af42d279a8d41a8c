// @ts-check
// What the conformance suite wants to find in a server: PORT=3000 npm run --silent conformance:server
import { createServer, live } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { addPrompts } from "./server/prompts.mjs";
import { addQuestions } from "./server/questions.mjs";
import { addResources } from "./server/resources.mjs";
import { addRounds } from "./server/rounds.mjs";
import { addTools } from "./server/tools.mjs";

const parts = [addTools, addQuestions, addRounds, addResources, addPrompts];
const defined = parts.reduce((server, add) => add(server), createServer({ name: "conformance", version: "1.0.0" }));

/** @type {import("portolan/server").LiveServer} */
const server = live(
  defined
    .tool("test_trigger_tool_change", {
      description: "Says that the tools have changed",
      run: () => server.publish("tools/list_changed", {}),
    })
    .tool("test_trigger_prompt_change", {
      description: "Says that the prompts have changed",
      run: () => server.publish("prompts/list_changed", {}),
    }),
);

const { url } = await serveHttp(server).listen(Number(process.env["PORT"] ?? 3000), "localhost");
console.log(`Serving ${url} with Node ${process.version}`);

// npm does not hand on the signal that ends it: the server ends with whoever started it.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(), 500).unref();
