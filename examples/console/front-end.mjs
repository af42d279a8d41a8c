// @ts-check
// Another front end for the console: sends one message to the model, asks in the terminal, and prints what happens.
// Run: portolan console --no-open, then node front-end.mjs <the address that it prints> <message>
import { createInterface } from "node:readline";

const [, , address = "", message = "What time is it?"] = process.argv;
const { origin, hash } = new URL(address);
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

/** Headers that a browser sends by itself are sent by hand; the console refuses requests without them. */
const headers = /** @type {Record<string, string>} */ ({
  Origin: origin,
  "Sec-Fetch-Site": "same-origin",
  "Portolan-Api": "1",
  "Content-Type": "application/json",
});

/** @param {string} verb @param {object} takes */
async function send(verb, takes) {
  const response = await fetch(`${origin}/api/${verb}`, { method: "POST", headers, body: JSON.stringify(takes) });
  const reply = await response.json();
  if (!response.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply;
}

/** A verb that changes something has a UUID: sent again with the same one, it gives the same reply and does nothing. */
const change = (/** @type {string} */ verb, takes = {}) => send(verb, { ...takes, request: crypto.randomUUID() });

/** Reads the events. Each has an id; `Last-Event-ID` with the last one would continue there. */
async function* readEvents() {
  const response = await fetch(`${origin}/api/events`, { headers });
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

// region question
/** @param {any} question */
async function ask({ id, digest, kind, server, action }) {
  if (kind !== "approve") return;
  process.stderr.write(`${server}: ${JSON.stringify(action.tool)} ${JSON.stringify(action.args)}? [y/N] `);
  const { value = "" } = await lines.next();
  // The digest is that of what was shown: an answer never counts for another question.
  await change("answer", { id, digest, answer: { allow: value.trim() === "y" } });
}
// endregion

// region session
// The token of the address is exchanged for a session, once.
const launch = new URLSearchParams(hash.slice(1)).get("launch");
headers["Portolan-Session"] = (await send("hello", { launch })).session;
// endregion

const conversation = await change("conversation.create");
let isSent = false;
for await (const event of readEvents()) {
  if (event.kind === "reset") {
    const names = event.state.servers.map((/** @type {{ name: string }} */ { name }) => name);
    console.log(`servers: ${names.join(", ")}`);
  }
  if (!isSent) {
    isSent = true;
    await change("conversation.send", { id: conversation.id, text: message });
  }
  if (event.kind === "question") await ask(event.question);
  if (event.kind === "block" && event.block.kind === "text") process.stdout.write(event.block.text);
  if (event.kind === "delta") process.stdout.write(event.delta);
  if (event.kind === "call" && event.call.end) console.log(`\n${event.call.tool}: ${event.call.end.how}`);
  if (event.kind === "conversation" && event.conversation.id === conversation.id) {
    const { blocks } = await send("conversation.blocks", conversation);
    if (event.conversation.state === "idle" && blocks.length > 1) break;
  }
}
console.log();
terminal.close();
process.exit();
