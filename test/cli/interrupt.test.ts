import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

const deaf = join(root, "test/cli/fixtures/deaf.mjs");
const asking = join(root, "test/cli/asking-server.mjs");
const interrupt = "\u0003";

/** A command with a server that hears nothing of what it is asked to stop, and what it was told. */
function withDeaf(args: readonly string[]) {
  const cwd = makeHome();
  const file = join(cwd, "heard");
  const terminal = openTerminal([...args, "--", process.execPath, deaf, file], { cwd });
  const heard = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  return {
    terminal,
    async until(what: string) {
      await vi.waitUntil(() => heard().includes(what), { timeout: 20_000 });
    },
    pids: () => [...heard().matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid)),
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Nothing of it is left: neither a process, nor a terminal that does not show what is typed. */
async function expectGone(terminal: PseudoTerminal, pids: readonly number[]): Promise<void> {
  expect(pids.length).toBeGreaterThan(0);
  await vi.waitUntil(() => !pids.some(isAlive), { timeout: 10_000 });
  expectRestored(terminal);
}

/** What was switched on is off, and what was switched off is on. */
function expectRestored(terminal: PseudoTerminal): void {
  expect(terminal.screen()).not.toContain("RAW");
  const modes = terminal
    .written()
    .split("\u001b[?")
    .map((part) => /^\d+[hl]/.exec(part)?.[0])
    .filter(Boolean);
  if (modes.length > 0) expect(modes.slice(-2)).toEqual(["2004l", "25h"]);
}

test("Ctrl-C cancels a call, which the server is told, and twice leaves a server that does not mind", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("one Ctrl-C is enough in the end, also for a server that does not leave", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.type(interrupt);
  await terminal.see("✗ interrupted");
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C in a run cancels the call, and twice leaves", async () => {
  const { terminal, until, pids } = withDeaf(["run", "wait for it", "--model", "demo"]);
  await terminal.answer("v view its definition", "y");
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C in a chat cancels the call and the chat goes on, and twice leaves", async () => {
  const { terminal, until, pids } = withDeaf(["chat", "--model", "demo"]);
  await terminal.answer(/\n>$/, "wait for it\r");
  await terminal.answer("v view its definition", "y");
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  await terminal.answer(/cancelled; press Ctrl-C again to leave[\s\S]*\n>$/, interrupt);
  await terminal.answer(/press Ctrl-C again to leave\n>$/, interrupt);
  // At the prompt nothing is interrupted.
  expect(await terminal.exited).toBe(0);
  await expectGone(terminal, pids());
});

test("Ctrl-C ends watch at once when it is pressed twice", async () => {
  const { terminal, pids } = withDeaf(["watch"]);
  await terminal.see(/ready/);
  terminal.type(interrupt);
  await vi.waitUntil(() => terminal.screen().includes("^C"));
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C ends a check in the middle of a scenario", async () => {
  const { terminal, until, pids } = withDeaf(["check", "--timeout", "50", "--revision", "2025-06-18"]);
  await until("tools/list");
  terminal.type(interrupt);
  await terminal.see("✗ interrupted");
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C twice leaves a check whose server does not leave", async () => {
  const { terminal, until, pids } = withDeaf(["check", "--timeout", "50", "--revision", "2025-06-18"]);
  await until("tools/list");
  terminal.type(interrupt);
  await vi.waitUntil(() => terminal.screen().includes("^C"));
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("a terminal that is closed takes the program and its servers with it", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.signal("SIGHUP");
  expect(await terminal.exited).toBe(129);
  await expectGone(terminal, pids());
});

test("Ctrl-C leaves a line whose completion does not come", async () => {
  const { terminal, until, pids } = withDeaf(["prompt", "greet"]);
  await terminal.answer(/who \(required\)\n {2}>$/, "A\t");
  await until("completion/complete");
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test.each([
  ["a line", ["prompt", "greet"], /who \(required\)\n {2}>$/],
  ["a key", ["call", "sample"], "N never"],
  ["a chat", ["chat", "--model", "demo"], /\n>$/],
])("whoever ends the program while it waits for %s gets the terminal back as it was", async (_, args, question) => {
  const terminal = openTerminal([...args, "--", process.execPath, asking], { cwd: makeHome() });
  await terminal.see(question);
  terminal.signal("SIGTERM");
  expect(await terminal.exited).toBe(143);
  expectRestored(terminal);
});
