// @ts-check
// The first steps of a newcomer in the terminal, as a script that prints each step.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createHost, display, openActivityFile } from "portolan-host";
import { demoModel } from "portolan-host/models";
import { playStory } from "../../examples/travel-story/story.mjs";
import { line, row, wrappedRow } from "./screen.mjs";

const wishes = { confirmBooking: true, seatPreference: "window", travelInsurance: false };

/** Lists, calls, consents, answers and verifies; throws if a step has another result than it prints. */
export async function walk(/** @type {import("./sandbox.mjs").Sandbox} */ { folder, home, entries, kv }) {
  const activity = await openActivityFile(join(home, "activity.ndjson"));
  let flight = "";
  const asked = { consent: 0, refused: 0, form: 0, sampling: 0 };
  const host = await createHost({
    servers: entries,
    storage: { kv },
    activity,
    model: demoModel(),
    answers: {
      approve({ server, action }) {
        const what = action.kind === "tool" ? `${action.tool} ${JSON.stringify(action.args)}` : action.uri;
        const allow = action.kind !== "tool" || action.tool !== "remove";
        asked[allow ? "consent" : "refused"] += 1;
        tell("asked you", `may ${server} do ${what}?`, "yellow");
        row("you", [allow ? "yes, once" : "no", "bold"]);
        return allow;
      },
      elicit({ server, params }) {
        asked.form += 1;
        tell("asked you", `${server}: ${params.message}`, "yellow");
        const entered = Object.entries(wishes).map(([name, value]) => `${name}: ${value}`);
        tell("you", `${entered.join(", ")}; send it`, "bold");
        return { action: "accept", content: wishes };
      },
      sample(question) {
        asked.sampling += 1;
        if (question.stage === "request") {
          const { maxTokens } = question.params;
          const cost = `${question.inputTokens} tokens in, at most ${maxTokens} out`;
          tell("asked you", `may ${question.server} ask the model? ${cost}`, "yellow");
          row("you", ["approve", "bold"]);
          return true;
        }
        tell("asked you", `may ${question.server} have this answer? ${wordsOf(question.result.content)}`, "yellow");
        const text = `${flight}: it is the cheapest`;
        row("you", [`edit it: ${text}`, "bold"]);
        return { allow: true, result: { ...question.result, content: { type: "text", text } } };
      },
    },
  });
  try {
    heading("What there is");
    await host.ready({ withinMs: 30_000 });
    for (const { name, state, profile } of host.servers) {
      if (state !== "ready") throw new Error(`${name} is ${state}`);
      const tools = host.catalog.tools.filter((tool) => tool.server === name).map((tool) => tool.name);
      tell(name, `${profile?.version}, ${tools.length} tools: ${tools.join(", ")}`);
    }

    heading("The demo model calls a tool, after you have agreed");
    const date = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
    await say(host, "What's the weather in Lisbon tomorrow?");
    await say(host, "List the files");

    heading("You call one yourself; nobody asks you whether you meant it");
    const route = { origin: "Oslo", destination: "Lisbon", date };
    const found = await host.callTool("travel", "searchFlights", route, { by: "user" });
    flight = /** @type {{ flights: { id: string }[] }} */ (found.structuredContent).flights[0]?.id ?? "";
    tell("called", `travel.searchFlights ${JSON.stringify(route)}`);
    tell("answered", wordsOf(found.content), "green");

    heading("A server asks the model (sampling); you see the question and the answer, and may change both");
    await say(host, `Find the best flight from Oslo to Lisbon on ${date}, cheap`);

    heading("A server asks you (elicitation); what you enter goes to it alone");
    await say(host, `Book flight ${flight} on ${date}`);

    heading("What you refuse is not done");
    await say(host, "Remove shopping.txt");
    const isThere = existsSync(join(folder, "files/shopping.txt"));
    row("still there", [String(isThere), isThere ? "green" : "red"]);

    heading("The travel story: a model plans and books a vacation with three servers");
    const story = join(folder, "story");
    mkdirSync(story);
    await playStory({ folder: story, tell });

    heading("Everything is in the log, sealed");
    await host.activity.flush();
    const verdict = await host.activity.verify();
    const told = verdict.ok
      ? `${verdict.entries} entries, and not one was changed`
      : `damaged: ${JSON.stringify(verdict)}`;
    row("verified", [told, verdict.ok ? "green" : "red"]);
    const isComplete = asked.consent >= 4 && asked.refused === 1 && asked.form === 1 && asked.sampling === 2;
    if (!verdict.ok || !isThere || !isComplete) throw new Error(`not as it should be: ${JSON.stringify(asked)}`);
  } finally {
    await host.close();
    await activity.close();
  }
}

/** Sends a message to the model and prints the events. */
async function say(/** @type {import("portolan-host").Host} */ host, /** @type {string} */ words) {
  tell("you", words, "bold");
  for await (const event of host.run(words)) {
    if (event.type === "tool" && event.stage === "result" && !event.result.isError) row("done", ["by the server"]);
    if (event.type !== "done") continue;
    if (event.error) throw event.error;
    tell("the model", event.text, "green");
  }
}

/** @param {string} text */
function heading(text) {
  line();
  line([`  ${text}`, ["bold", "cyan"]]);
}

/** @param {string} label @param {string} text @param {import("./screen.mjs").Piece[1]} [style] */
function tell(label, text, style) {
  const shown = display(text.replace(/\s+/g, " ").slice(0, 300));
  wrappedRow(label, shown, ...(style ? [style] : []));
}

/** @param {import("portolan").SamplingContent | readonly (import("portolan").SamplingContent | import("portolan").ContentBlock)[]} content */
function wordsOf(content) {
  return [content]
    .flat()
    .map((block) => ("text" in block ? block.text : `[${block.type}]`))
    .join(" ");
}
