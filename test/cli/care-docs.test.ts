import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fencesOf } from "../docs/markdown.ts";
import { fileOf, notes, put, stateOf } from "./care-kit.ts";
import { makeHome } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

/** What differs from one time to the next. */
function settle(text: string, cwd: string): string {
  return text
    .replaceAll(cwd, "/home/ada/work")
    .replace(/\d{4}-\d\d-\d\d(?= \d\d:|$)/gm, "2026-01-01")
    .replace(/ \d\d:\d\d:\d\d /g, " 12:00:00 ")
    .replace(/\b\d+ ms\b/g, "80 ms")
    .replace(/^( {2})[\da-f]{8}(?= )/gm, "$10a1b2c3d")
    .replace(/head \S+$/gm, "head …")
    .replace(/✓ \d+ entries in \d+ blocks/, "✓ 8 entries in 4 blocks");
}

/** The commands of a session, each with what it shows. */
function commandsIn(session: string): { command: string; shown: string }[] {
  return session
    .split(/^\$ /m)
    .filter(Boolean)
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      return { command, shown: lines.join("\n") };
    });
}

test("the sessions in the guide show what the commands really show", async () => {
  const cwd = await makeHome();
  const stdio = fileOf("packages/portolan/dist/server/stdio.js");
  put(
    cwd,
    "server.mjs",
    `import server from ${JSON.stringify(notes)};\nimport { serveStdio } from ${JSON.stringify(stdio)};\nserveStdio(server);\n`,
  );
  const sessions = fencesOf(readFileSync(fileOf("docs/cli/care.md"), "utf8")).map(({ content }) => content);
  const written = sessions.flatMap(commandsIn);
  expect(written.length).toBeGreaterThan(5);
  for (const { command, shown } of written) {
    const [name, ...args] = (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'(.*)'$/, "$1"));
    expect(name).toBe("portolan");
    const terminal = openTerminal(args, { cwd, columns: 160, env: { PORTOLAN_HOME: stateOf(cwd) } });
    await terminal.exited;
    expect(`$ ${command}\n${settle(terminal.screen(), cwd)}`).toBe(`$ ${command}\n${settle(shown, cwd)}`);
  }
});
