// Shared code of the fixture servers, so that one set of checks fits all of them. They print their process id, and
// their exit code if they exit by themselves, on standard error.
import { writeSync } from "node:fs";

writeSync(2, `pid ${process.pid}\n`);
process.on("exit", (code) => writeSync(2, `exit ${code}\n`));

export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const instructions = "One of everything.";
export const levels = ["debug", "info", "warning", "error"];
export const consentUrl = "https://example.com/consent";

export const nameForm = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name" },
    size: { type: "string", enum: ["s", "m", "l"], default: "m" },
  },
  required: ["name"],
};

export const startsWith = (all) => (value) => all.filter((one) => one.toLowerCase().startsWith(value.toLowerCase()));
export const completeName = startsWith(["Ada", "Alan", "Grace"]);
export const completeId = startsWith(["1", "2", "10", "11"]);
/** Completes a tone depending on the name: only Ada has tones. */
export const completeTone = (value, name) => startsWith(name === "Ada" ? ["formal", "friendly"] : [])(value);

export const toQuestion = (text) => ({
  messages: [{ role: "user", content: { type: "text", text: `Summarize: ${text}` } }],
  systemPrompt: "Be brief",
  maxTokens: 50,
});

export const toText = (text) => ({ content: [{ type: "text", text }] });
export const toGreeting = ({ action, content }) =>
  toText(action === "accept" ? `Hello ${content.name}, size ${content.size}` : `no name: ${action}`);
export const toBoth = (first, { content }) => toText(`${first.content.name} / ${content.text}`);
export const toPair = (first, second) => toText(`first ${first.content.name}, second ${second.content.size}`);
export const toVisit = ({ action }) => toText(`visit: ${action}`);
export const toSummary = ({ model, content }) => toText(`${model}: ${content.text}`);
export const toRoots = ({ roots }) => toText(roots.map(({ name, uri }) => `${name} ${uri}`).join("\n"));
export const toMessage = (text) => ({ messages: [{ role: "user", content: { type: "text", text } }] });
export const greet = ({ name, tone }) => toMessage(`Greet ${name}${tone === undefined ? "" : ` in a ${tone} tone`}`);

/** Mixed content whose order must be kept. */
export const mixed = {
  content: [
    { type: "text", text: "first" },
    { type: "image", data: pixel, mimeType: "image/png" },
    { type: "resource", resource: { uri: "note://1", mimeType: "text/plain", text: "Note 1" } },
    { type: "text", text: "last" },
  ],
};

/** Runs until it is cancelled, and notes its start and its abort. */
export function runSlowly(label, signal, note) {
  return new Promise((_, reject) => {
    note(`started ${label}`);
    signal?.addEventListener("abort", () => {
      note(`aborted ${label}`);
      reject(signal.reason);
    });
  });
}

/** Creates a gate for one waiting call: `wait` resolves at `release`. */
export function createGate() {
  let open = () => {};
  return {
    wait: () =>
      new Promise((resolve) => {
        open = resolve;
      }),
    release: () => open(),
  };
}

export function createJournal() {
  const lines = [];
  return { note: (line) => lines.push(line), read: () => lines.join("\n") };
}
