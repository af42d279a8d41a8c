// @ts-check
// The model of `npm start` without an API key: the demo, and a script for the travel story.
import { demoModel } from "portolan-host/models";
import { createPlanner } from "../../examples/travel-story/planner.mjs";

const demo = demoModel();
const planner = createPlanner(demo.id);

/** @type {import("portolan-host/models").Model} */
export default {
  ...demo,
  stream: (request) => (isStory(request.messages) ? planner : demo).stream(request),
};

/** Returns true if the user asked for the story, or a server asks about its flights. */
function isStory(/** @type {readonly import("portolan").SamplingMessage[]} */ messages) {
  const tasks = messages.flatMap(({ role, content }) =>
    role === "user" ? [content].flat().flatMap((block) => (block.type === "text" ? [block.text] : [])) : [],
  );
  return /Barcelona[\s\S]*2024-06-15/.test(tasks.at(-1) ?? "");
}
