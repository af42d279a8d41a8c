// A server on standard input and output with so many tools as the variable TOOLS says (default: 10), and one that sends log
// messages as fast as it is told.
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

const verbs = ["create", "read", "update", "delete", "list", "search", "export", "import", "share", "archive"];
const things = ["invoice", "issue", "branch", "message", "calendar", "contact", "photo", "report", "ticket", "note"];

let server = createServer({ name: "many", version: "1.0.0" }, { pageSize: 5_000 });
const tools = Number(process.env.TOOLS ?? 10);
for (let number = 0; number < tools - 1; number += 1) {
  const verb = verbs[number % 10];
  const thing = things[Math.floor(number / 10) % 10];
  server = server.tool(`${verb}_${thing}_${Math.floor(number / 100)}`, {
    description: `Does ${verb} one ${thing} of an account, and says what has become of it`,
    annotations: { readOnlyHint: verb === "read" || verb === "list" || verb === "search" },
    input: {
      type: "object",
      properties: { id: { type: "string" }, note: { type: "string" }, count: { type: "integer", minimum: 0 } },
      required: ["id"],
    },
    run: ({ id }) => `done ${id}`,
  });
}

serveStdio(
  server.tool("flood", {
    description: "Sends log messages: so many in all, and so many in a second",
    input: {
      type: "object",
      properties: { count: { type: "integer" }, perSecond: { type: "integer" } },
      required: ["count", "perSecond"],
    },
    async run({ count, perSecond }, ctx) {
      const perTurn = Math.max(1, Math.round(perSecond / 50));
      for (let sent = 0; sent < count; ) {
        for (let turn = 0; turn < perTurn && sent < count; turn += 1, sent += 1) {
          ctx.log("info", { sent, text: "a message like many others, with some words in it" }, "flood");
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return `sent ${count}`;
    },
  }),
);
