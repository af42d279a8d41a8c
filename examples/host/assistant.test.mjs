// @ts-check
// A test of a host, with a scripted model and real servers.
// Run: node examples/host/assistant.test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedModel } from "portolan-host/models";
import { createAssistant } from "./assistant.mjs";

const notes = fileURLToPath(new URL("../notes/server.mjs", import.meta.url));

test("does not write a note that the user did not approve", async () => {
  const model = scriptedModel([
    { when: { user: "milk" }, call: { name: "notes__add_note", input: { title: "shopping", text: "milk" } } },
    { when: { tool: "notes__add_note", result: "was not approved" }, say: "As you wish." },
  ]);
  /** @type {string[]} */
  const asked = [];
  const host = await createAssistant({
    model,
    servers: { notes: { command: process.execPath, args: [notes] } },
    answers: {
      approve({ action }) {
        asked.push(action.kind === "tool" ? action.tool : action.uri);
        return false;
      },
    },
  });

  const { text } = await host.run("Remind me to buy milk").result;

  assert.equal(text, "As you wish.");
  assert.deepEqual(asked, ["add_note"]);
  model.done();
  await host.close();
});
