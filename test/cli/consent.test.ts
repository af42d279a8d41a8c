import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const behind = ["--model", "demo", "--", process.execPath, join(root, "test/cli/fixtures/offering.mjs")];
const question = "v view its definition";

/** Returns the stored grants and denials. */
async function grantsIn(cwd: string): Promise<{ id: string; kind: string; allow: boolean; subject: string }[]> {
  return JSON.parse((await runPortolan(["grants"], { cwd })).stdout).grants;
}

/** Runs a model that calls the tool once, answers with a key, and returns whether the next run asks. */
async function decide(key: string) {
  const cwd = makeHome();
  const args = ["run", "write text=hello", ...behind];
  const first = openTerminal(args, { cwd });
  await first.answer(question, `${key}\r`);
  expect(await first.exited).toBe(key.toLowerCase() === "n" ? 6 : 0);
  const second = openTerminal(args, { cwd });
  const seen = await second.see(/v view its definition|✓|denied it until/);
  return { cwd, args, isDone: first.screen().includes("✓"), isAskedAgain: seen.includes(question) };
}

test("once allows one call and is not stored", async () => {
  const { cwd, isDone, isAskedAgain } = await decide("y");
  expect({ isDone, isAskedAgain, grants: await grantsIn(cwd) }).toEqual({
    isDone: true,
    isAskedAgain: true,
    grants: [],
  });
});

test("this session allows the calls of a chat until text of a server intervenes, and is not stored", async () => {
  const cwd = makeHome();
  const terminal = openTerminal(["chat", ...behind], { cwd });
  await terminal.answer(/\n>$/, "write text=hello\r");
  await terminal.answer(question, "s\r");
  await terminal.answer(/✓[\s\S]*\n>$/, "write text=hello\r");
  await terminal.answer(
    /You are asked again: when you allowed it, the conversation had no results of offering\.\s+! Caution: results of offering are in this conversation and may have led to this call[\s\S]*v view/,
    "s\r",
  );
  await terminal.answer(/✓[\s\S]*\n>$/, "write text=hello\r");
  await terminal.answer(/✓[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen().split("wants to call offering.write")).toHaveLength(3);
  expect(await grantsIn(cwd)).toEqual([]);
  await openTerminal(["run", "write text=hello", ...behind], { cwd }).see(question);
});

test("always is stored, listed by grants, and asked again after revocation", async () => {
  const { cwd, args, isDone, isAskedAgain } = await decide("a");
  expect({ isDone, isAskedAgain }).toEqual({ isDone: true, isAskedAgain: false });
  const [grant] = await grantsIn(cwd);
  expect(grant).toMatchObject({ kind: "tool", allow: true, subject: "write" });
  const table = openTerminal(["grants"], { cwd });
  await table.see(/allowed +tool write +offering +\d{4}-/);
  await runPortolan(["grants", "--revoke", grant?.id ?? ""], { cwd });
  await openTerminal(args, { cwd }).see(question);
});

test("never is stored, listed by grants, and asked again after revocation", async () => {
  const { cwd, args, isDone, isAskedAgain } = await decide("N");
  expect({ isDone, isAskedAgain }).toEqual({ isDone: false, isAskedAgain: false });
  const [grant] = await grantsIn(cwd);
  expect(grant).toMatchObject({ kind: "tool", allow: false, subject: "write" });
  await runPortolan(["grants", "--revoke", grant?.id ?? ""], { cwd });
  await openTerminal(args, { cwd }).see(question);
});

test("no denies one call and is not stored", async () => {
  const { cwd, isDone, isAskedAgain } = await decide("n");
  expect({ isDone, isAskedAgain, grants: await grantsIn(cwd) }).toEqual({
    isDone: false,
    isAskedAgain: true,
    grants: [],
  });
});

test("cuts long arguments; v shows all of them and the definition", async () => {
  const text = `${"x".repeat(1_500)}THE-END`;
  const terminal = openTerminal(["run", `write text=${text}`, ...behind], { cwd: makeHome(), columns: 60, rows: 20 });
  const shown = await terminal.see(question);
  expect(shown).toMatch(/The model wants to call offering\.write\n {2}│ Writes a text[\s\S]*… 2 more lines/);
  expect(shown).toMatch(/… \d+ more lines; answer v to see them/);
  expect(shown).not.toContain("THE-END");
  expect(shown.slice(shown.indexOf("The model wants to call offering")).split("\n").length).toBeLessThanOrEqual(20);
  terminal.mark();
  terminal.type("v\r");
  const whole = await terminal.see(/inputSchema[\s\S]*v view its definition/);
  expect(whole.replace(/\n {2}│ +/g, "")).toContain(text);
  expect(whole).toContain("from here");
  terminal.type("y\r");
  expect(await terminal.exited).toBe(0);
});
