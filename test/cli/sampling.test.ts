import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

const behind = ["--", process.execPath, join(root, "test/cli/asking-server.mjs")];
const request = "N never";
const response = "n withhold it";

function open(options: Partial<PseudoTerminalOptions> = {}) {
  return openTerminal(["call", "sample", ...behind], { cwd: makeHome(), ...options });
}

test("m switches to another model and back", async () => {
  await using provider = await startFakeProvider({ dialect: "openai", turns: [{ say: "Blue." }] });
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" };
  const real = open({ env });
  await real.answer(/fake: about[\s\S]*m another model[\s\S]*N never/, "m\r");
  await real.answer(/model demo \(not a language model\)[\s\S]*N never/, "m\r");
  await real.answer(/model fake\n[\s\S]*N never/, "y\r");
  await real.answer(/will get this answer from fake[\s\S]*Blue\.[\s\S]*n withhold it/, "y\r");
  await real.see('"model":"fake"');
  const other = open({ env });
  await other.answer(request, "m\r");
  await other.answer(/model demo[\s\S]*N never/, "y\r");
  await other.answer(/will get this answer from demo[\s\S]*n withhold it/, "y\r");
  await other.see('"model":"demo"');
  expect(provider.requests).toHaveLength(1);
});

test("offers no other model if there is only one", async () => {
  const terminal = open();
  expect(await terminal.see(request)).not.toContain("another model");
});

test("shows the whole answer and withholds it from the server", async () => {
  const terminal = open();
  await terminal.answer(request, "y\r");
  await terminal.answer(response, "v\r");
  await terminal.answer(/"stopReason"[\s\S]*n withhold it/, "n\r");
  await terminal.see("Sampling was refused: the user withheld the answer");
  expect(terminal.screen()).not.toContain('"role":"assistant","content"');
  expect(await terminal.exited).not.toBe(0);
});

test.each([
  ["\u0003", "the request", 0, "interrupted"],
  ["\u0004", "the request", 0, "Sampling was refused"],
  ["\u0003", "the answer", 1, "interrupted"],
])("%j at %s means no", async (key, _, questions, said) => {
  const terminal = open();
  await terminal.see(request);
  terminal.mark();
  if (questions > 0) {
    terminal.type("y\r");
    await terminal.see(response);
  }
  terminal.type(key);
  await terminal.see(said);
  expect(terminal.screen()).not.toContain("RAW");
});

test("never is stored, listed by grants, and can be revoked", async () => {
  const cwd = makeHome();
  const first = open({ cwd });
  await first.answer(request, "N\r");
  await first.see("Sampling was refused");
  await first.exited;
  const second = open({ cwd });
  await second.see("Sampling was refused");
  await second.exited;
  expect(second.screen()).not.toContain("wants to ask your model");
  const { grants } = JSON.parse((await runPortolan(["grants"], { cwd })).stdout);
  expect(grants).toEqual([expect.objectContaining({ kind: "sampling", allow: false, server: "asking-server" })]);
  expect((await runPortolan(["grants", "--revoke", grants[0].id], { cwd })).code).toBe(0);
  await open({ cwd }).see(request);
});

const message = '"messages": [{ "role": "user", "content": { "type": "text", "text": "Name a\\ntree" } }]';

test("an edit may leave out optional members, a wrong one does not become mandatory, and what it costs is shown again", async () => {
  const cwd = makeHome();
  const editor = join(cwd, "editor.sh");
  const edits = [`{ ${message}, "maxTokens": 7, "foo": 1 }`, `{ ${message}, "maxTokens": 7 }`];
  const script = `if [ -e ${cwd}/once ]; then cat > "$1" <<'END'\n${edits[1]}\nEND\nelse touch ${cwd}/once; cat > "$1" <<'END'\n${edits[0]}\nEND\nfi`;
  await writeFile(editor, `#!/bin/sh\n${script}\n`);
  await chmod(editor, 0o755);
  const terminal = open({ cwd, env: { VISUAL: editor } });
  await terminal.answer(request, "e\r");
  await terminal.answer(/opens \S+editor\.sh; save[\s\S]*Unknown member "foo"[\s\S]*d discard it/, "e\r");
  await terminal.answer(/your edit in, at most 7 out[\s\S]*│ Name a\n {2}│ tree\n[\s\S]*N never/, "v\r");
  const all = await terminal.see(/user\n {2}│ Name a\n {2}│ tree\n[\s\S]*"maxTokens": 7[\s\S]*N never/);
  expect(all).not.toContain("You are brief.");
  terminal.mark();
  terminal.type("n\r");
  await terminal.exited;
});

test.each([
  ["{}", "Missing in the JSON object: messages, maxTokens"],
  ["[]", "Expected a JSON object"],
  ['{ "messages": [], "maxTokens": 1, "systemPrompt": "" }', "messages: expected a list of"],
  ['{ "messages": [{ "role": "user", "content": {} }], "maxTokens": 1, "systemPrompt": "" }', "messages: expected"],
  [
    '{ "messages": [{ "role": "user", "content": { "type": "text", "text": "x" } }], "maxTokens": 0, "systemPrompt": "" }',
    "maxTokens: expected a whole number above zero, got 0",
  ],
  [`{ ${message}, "maxTokens": 99999999 }`, "tokens are left, got 99999999"],
  [`{ ${message}, "maxTokens": 9, "temprature": 1 }`, 'Unknown member "temprature"; did you mean "temperature"?'],
  [`{ ${message}, "maxTokens": 9, "temperature": 9 }`, "temperature: expected a number from 0 to 2, got 9"],
  [
    `{ ${message}, "maxTokens": 9, "modelPreferences": { "costPriority": 7 } }`,
    "modelPreferences.costPriority: expected a number from 0 to 1, got 7",
  ],
])("reports the unusable edit %s, and changes nothing when it is discarded", async (edited, problem) => {
  const cwd = makeHome();
  const editor = join(cwd, "editor.sh");
  await writeFile(editor, `#!/bin/sh\ncat > "$1" <<'END'\n${edited}\nEND\n`);
  await chmod(editor, 0o755);
  const terminal = open({ cwd, env: { VISUAL: editor } });
  await terminal.answer(request, "e\r");
  const shown = await terminal.see("d discard it");
  expect(shown.replace(/\s+/g, " ")).toContain(problem);
  terminal.mark();
  terminal.type("d\r");
  await terminal.answer(request, "n\r");
  await terminal.exited;
});

test.each([
  ["no-such-editor", "The editor no-such-editor cannot be started: set VISUAL to another one"],
  ["false", "The editor false exited with code 1"],
])("says when the editor %s fails", async (editor, problem) => {
  const terminal = open({ env: { VISUAL: editor } });
  await terminal.answer(request, "e\r");
  const shown = await terminal.see("d discard it");
  expect(shown.replace(/\s+/g, " ")).toContain(problem);
  terminal.mark();
  terminal.type("d\r");
  await terminal.answer(request, "n\r");
  await terminal.exited;
});

test("this session covers one chat, and not the next", async () => {
  const cwd = makeHome();
  const args = ["chat", "--model", "demo", ...behind];
  const terminal = openTerminal(args, { cwd });
  for (const isFirst of [true, false]) {
    await terminal.answer(/\n>$/, "sample something\r");
    await terminal.answer(/wants to call \S+\.sample[\s\S]*v view its definition/, "y\r");
    if (isFirst) {
      await terminal.answer(/wants to ask your model[\s\S]*N never/, "s\r");
      await terminal.answer(response, "y\r");
    }
    await terminal.see(/✓[\s\S]*\n>$/);
  }
  expect(terminal.screen().split("wants to ask your model")).toHaveLength(2);
  terminal.type("/quit\r");
  await terminal.exited;
  const { grants } = JSON.parse((await runPortolan(["grants"], { cwd })).stdout);
  expect(grants).toEqual([]);
});
