import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { fencesOf } from "../docs/markdown.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

/** Replaces values that differ each time. */
function settle(text: string, cwd: string): string {
  return text
    .replaceAll(cwd, "/home/ada/work")
    .replace(/\d{4}-\d\d-\d\d(?= \d\d:|$)/gm, "2026-01-01")
    .replace(/ \d\d:\d\d:\d\d /g, " 12:00:00 ")
    .replace(/\b\d+ ms\b/g, "80 ms")
    .replace(/^( {2})[\da-f]{8}(?= )/gm, "$10a1b2c3d")
    .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, "0a1b2c3d-0000-4000-8000-000000000000")
    .replace(/head \S+$/gm, "head …")
    .replace(/✓ \d+ entries in \d+ blocks/, "✓ 8 entries in 4 blocks");
}

/** Returns the commands of a session with their output. */
function commandsIn(session: string): { command: string; shown: string }[] {
  return session
    .split(/^\$ /m)
    .filter(Boolean)
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      return { command, shown: lines.join("\n") };
    });
}

/** Runs every command that a guide shows and compares the output. Returns their number. */
export async function runSessions(guide: string, options: PseudoTerminalOptions): Promise<number> {
  const sessions = fencesOf(readFileSync(guide, "utf8"))
    .map(({ content }) => content)
    .filter((content) => content.startsWith("$ "));
  const written = sessions.flatMap(commandsIn);
  for (const { command, shown } of written) {
    const [name, ...args] = (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/, "$1"));
    expect(name).toBe("portolan");
    const terminal = openTerminal(args, options);
    await terminal.exited;
    const { cwd } = options;
    expect(`$ ${command}\n${settle(terminal.screen(), cwd)}`).toBe(`$ ${command}\n${settle(shown, cwd)}`);
  }
  return written.length;
}
