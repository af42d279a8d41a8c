import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");
const behind = ["--", process.execPath, asking];
const prompt = /\n>$/;
/** Returns what a terminal with bracketed paste sends. */
const pasted = (text: string) => `\u001b[200~${text}\u001b[201~`;

/** Starts a chat with a model that remembers its messages. */
async function chat(says: number, options: Partial<PseudoTerminalOptions> = {}) {
  const turns = Array.from({ length: says }, (_, at) => ({ say: `Answer ${at + 1}.` }));
  const provider = await startFakeProvider({ dialect: "openai", turns });
  const { env, ...more } = options;
  const terminal = openTerminal(["chat", ...behind], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake", ...env },
    ...more,
  });
  await terminal.see(prompt);
  const said = () =>
    ((provider.requests.at(-1)?.body["messages"] ?? []) as { role: string; content: unknown }[])
      .filter(({ role }) => role === "user")
      .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
  return { terminal, said, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() };
}

test("treats pasted lines as one message that can be edited", async () => {
  await using it = await chat(2);
  const { terminal, said } = it;
  expect(terminal.written()).toContain("\u001b[?2004h");
  terminal.type(pasted("first line\nsecond line\r\n\tthird line\r\n"));
  await terminal.see(/> first line\nsecond line\n +third line$/);
  terminal.type(" and more\r");
  await terminal.answer(/Answer 1\.\n>$/, "again\r");
  await terminal.answer(/Answer 2\.\n>$/, "\u0004");
  expect(await terminal.exited).toBe(0);
  expect(said()).toEqual(["first line\nsecond line\n\tthird line and more", "again"]);
  expect(terminal.written().lastIndexOf("\u001b[?2004l")).toBeGreaterThan(
    terminal.written().lastIndexOf("\u001b[?2004h"),
  );
});

test("inserts pasted text into a line without control characters", async () => {
  await using it = await chat(1);
  const { terminal, said } = it;
  terminal.type("ac\u001b[D");
  terminal.type(pasted("\u001b[2J\u0003\u0004b\u0007"));
  await terminal.see(/> a\[2Jbc$/);
  terminal.type("\r");
  await terminal.answer(/Answer 1\.\n>$/, "/quit\r");
  expect(said()).toEqual(["a[2Jbc"]);
});

test("inserts text at the cursor that a terminal without bracketed paste sends at once", async () => {
  await using it = await chat(1);
  const { terminal, said } = it;
  terminal.type("weather in Lisbon");
  await terminal.see(/> weather in Lisbon$/);
  terminal.type("\u0001");
  terminal.type("Please tell me the ");
  await terminal.see(/> Please tell me the weather in Lisbon$/);
  terminal.type("\r");
  await terminal.answer(/Answer 1\.\n>$/, "/quit\r");
  expect(said()).toEqual(["Please tell me the weather in Lisbon"]);
});

test("shows a large paste by its size, and sends it completely", async () => {
  await using it = await chat(1, { columns: 40, rows: 20 });
  const { terminal, said } = it;
  const text = Array.from({ length: 200 }, (_, at) => `line ${at}`).join("\n");
  terminal.type("look: ");
  terminal.type(pasted(text));
  terminal.type(pasted(` ${"x".repeat(5_000)}`));
  await terminal.see(/> look: \[pasted 1: 200 lines\]\[pasted 2: ?\n5001 characters\]$/);
  terminal.type("\r");
  await terminal.answer(/Answer 1\.\n>$/, "/quit\r");
  expect(said()).toEqual([`look: ${text} ${"x".repeat(5_000)}`]);
});

test.each([
  ["\r", "\r"],
  ["\n", "\n"],
  ["\r\n", "\r\n"],
])("loses no line without bracketed paste: %j", async (end) => {
  await using it = await chat(3, { env: { TERM: "dumb" } });
  const { terminal, said } = it;
  expect(terminal.written()).not.toContain("\u001b");
  terminal.type(["one", "two", "three"].map((line) => line + end).join(""));
  await terminal.answer(/Answer 3\.\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(said()).toEqual(["one", "two", "three"]);
});

test("lines pasted into a chat do not answer questions of a server", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", ...behind], { cwd: makeHome() });
  await terminal.see(prompt);
  terminal.type("order something\ry\rAda\r/tools order\r");
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer(/Your name[\s\S]*>$/, "\u0004");
  // Both reach the model in order.
  await terminal.answer(/> y\n[\s\S]*> Ada\n[\s\S]*> \/tools order\n {2}asking-server\.order[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("accepts keys typed ahead within a form", async () => {
  const terminal = openTerminal(["call", "order", ...behind], { cwd: makeHome() });
  await terminal.answer(/Your name[\s\S]*>$/, "Ada\r\nada@example.com\r\n\r\n\r\n2\r\n\r\n\r\n");
  await terminal.answer("c cancel", "y\r");
  await terminal.see('"name":"Ada","email":"ada@example.com","size":"large","count":2');
  expect(await terminal.exited).toBe(0);
});

test("surplus input for one form does not answer the next", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", ...behind], { cwd: makeHome() });
  for (const lines of ["Ada\r\r\r\r2\r\r\rEve\r", "\u0004"]) {
    await terminal.answer(prompt, "order something\r");
    await terminal.answer("v view its definition", "y\r");
    await terminal.answer(/Your name[\s\S]*>$/, lines);
    if (lines.startsWith("Ada")) await terminal.answer("c cancel", "n\r");
  }
  await terminal.answer(/\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("Eve");
});

test("Ctrl-C leaves a paste without an end", async () => {
  const terminal = openTerminal(["chat", "--model", "demo", ...behind], { cwd: makeHome() });
  await terminal.answer(prompt, "\u001b[200~one\rtwo");
  terminal.type("\u0003");
  await terminal.answer(/press Ctrl-C again to leave\n>$/, "\u0003");
  expect(await terminal.exited).toBe(0);
});
