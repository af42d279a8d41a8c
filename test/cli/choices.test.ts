import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { put } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const offering = ["--", process.execPath, join(root, "test/cli/fixtures/offering.mjs")];
const asking = ["--", process.execPath, join(root, "test/cli/asking-server.mjs")];
const prompt = /Your choice, then Enter:$/;
const again = /Please answer with y, s, a, n, N or v\.\n {2}Your choice, then Enter:$/;

/** Opens the question whether a model may call a tool. */
async function openConsent(columns = 100) {
  const cwd = makeHome();
  const terminal = openTerminal(["run", "write text=hello", "--model", "demo", ...offering], { cwd, columns });
  await terminal.see(prompt);
  terminal.mark();
  const grants = async (): Promise<{ allow: boolean }[]> =>
    JSON.parse((await runPortolan(["grants"], { cwd })).stdout).grants;
  return { terminal, grants };
}

describe("a question with choices", () => {
  test("takes no answer from words that begin with, or contain, one of its letters", async () => {
    const { terminal, grants } = await openConsent();
    for (const word of ["cancel", "/grants", "clear", "yes please", "portolan ls always", ""]) {
      terminal.type(`${word}\r`);
      await terminal.see(again);
      terminal.mark();
    }
    terminal.type("n\r");
    expect(await terminal.exited).toBe(6);
    expect(terminal.screen()).not.toContain("✓");
    expect(await grants()).toEqual([]);
  });

  test("decides nothing before Enter, and lets the person correct a letter", async () => {
    const { terminal, grants } = await openConsent();
    terminal.type("a");
    await terminal.see(/a$/);
    terminal.type("\u007fno\r");
    expect(await terminal.exited).toBe(6);
    expect(terminal.screen()).not.toContain("✓");
    expect(await grants()).toEqual([]);
  });

  test.each([
    ["Y", true, []],
    ["Yes", true, []],
    ["once", true, []],
    ["session", true, []],
    ["this session", true, []],
    ["ALWAYS", true, [{ allow: true }]],
    ["no", false, []],
    ["NO", false, []],
    ["Never", false, [{ allow: false }]],
  ])("accepts %s", async (word, isDone, stored) => {
    const { terminal, grants } = await openConsent();
    terminal.type(` ${word} \r`);
    expect(await terminal.exited).toBe(isDone ? 0 : 6);
    expect(terminal.screen().includes("✓")).toBe(isDone);
    expect(await grants()).toMatchObject(stored);
  });

  test("takes a whole word for itself alone, so that the next question is still open", async () => {
    const cwd = makeHome();
    const editor = put(cwd, "editor.sh", "#!/bin/sh\ntouch opened\n");
    const env = { EDITOR: `sh ${editor}` };
    const terminal = openTerminal(["call", "sample", ...asking], { cwd, env });
    await terminal.answer(/N never[\s\S]*then Enter:$/, "yes\r");
    await terminal.answer(/n withhold it\n {2}Your choice, then Enter:$/, "es\r");
    await terminal.answer(/Please answer with y, v, e or n\.\n {2}Your choice, then Enter:$/, "no\r");
    await terminal.see("the user withheld the answer");
    expect(terminal.screen()).not.toContain("editor");
  });

  test.each([
    ["with the sequences of a terminal", "\u001b[200~a\r\u001b[201~\r"],
    ["a line with the sequences of a terminal", "\u001b[200~always\u001b[201~\r"],
    ["without sequences", "a\rportolan ls\r"],
  ])("takes no answer from pasted text: %s", async (_, pasted) => {
    const { terminal, grants } = await openConsent();
    terminal.type(pasted);
    await terminal.answer(/Pasted text does not answer\. Please answer with [\s\S]*then Enter:$/, "n\r");
    expect(await terminal.exited).toBe(6);
    expect(await grants()).toEqual([]);
  });

  test("discards what was typed before it, and the rest of a paste that began before it", async () => {
    const cwd = makeHome();
    const terminal = openTerminal(["call", "sample", ...asking], { cwd });
    terminal.type("y\ryes\r\u001b[200~one\r");
    await terminal.see(/N never[\s\S]*then Enter:$/);
    terminal.type("y\r\u001b[201~\r");
    await terminal.answer(/Pasted text does not answer[\s\S]*then Enter:$/, "no\r");
    await terminal.see("the user said no");
  });

  test("gives up after ten answers that are no choice, and allows nothing", async () => {
    const { terminal, grants } = await openConsent();
    for (let tries = 0; tries < 10; tries += 1) {
      terminal.type("what\r");
      await terminal.see(tries < 9 ? again : "No answer in 10 tries.");
      terminal.mark();
    }
    expect(await terminal.exited).toBe(130);
    expect(terminal.screen()).not.toContain("✓");
    expect(await grants()).toEqual([]);
  });

  test.each([40, 80, 120])("fits into %i columns, with its message", async (columns) => {
    const { terminal } = await openConsent(columns);
    terminal.type("what\r");
    await terminal.see(/Please answer with y, s, a, n, N or v\.\s+Your choice, then Enter:$/);
    expect(terminal.broken()).toEqual([]);
  });

  test("is the same in trust", async () => {
    const cwd = makeHome();
    put(cwd, ".mcp.json", { mcpServers: { time: { command: process.execPath, args: [offering[2] ?? ""] } } });
    const terminal = openTerminal(["trust", "time"], { cwd });
    await terminal.answer(prompt, "yep\r");
    await terminal.answer(/Please answer with y or n\.\n {2}Your choice, then Enter:$/, "yes\r");
    expect(await terminal.exited).toBe(0);
  });
});

test("a server whose trust was revoked is shown as no longer trusted, and an address is connected to", async () => {
  const cwd = makeHome();
  const near = { command: process.execPath, args: [offering[2] ?? ""] };
  put(cwd, ".mcp.json", { mcpServers: { near, far: { url: "http://127.0.0.1:9/mcp" } } });
  await runPortolan(["trust", "near", "--yes"], { cwd });
  await runPortolan(["trust", "near", "--revoke"], { cwd });
  const again = openTerminal(["ls", "near"], { cwd, columns: 120 });
  await again.see(/Server near is no longer trusted\. Its entry is unchanged since \d{4}-[\s\S]*Start it\? Its entry:/);
  const address = openTerminal(["ls", "far"], { cwd });
  await address.see(/New server far\. Connect to it\?/);
  const trusting = openTerminal(["trust", "far"], { cwd });
  await trusting.see(/Allow connections to it, for 90 days\?/);
});

test("a result that is saved does not ask to be saved", async () => {
  const cwd = makeHome();
  const odd = join(root, "test/cli/fixtures/odd.mjs");
  const terminal = openTerminal(["call", "bytes", "--save", "out", "--", process.execPath, odd], { cwd });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/\[image image\/png, 4 B\]/);
  expect(terminal.screen()).toContain("saved out/1.png");
});
