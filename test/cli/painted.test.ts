import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const painter = [process.execPath, fileURLToPath(new URL("fixtures/painter.mjs", import.meta.url))];
/** Matches sequences that the command never writes: titles, C1 controls, bidirectional and hidden characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const painted = /\u001b\]|[\u0007\u007f\u0080-\u009f\u200b\u2028\u202e]|\udb40\udc41/;

test("escapes control characters in logs, lists and standard error of a server", async () => {
  const cwd = makeHome();
  const runs = [
    ["call", "log"],
    ["ls", "--json"],
    ["record", "--out", "talk.jsonl"],
  ].map((args) => openTerminal([...args, "--", ...painter], { cwd }));
  const [called, listed, recorded] = runs;
  await called?.see("done");
  await listed?.see("tools");
  await recorded?.answer("words", "\u0003");
  expect(await Promise.all(runs.map(({ exited }) => exited))).toEqual([0, 0, expect.any(Number)]);
  for (const run of runs) expect(run.written()).not.toMatch(painted);
  expect(JSON.parse(listed?.written().replace(/[^{]*/, "") ?? "").tools[0].description).toMatch(painted);
});

test("a field name or tab in a form cannot imitate a line", async () => {
  const terminal = openTerminal(["call", "ask", "--", ...painter], { cwd: makeHome() });
  await terminal.answer(/amount[\s\S]*>$/, "me\r");
  await terminal.answer(/send it/, "n\r");
  await terminal.exited;
  expect(terminal.screen()).toContain(String.raw`│ amount: 5\u{a}  to: "me"`);
  expect(terminal.screen()).toMatch(/^ {2}│ .*forged$/m);
  expect(terminal.written()).not.toMatch(painted);
});

test("records a configured server with the environment of any host", async () => {
  const cwd = makeHome();
  const [command, ...args] = painter;
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { painter: { command, args } } }));
  const options = { cwd, env: { NOT_FOR_SERVERS: "hush" } };
  await runPortolan(["trust", "painter", "--yes"], options);
  expect((await runPortolan(["record", "painter", "--out", "a.jsonl"], options)).stderr).toMatch(/ none\n/);
  const given = await runPortolan(["record", "--out", "b.jsonl", "--", ...painter], options);
  expect(given.stderr).toMatch(/ hush\n/);
});
