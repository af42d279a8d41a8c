import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const asking = [process.execPath, join(root, "test/cli/asking-server.mjs")];
const offering = [process.execPath, join(root, "test/cli/fixtures/offering.mjs")];
const prompt = /\n>$/;
const question = "v view its definition";

test("/model shows the models and changes to another one", async () => {
  await using provider = await startFakeProvider({ dialect: "openai", turns: [{ say: "Hello from fake." }] });
  const terminal = openTerminal(["chat", "--", ...asking], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "/model\r");
  await terminal.answer(/✓ fake\n {4}demo \(not a language model\)\n {2}change it: \/model <name>\n>$/, "/model d\t");
  await terminal.answer("/model demo", "\r");
  await terminal.answer(/✓ demo \(not a language model\)\n>$/, "hello there\r");
  await terminal.answer(/hello there[\s\S]*\n>$/, "/model openai:fake\r");
  await terminal.answer(/✓ fake\n>$/, "hello again\r");
  await terminal.answer(/Hello from fake\.\n>$/, "/model anthropic:claude-x\r");
  await terminal.answer(
    /✗ usage: claude-x needs an API key; the models here: \/model\n {2}→ Set ANTHROPIC_API_KEY and start again\n>$/,
    "/quit\r",
  );
  expect(await terminal.exited).toBe(0);
  // The conversation goes on with another model.
  expect(JSON.stringify(provider.requests[0]?.body["messages"])).toContain("hello there");
});

test("/clear and /undo change what the model sees, and say which tools were called", async () => {
  const turns = [
    { say: "One." },
    { call: { name: "offering__write", input: { text: "x" } } },
    { say: "Two." },
    { say: "Three." },
    { say: "Four." },
  ];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const terminal = openTerminal(["chat", "--", ...offering], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "/undo\r");
  await terminal.answer(/There is no message to remove\.\n>$/, "first thing\r");
  await terminal.answer(/One\.\n>$/, "second thing\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(/Two\.\n>$/, "/undo\r");
  await terminal.answer(
    /Removed from the conversation: second thing\n {2}What these tools did stays: offering\.write\n>$/,
    "third thing\r",
  );
  await terminal.answer(/Three\.\n>$/, "/clear\r");
  await terminal.answer(/New conversation: the model no longer sees the earlier messages\.\n>$/, "fourth thing\r");
  await terminal.answer(/Four\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const said = provider.requests.map(({ body }) => JSON.stringify(body["messages"]));
  expect(said.at(-2)).toContain("first thing");
  expect(said.at(-2)).not.toContain("second thing");
  expect(said.at(-1)).not.toContain("first thing");
});

test("/grants lists and revokes what was answered, by the name that the answer shows", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...offering], { cwd: makeHome() });
  await terminal.answer(prompt, "/grants\r");
  await terminal.answer(/You have not permanently allowed or denied anything\.\n>$/, "write text=hello\r");
  const shown = await terminal.see(question);
  expect(shown).toContain("a always (90 days)");
  terminal.mark();
  terminal.type("N\r");
  const denied = await terminal.see(
    /denied until \d{4}-\d\d-\d\d; to undo it:\n {2}→ \/grants revoke offering\.write\n[\s\S]*\n>$/,
  );
  const [, step = ""] = /→ (\/grants revoke .*)/.exec(denied) ?? [];
  terminal.mark();
  terminal.type("/undo\r");
  // The call was denied, so nothing stays.
  await terminal.answer(/Removed from the conversation: write text=hello\n>$/, "/grants\r");
  await terminal.answer(/denied +tool write +offering +\d{4}-/, `${step}\r`);
  await terminal.answer(/✓ offering\.write will be asked for again[\s\S]*\n>$/, "write text=hello\r");
  await terminal.answer(question, "s\r");
  await terminal.answer(/✓[\s\S]*\n>$/, "/grants\r");
  await terminal.answer(/allowed +tool write +offering +end of session\n>$/, "/grants revoke nothing\r");
  await terminal.answer(/✗ usage: no grant has the id or name "nothing"\n {2}→ \/grants\n>$/, "/grants delete\r");
  await terminal.answer(/✗ usage: expected \/grants, or \/grants revoke <id or name>[\s\S]*\n>$/, "/grants revoke\r");
  await terminal.answer(/✗ usage: \/grants revoke needs the id or name of[\s\S]*→ \/grants\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("the lines of earlier chats are found with the arrow keys and with Ctrl-R", async () => {
  const cwd = makeHome();
  const args = ["chat", "--model", "demo", "--", ...asking];
  const first = openTerminal(args, { cwd });
  await first.answer(prompt, "alpha one\r");
  await first.answer(/alpha one[\s\S]*\n>$/, "beta two\r");
  await first.answer(/beta two[\s\S]*\n>$/, " gamma secret\r");
  await first.answer(/gamma[\s\S]*\n>$/, "/quit\r");
  await first.exited;
  const file = join(cwd, ".portolan", "chat-history.jsonl");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toBe('"alpha one"\n"beta two"\n"/quit"\n');
  const second = openTerminal(args, { cwd });
  await second.answer(prompt, "\u001b[A\u001b[A");
  await second.answer(/beta two$/, "\u0003");
  // Ctrl-C cleared the line, and did not count as the first of two.
  await second.see(/\n>$/);
  for (const [keys, shown] of [
    ["\u0012", /search :$/],
    ["a", /search a: beta two$/],
    ["\u0012", /search a: alpha one$/],
    ["z", /not found az:$/],
    ["\u007f", /search a: beta two$/],
    ["\u001b", /\n>$/],
    ["\u0012alp", /search alp: alpha one$/],
    ["\u001b[C!", /> alpha one!$/],
  ] as const) {
    second.type(keys);
    await second.see(shown);
  }
  second.type("\r");
  await second.answer(/No tool matches “alpha one!”[\s\S]*\n>$/, "\u0004");
  expect(await second.exited).toBe(0);
});

const answer = `# Plan

Some **bold words** and *soft ones*, \`code here\`, see [the site](https://example.com/x).

- first point that is long enough to need a second line on a narrow screen
  - nested
1. one
2. two

> a remark

| city | high |
| --- | ---: |
| Oslo | 4 |
| Lisbon | 18 |

\`\`\`js
const x = "a **b**";
\`\`\`

---
5 * 3 is 15, and snake_case stays; an open **marker too
`;

test.each([40, 80, 120])("shows Markdown in %i columns without breaking a word", async (columns) => {
  await using provider = await startFakeProvider({ dialect: "openai", turns: [{ say: answer }] });
  const terminal = openTerminal(["chat", "--", ...asking], {
    cwd: makeHome(),
    columns,
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "plan it\r");
  const shown = await terminal.see(/marker too\n>$/);
  expect(terminal.broken()).toEqual([]);
  expect(shown.replace(/\s+/g, " ")).toContain(
    'Plan Some bold words and soft ones, code here, see the site (https://example.com/x). • first point that is long enough to need a second line on a narrow screen • nested 1. one 2. two │ a remark city high Oslo 4 Lisbon 18 const x = "a **b**"; ',
  );
  expect(shown).toMatch(/\n {2}city {4}high\n {2}Oslo {4}4\n {2}Lisbon {2}18\n/);
  expect(shown).toMatch(/\n {2}const x/);
  expect(shown.replace(/\s+/g, " ")).toContain("5 * 3 is 15, and snake_case stays; an open **marker too");
  expect(terminal.written()).toContain("\u001b[1mbold");
  terminal.type("/quit\r");
  await terminal.exited;
});

test("the text before a tool call is complete when the question comes", async () => {
  const call = { name: "offering__write", input: { text: "x" } };
  const turns = [{ say: "I will **write it** now.", call }, { say: "Written." }];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const terminal = openTerminal(["chat", "--", ...offering], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "write something\r");
  await terminal.answer(/I will write it now\.\n\n◆ The model wants to call offering\.write[\s\S]*v view/, "y\r");
  await terminal.answer(/⚙ offering\.write[\s\S]*✓ 1\nWritten\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("/tools and /log show one entry whole", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...asking], { cwd: makeHome(), columns: 60 });
  await terminal.answer(/\n>$/, "/tools paint\r");
  await terminal.answer(/asking-server\.paint\n[\s\S]*"inputSchema": \{[\s\S]*\n>$/, "/log\r");
  await terminal.answer(/\/log\n {2}none\n>$/, 'paint colour=red coats=1 {"room":1}\r');
  await terminal.answer(/then Enter:$/, "y\r");
  await terminal.answer(/✓[\s\S]*\n>$/, "/log\r");
  const listed = await terminal.see(/\n {2}[ \d]\d \d\d:\d\d:\d\d call[\s\S]*\n>$/);
  const [, number = ""] = /(\d+) \d\d:\d\d:\d\d call +asking-server\.paint/.exec(listed) ?? [];
  terminal.mark();
  // A search shows the number that the entry has, and it keeps it.
  terminal.type("/log coats\r");
  await terminal.answer(new RegExp(`\\n {2}[ \\d]*\\b${number} \\d\\d:\\d\\d:\\d\\d call[\\s\\S]*\\n>$`), "/servers\r");
  await terminal.answer(/asking-server ready[\s\S]*\n>$/, `/log ${number}\r`);
  const entry = await terminal.see(/"kind": "call"[\s\S]*\n>$/);
  expect(entry).toMatch(new RegExp(`"seq": ${number},`));
  terminal.mark();
  terminal.type("/log 999\r");
  await terminal.answer(/the log has no entry 999\n {2}→ \/log\n>$/, "hum a tune\r");
  await terminal.answer(/No tool matches[\s\S]*\n {2}→ \/tools\n>$/, "/model gpt\r");
  await terminal.answer(
    /no API key is set for the model "gpt"[\s\S]*→ Set OPENAI_API_KEY and start again\n>$/,
    "/quit\r",
  );
  expect(await terminal.exited).toBe(0);
});

test("an invalid edit of a sampling request is kept for the next edit", async () => {
  const cwd = makeHome();
  const editor = join(cwd, "editor.sh");
  // The first time it breaks the JSON; the second time it repairs what it finds.
  const program = `#!/bin/sh\nif grep -q BROKEN "$1"; then sed -i 's/BROKEN//; s/a colour/a tree/' "$1"; else echo BROKEN >> "$1"; fi\n`;
  writeFileSync(editor, program);
  chmodSync(editor, 0o755);
  const terminal = openTerminal(["call", "sample", "--", ...asking], { cwd, env: { VISUAL: editor } });
  await terminal.answer("N never", "e\r");
  await terminal.answer(/! Line \d+: [\s\S]*Your edit is\s+kept, and nothing was\s+sent\.[\s\S]*d discard it/, "e\r");
  await terminal.answer(/Name a tree[\s\S]*N never/, "n\r");
  await terminal.exited;
});

test("Ctrl-C at a question of a chat cancels the whole answer", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...offering], { cwd: makeHome() });
  await terminal.answer(prompt, "write text=hello\r");
  await terminal.answer(question, "\u0003");
  await terminal.answer(/cancelled\n>$/, "\u0003");
  await terminal.answer(/press Ctrl-C again to leave\n>$/, "\u0003");
  expect(await terminal.exited).toBe(0);
});

test("Ctrl-C at an argument of a prompt goes back to the prompt", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...asking], { cwd: makeHome() });
  await terminal.answer(prompt, "/greet\r");
  await terminal.answer(/who \(required\)\n {2}>$/, "\u0003");
  await terminal.answer(/\ncancelled\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("a long result is folded with its count, and /result shows all of it", async () => {
  const cwd = makeHome();
  writeFileSync(
    join(cwd, "long.mjs"),
    `import { createServer } from ${JSON.stringify(join(root, "packages/portolan/dist/server/index.js"))};
export default createServer({ name: "long", version: "1.0.0" })
  .tool("count", { run: () => Array.from({ length: 40 }, (_, at) => "line " + (at + 1)).join("\\n") })
  .tool("wide", { run: () => "x".repeat(500) + "END" });`,
  );
  const turnsOf = (name: string) => [{ call: { name: `long__${name}`, input: {} } }, { say: "Done." }];
  const turns = [...turnsOf("count"), ...turnsOf("wide"), ...turnsOf("count")];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const env = { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" };
  const terminal = openTerminal(["chat", "--server", "./long.mjs"], { cwd, env });
  await terminal.answer(prompt, "/result\r");
  await terminal.answer(/No tool was called yet\.\n>$/, "count please\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(
    /✓ line 1\n {4}line 2\n {4}line 3\n {4}… 37 more lines; \/result shows all\nDone\.\n>$/,
    "/result\r",
  );
  await terminal.answer(/line 40\n>$/, "wide please\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(/… 3 more lines; \/result shows all\nDone\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const alone = openTerminal(["run", "count please", "--allow", "long.*", "--server", "./long.mjs"], { cwd, env });
  expect(await alone.exited).toBe(0);
  expect(alone.screen()).toMatch(/… 37 more lines\nDone\./);
});

test("a call that was denied does not look as if it ran, and a stored no says how to revoke it", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...offering], { cwd: makeHome() });
  await terminal.answer(prompt, "write text=hello\r");
  await terminal.answer(question, "n\r");
  await terminal.answer(/offering\.write was not approved by the user\.\n>$/, "write text=hello\r");
  await terminal.answer(question, "N\r");
  await terminal.answer(
    /→ \/grants revoke offering\.write\noffering\.write was not approved by the user\.\n>$/,
    "write text=hello\r",
  );
  const shown = await terminal.see(
    /offering\.write is not allowed: the user denied it until \d{4}-\d\d-\d\d\.\n {2}→ \/grants revoke offering\.write\n>$/,
  );
  const [step = ""] = /\/grants revoke .*/.exec(shown.slice(shown.lastIndexOf("→"))) ?? [];
  expect(terminal.screen()).not.toContain("⚙");
  terminal.mark();
  terminal.type(`${step}\r`);
  await terminal.answer(/will be asked for again\n>$/, "write text=hello\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(/⚙ offering\.write \{"text":"hello"\}\n {2}✓[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("/result after /clear says why there is none", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...offering], { cwd: makeHome() });
  await terminal.answer(prompt, "write text=hello\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(/✓[\s\S]*\n>$/, "/clear\r");
  await terminal.answer(/New conversation[\s\S]*\n>$/, "/result\r");
  await terminal.answer(/No tool was called since \/clear\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("the demo says how to see the rest of a long result", async () => {
  const cwd = makeHome();
  writeFileSync(
    join(cwd, "long.mjs"),
    `import { createServer } from ${JSON.stringify(join(root, "packages/portolan/dist/server/index.js"))};
export default createServer({ name: "long", version: "1.0.0" })
  .tool("count", { run: () => Array.from({ length: 300 }, (_, at) => "line " + (at + 1)).join("\\n") })
  .prompt("trip", {
    description: "Plans a trip with the flights, the hotels and the weather of a whole week in a city",
    arguments: { city: { required: true }, days: {} },
    get: ({ city }) => [{ role: "user", content: { type: "text", text: city } }],
  });`,
  );
  const terminal = openTerminal(["chat", "--model", "demo", "--server", "./long.mjs"], { cwd, columns: 60 });
  await terminal.answer(prompt, "count\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(
    /line 1\n[\s\S]*… \(the rest is not repeated here\)\n {2}→ \/result shows all\n>$/,
    "/result\r",
  );
  await terminal.answer(/line 300\n>$/, "/prompts\r");
  // What does not fit beside it stands below it, and nothing is cut off.
  await terminal.answer(
    /\/trip city=… \[days=…\]\n {4}long: Plans a trip with the flights, the hotels and the\n {4}weather of a whole week in a city\n>$/,
    "/trip Rome nonsense=1\r",
  );
  await terminal.answer(
    /unknown argument nonsense; the prompt has city\s+\(required\), days\n {2}→ \/prompts\n>$/,
    "/quit\r",
  );
  expect(await terminal.exited).toBe(0);
});

test("a line that was typed while a call ran is not lost without a sign", async () => {
  const cwd = makeHome();
  writeFileSync(
    join(cwd, "slow.mjs"),
    `import { existsSync, watch } from "node:fs";
import { createServer } from ${JSON.stringify(join(root, "packages/portolan/dist/server/index.js"))};
const isReady = () => existsSync(${JSON.stringify(join(cwd, "ready"))});
const ready = new Promise((resolve) => watch(${JSON.stringify(cwd)}, () => isReady() && resolve()));
export default createServer({ name: "slow", version: "1.0.0" })
  .tool("first_step", { run: () => ready.then(() => "one") })
  .tool("second_step", { run: () => "two" });`,
  );
  const terminal = openTerminal(["chat", "--model", "demo", "--server", "./slow.mjs"], { cwd });
  await terminal.answer(prompt, "first step then second step\r");
  await terminal.answer(question, "y\r");
  await terminal.answer(/⚙ slow\.first_step[\s\S]*waiting for slow\.first_step/, "and another thing\r");
  await terminal.see("and another thing");
  writeFileSync(join(cwd, "ready"), "");
  await terminal.answer(/not used, because it was typed before this question: and another thing[\s\S]*Enter:/, "y\r");
  await terminal.answer(/two\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("servers that the person does not trust are named once, and not again before the first answer", async () => {
  const cwd = makeHome();
  const [command, ...args] = offering;
  const servers = Object.fromEntries(["one", "two", "three"].map((name) => [name, { command, args }]));
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  const terminal = openTerminal(["chat", "--model", "demo"], { cwd });
  await terminal.answer(/New server one[\s\S]*Enter:/, "n\r");
  await terminal.answer(/New server two[\s\S]*Enter:/, "n\r");
  await terminal.answer(/New server three[\s\S]*Enter:/, "y\r");
  await terminal.answer(
    /with three\n {2}one and two are not trusted, so they are not used\n {2}→ portolan trust one\n[\s\S]*\n>$/,
    "hum a tune\r",
  );
  await terminal.answer(/hum a tune\nNo tool matches[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen().match(/not trusted/g)).toHaveLength(1);
});

test("the demo points to /tools when it explains the tools instead of answering, and only then", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", "--", ...asking], { cwd: makeHome() });
  await terminal.answer(prompt, "hum a tune\r");
  await terminal.answer(/No tool matches [\s\S]*\n {2}→ \/tools\n>$/, "hello\r");
  await terminal.answer(/The demo compares your words [\s\S]*\n {2}→ \/tools\n>$/, "paint\r");
  const answer = await terminal.see(/I would call [\s\S]*\n>$/);
  expect(answer).not.toContain("→ /tools");
  terminal.type("/quit\r");
  expect(await terminal.exited).toBe(0);
});
