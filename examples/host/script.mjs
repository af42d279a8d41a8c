// @ts-check
// Runs a task with the servers of a configuration file, and asks before it starts a server or changes anything.
// Run: node script.mjs <.mcp.json> <task>
import { createInterface } from "node:readline";
import { createHost, display, displayValue, openActivityFile } from "portolan-host";
import { demoModel } from "portolan-host/models";

const [, , config = ".mcp.json", task = "What can you do?"] = process.argv;
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

/** @param {string} question */
async function confirm(question) {
  process.stderr.write(`${question} [y/N] `);
  const { value = "" } = await lines.next();
  return value.trim().toLowerCase() === "y";
}

const activity = await openActivityFile("activity.ndjson");
const host = await createHost({
  servers: config,
  activity,
  // Needs no account. Real models: openaiCompatible({ … }) and anthropic({ … }) of portolan-host/models.
  model: demoModel(),
  policy: [
    { readOnly: true, then: "allow" },
    { match: "*.delete*", then: "deny", reason: "this program never deletes" },
    { then: "ask" },
  ],
  answers: {
    async trust({ server, subject: { lines, previous } }) {
      const shown = lines.map(({ label, value }) => `  ${label}: ${display(value)}`);
      const changes = (previous?.changes ?? []).map(
        ({ label, before = "none", after = "none" }) => `  ${label}: ${display(before)} → ${display(after)}`,
      );
      const about = changes.length > 0 ? `CHANGED since you trusted it:\n${changes.join("\n")}\nNow` : "New server";
      const allow = await confirm(`${about} "${display(server)}"\n${shown.join("\n")}\nStart it?`);
      // A question of its own: the labels decide which tools run without a question.
      const trustHints = allow && (await confirm("Also believe it which of its tools only read?"));
      return { allow, for: "always", trustHints };
    },
    async approve({ server, action, cautions }) {
      const what =
        action.kind === "tool" ? `${display(action.tool)} ${displayValue(action.args)}` : `read ${display(action.uri)}`;
      const notes = cautions.map(({ kind, from }) => ` (${kind} of ${display(from.join(", "))})`).join("");
      return confirm(`${display(server)}: ${what}${notes}?`);
    },
  },
});

// Asks about new servers before the task begins; the user has ten minutes to decide.
await host.ready({ withinMs: 600_000 });

/** The names of the calls in progress. @type {Map<string, string>} */
const calls = new Map();
for await (const event of host.run(task)) {
  // `display` escapes control characters: no text from a model or a server can control the terminal.
  if (event.type === "text") process.stdout.write(display(event.delta, { lines: "keep" }));
  if (event.type === "notice") console.error(`· ${display(event.text, { lines: "keep" })}`);
  // A call is shown when it ends: until then the terminal may show a question about it.
  if (event.type === "tool" && event.stage === "call") calls.set(event.id, `${event.server}.${event.tool}`);
  if (event.type === "tool" && event.stage === "result") console.error(`⚙ ${display(calls.get(event.id) ?? "")}`);
  if (event.type === "done") console.log(event.reason === "done" ? "" : `\n(${event.reason})`);
}

await host.close();
await activity.close();
terminal.close();
