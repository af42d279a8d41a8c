// @ts-check
// Works on a task with the servers of a configuration file, and asks before it does anything.
// Run: node script.mjs <.mcp.json> <task>
import { createInterface } from "node:readline";
import { createHost, display, displayValue, openActivityFile } from "portolan-host";
import { demo } from "portolan-host/models";

const [, , config = ".mcp.json", task = "What can you do?"] = process.argv;
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

/** @param {string} question */
async function isYes(question) {
  process.stderr.write(`${question} [y/N] `);
  const { value = "" } = await lines.next();
  return value.trim().toLowerCase() === "y";
}

const activity = await openActivityFile("activity.ndjson");
const host = await createHost({
  servers: config,
  activity,
  // Any other model of portolan/models: openaiCompatible({ … }), anthropic({ … }).
  model: demo(),
  policy: [
    { readOnly: true, then: "allow" },
    { match: "*.delete*", then: "deny", reason: "nothing is deleted here" },
    { then: "ask" },
  ],
  answers: {
    async trust({ server, subject }) {
      const shown = subject.lines.map(({ label, value }) => `  ${label}: ${display(value)}`);
      const allow = await isYes(`Start "${display(server)}"?\n${shown.join("\n")}\n`);
      return { allow, for: "always", trustHints: true };
    },
    async approve({ server, action, cautions }) {
      const what =
        action.kind === "tool" ? `${action.tool} ${displayValue(action.args)}` : `read ${display(action.uri)}`;
      const why = cautions.map(({ kind, from }) => ` (${kind} of ${from.join(", ")})`).join("");
      return isYes(`${display(server)}: ${what}${why}?`);
    },
  },
});

for await (const event of host.run(task)) {
  if (event.type === "text") process.stdout.write(event.delta);
  if (event.type === "notice") console.error(`· ${event.text}`);
  if (event.type === "tool" && event.stage === "call") console.error(`⚙ ${event.server}.${event.tool}`);
  if (event.type === "done") console.log(event.reason === "done" ? "" : `\n(${event.reason})`);
}

await host.close();
await activity.close();
terminal.close();
