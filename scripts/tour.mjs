// @ts-check
// Starts the travel example once for each revision of the protocol, uses it, and shows what was said.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Conversation } from "./tour/conversation.mjs";
import { line, row, table, wrappedRow } from "./tour/screen.mjs";

/** @typedef {import("./tour/conversation.mjs").Call} Call */

const model = { sampling: {} };
const modelAndUser = { sampling: {}, elicitation: {} };
const revisions = [
  { version: "2024-11-05", opening: "initialize", capabilities: model },
  { version: "2025-03-26", opening: "initialize", capabilities: model },
  { version: "2025-06-18", opening: "initialize", capabilities: modelAndUser },
  { version: "2025-11-25", opening: "initialize", capabilities: modelAndUser },
  { version: "2026-07-28", opening: "server/discover", capabilities: modelAndUser },
];
const script = fileURLToPath(new URL("../examples/travel/server.mjs", import.meta.url));

// Whoever reads only the first lines, as `head` does, has seen enough.
process.stdout.on("error", () => process.exit());

try {
  const lines = readFileSync(script, "utf8").trimEnd().split("\n").length;
  line();
  line(["  Portolan", "bold"], ["  one server, five revisions of the Model Context Protocol"]);
  line([`  examples/travel/server.mjs, ${lines} lines, started over stdio for each of them`, "dim"]);
  const summary = [];
  for (const revision of revisions) summary.push(await visit(revision));
  line();
  table(["revision", "opened by", "results", "the model is asked", "the user is asked"], summary);
  line();
  line(
    ["  Next   ", "bold"],
    [`read examples/travel/server.mjs, all ${lines} lines of it; then examples/files and examples/notes`],
  );
  line();
} catch (error) {
  console.error(`tour: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

/** Uses the server on one revision, and returns its row of the summary. */
async function visit(/** @type {(typeof revisions)[number]} */ revision) {
  const conversation = new Conversation(script, revision);
  try {
    const { version, capabilities } = await conversation.open();
    if (version !== revision.version) throw new Error(`asked for ${revision.version}, the server speaks ${version}`);
    line();
    line([`  ${version}`, ["bold", "cyan"]]);
    row("negotiated", [revision.opening, "bold"], [`  →  ${version} with ${capabilities.sort().join(", ")}`]);
    const forecast = await conversation.call("forecast", { city: "Oslo" });
    const choice = await conversation.call("choose_flight", { from: "Oslo", to: "Lisbon", wish: "cheap" });
    const booking = await conversation.call("book_flight", { id: "PT-101" });
    for (const call of [forecast, choice, booking]) show(call);
    expectResult(forecast, true);
    expectResult(choice, true);
    expectResult(booking, "elicitation" in revision.capabilities);
    return [
      version,
      revision.opening,
      forecast.result?.["structuredContent"] ? "text and structured" : "text",
      wayOfAsking(choice),
      wayOfAsking(booking),
    ];
  } finally {
    await conversation.close();
  }
}

/** Prints a call with the questions it asked on the way. */
function show(/** @type {Call} */ { name, args, asked, progress, result, error }) {
  const steps = progress > 0 ? `   ${progress} progress notes` : "";
  row("called", [name, "bold"], [`(${Object.values(args).join(", ")})`], [steps, "dim"]);
  for (const { whom, question, answer } of asked) {
    row("asked", [`the ${whom}`.padEnd(11), "yellow"], [question], ["  →  ", "dim"], [answer, "yellow"]);
  }
  if (error) wrappedRow("refused", `${error["message"]} (error ${error["code"]})`, "magenta");
  else row("answered", [String(result?.["content"]?.[0]?.text), "green"]);
}

function wayOfAsking(/** @type {Call} */ { asked, rounds }) {
  if (asked.length === 0) return "not in this revision";
  return rounds > 1 ? `in results, ${rounds} rounds` : "by requests";
}

/** A revision without elicitation refuses what needs it; everything else succeeds. */
function expectResult(/** @type {Call} */ { name, result, error }, /** @type {boolean} */ succeeds) {
  const came = error?.["message"] ?? result?.["content"]?.[0]?.text;
  const isDone = result !== undefined && result["isError"] !== true;
  if (isDone !== succeeds) throw new Error(`${name}: expected ${succeeds ? "a result" : "a refusal"}, got ${came}`);
}
