import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeHome, root } from "./kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

const deaf = join(root, "test/cli/fixtures/deaf.mjs");
const asking = join(root, "test/cli/asking-server.mjs");
const interrupt = "\u0003";

/** Starts a command with a server that ignores requests to stop, and what the server received. */
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

/** Checks that no process is left and that the terminal echoes again. */
async function expectGone(terminal: PseudoTerminal, pids: readonly number[]): Promise<void> {
  expect(pids.length).toBeGreaterThan(0);
  await vi.waitUntil(() => !pids.some(isAlive), { timeout: 10_000 });
  expectRestored(terminal);
}

/** Checks that the terminal modes are restored. */
function expectRestored(terminal: PseudoTerminal): void {
  expect(terminal.screen()).not.toContain("RAW");
  const modes = terminal
    .written()
    .split("\u001b[?")
    .map((part) => /^\d+[hl]/.exec(part)?.[0])
    .filter(Boolean);
  if (modes.length > 0) expect(modes.slice(-2)).toEqual(["2004l", "25h"]);
}

test("Ctrl-C cancels a call and notifies the server; twice leaves a server that ignores it", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("one Ctrl-C ends the program even if the server does not exit", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.type(interrupt);
  await terminal.see("✗ interrupted");
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C in a run cancels the call; twice leaves", async () => {
  const { terminal, until, pids } = withDeaf(["run", "wait for it", "--model", "demo"]);
  await terminal.answer("v view its definition", "y\r");
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("Ctrl-C in a chat cancels the call and the chat continues; twice leaves", async () => {
  const { terminal, until, pids } = withDeaf(["chat", "--model", "demo"]);
  await terminal.answer(/\n>$/, "wait for it\r");
  await terminal.answer("v view its definition", "y\r");
  await until("tools/call");
  terminal.type(interrupt);
  await until("notifications/cancelled");
  await terminal.answer(/\ncancelled\n>$/, interrupt);
  await terminal.answer(/press Ctrl-C again to leave\n>$/, interrupt);
  // At the prompt there is nothing to interrupt.
  expect(await terminal.exited).toBe(0);
  await expectGone(terminal, pids());
});

test.each([["ls"], ["serve", "--http", "0"], ["gen", "ts"]])(
  "Ctrl-C while a server starts ends %s with 130",
  async (...args) => {
    const hangs = ["--", process.execPath, "-e", "process.stdin.resume()"];
    const terminal = openTerminal([...args, ...hangs], { cwd: makeHome() });
    await terminal.answer(/starting node/, interrupt);
    expect(await terminal.exited).toBe(130);
    expect(terminal.screen()).toMatch(/✗ interrupted$/);
  },
);

test("Ctrl-C twice ends watch at once", async () => {
  const { terminal, pids } = withDeaf(["watch"]);
  await terminal.see(/ready/);
  terminal.type(interrupt);
  // The progress line may already have replaced the echo on the screen.
  await vi.waitUntil(() => terminal.written().includes("^C"));
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

test("Ctrl-C twice leaves a check whose server does not exit", async () => {
  const { terminal, until, pids } = withDeaf(["check", "--timeout", "50", "--revision", "2025-06-18"]);
  await until("tools/list");
  terminal.type(interrupt);
  // The progress line may already have replaced the echo on the screen.
  await vi.waitUntil(() => terminal.written().includes("^C"));
  terminal.type(interrupt);
  expect(await terminal.exited).toBe(130);
  await expectGone(terminal, pids());
});

test("closing the terminal ends the program and its servers", async () => {
  const { terminal, until, pids } = withDeaf(["call", "wait"]);
  await until("tools/call");
  terminal.signal("SIGHUP");
  expect(await terminal.exited).toBe(129);
  await expectGone(terminal, pids());
});

test("Ctrl-C leaves a line with a pending completion", async () => {
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
])("restores the terminal when the program is killed while it waits for %s", async (_, args, question) => {
  const terminal = openTerminal([...args, "--", process.execPath, asking], { cwd: makeHome() });
  await terminal.see(question);
  terminal.signal("SIGTERM");
  expect(await terminal.exited).toBe(143);
  expectRestored(terminal);
});
