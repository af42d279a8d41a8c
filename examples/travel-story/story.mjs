// @ts-check
// The travel story: three servers, one host and a scripted model plan and book a vacation. Nothing leaves this machine.
// Run: node examples/travel-story/story.mjs
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHost, display, openActivityFile } from "portolan-host";
import { apps } from "portolan-host/apps";
import { createPlanner, resources } from "./planner.mjs";

/** What the user enters into the form of the booking. */
const decision = { confirmBooking: true, seatPreference: "window", roomType: "sea view", travelInsurance: true };

/**
 * Plays the story in a folder, and tells each step.
 * @param {{ folder: string, era?: import("portolan-host").ServerSettings["era"], tell: (who: string, what: string) => void }} options
 */
export async function playStory({ folder, era, tell }) {
  const activity = await openActivityFile(join(folder, "activity.ndjson"));
  const server = (/** @type {string} */ name, /** @type {string[]} */ ...args) => ({
    command: process.execPath,
    args: [fileURLToPath(new URL(`../../packages/servers/${name}/dist/main.js`, import.meta.url)), ...args],
    ...(era !== undefined && { era }),
  });
  const host = await createHost({
    servers: {
      travel: server("travel", "--step-ms", "0"),
      weather: server("weather"),
      calendar: server("calendar", "--folder", folder),
    },
    activity,
    // The booking is a task, which goes on if the connection is lost. The flights have an app, for hosts with a page.
    tasks: true,
    extensions: [apps()],
    model: createPlanner("script", { skills: true }),
    answers: {
      approve({ server, action }) {
        if (action.kind === "skill") tell("you approve", `the skill ${action.skill.frontmatter.name} of ${server}`);
        if (action.kind === "tool") tell("you approve", `${server}.${action.tool} with ${listed(action.args)}`);
        return true;
      },
      sample(question) {
        if (question.stage === "request") tell("you review", `${question.server} asks your model to compare flights`);
        else tell("you review", "the answer of your model, before the server gets it");
        return true;
      },
      elicit({ server, params }) {
        tell("you fill in", `the form of ${server}: ${params.message}`);
        tell("", listed(decision));
        return { action: "accept", content: decision };
      },
    },
  });
  const changes = host.events({ kinds: ["task"] });
  const telling = (async () => {
    for await (const event of changes) {
      if (event.kind === "task" && event.how !== "changed")
        tell("task", `${event.server}.${event.task.tool} ${event.how}`);
    }
  })();
  try {
    for (const { name, profile } of await host.ready()) tell("server", `${name} speaks ${profile?.version}`);
    const args = {
      ...{ destination: "Barcelona", departure_date: "2024-06-15", return_date: "2024-06-22" },
      ...{ budget: "3000", travelers: "2" },
    };
    tell(
      "you type",
      `/plan-vacation ${Object.entries(args)
        .map((pair) => pair.join("="))
        .join(" ")}`,
    );
    for (const { uri } of resources) tell("you attach", uri);
    for await (const event of host.run({ server: "travel", prompt: "plan-vacation", args }, { attach: resources })) {
      if (event.type === "tool" && event.stage === "result")
        tell("answer", firstLine(event.result.content).replace(join(folder, "/"), ""));
      if (event.type !== "done") continue;
      if (event.error) throw event.error;
      tell("the model", event.text);
    }
    await host.activity.flush();
    const verdict = await host.activity.verify();
    if (!verdict.ok) throw new Error(`The log is damaged: ${JSON.stringify(verdict)}`);
    const files = [...(await readdir(join(folder, "events"))), ...(await readdir(join(folder, "outbox")))];
    tell("files", files.join(", "));
    tell("log", `${verdict.entries} entries, verified: none was changed`);
  } finally {
    await host.close();
    await telling;
    await activity.close();
  }
}

/** @param {object} values */
function listed(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ");
}

/** @param {readonly { type: string, text?: string }[]} content */
function firstLine(content) {
  return content[0]?.text?.split("\n")[0] ?? "";
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = await mkdtemp(join(tmpdir(), "portolan-story-"));
  const tell = (/** @type {string} */ who, /** @type {string} */ what) =>
    console.log(`${who.padEnd(12)} ${display(what)}`);
  try {
    await playStory({ folder, tell });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
