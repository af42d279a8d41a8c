import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { scriptOf } from "../servers/kit/programs.ts";
import { makeHome, portolan, runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const home = makeHome();
const mark = join(home, "started");

/** An untrusted server in a project file. */
const untrusted = {
  files: { command: process.execPath, args: ["-e", `require("fs").writeFileSync(${JSON.stringify(mark)}, "")`] },
  "far.away": { url: "https://example.com/mcp" },
  "$(touch pwned)": { command: "x" },
  "--json": { command: "x" },
};

beforeAll(async () => {
  mkdirSync(join(home, "bin"));
  const program = join(home, "bin/portolan");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${portolan}" "$@"\n`);
  chmodSync(program, 0o755);
  const start = `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(mark)}, "");\n`;
  writeFileSync(join(home, "server.ts"), start);
  for (const name of ["travel", "everything"]) {
    await runPortolan(["add", name, "--", process.execPath, scriptOf(name)], { cwd: home });
  }
  const file = join(home, ".mcp.json");
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ mcpServers: { ...mcpServers, ...untrusted } }));
});

async function complete(...words: string[]): Promise<string[]> {
  const current = `:${words.pop()}`;
  const { stdout } = await runPortolan(["complete-words", "--", ...words, current], { cwd: home });
  return stdout.split("\n").filter(Boolean);
}

describe("completes with", () => {
  const servers = ["travel", "everything", "files", "far.away"];
  const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

  test.each<[string, string[], string[]]>([
    ["commands", ["re"], ["read", "remove", "record", "replay"]],
    ["flags of the program", ["--v"], ["--version"]],
    ["names of servers", ["call", "f"], ["files", "far.away"]],
    ["names that mean nothing to a shell", ["ls", ""], servers],
    ["servers to trust", ["trust", "f"], ["files", "far.away"]],
    ["servers to remove", ["remove", "t"], ["travel"]],
    ["servers behind a recording", ["replay", "talk.jsonl", "t"], ["travel"]],
    ["servers behind flags", ["call", "--save", "out", "--json", "t"], ["travel"]],
    ["flags of a command", ["new", "--t"], ["--template", "--ts"]],
    ["flags of every command", ["ls", "--j"], ["--json"]],
    ["templates", ["new", "x", "--template", "r"], ["resources"]],
    ["values behind an equals sign", ["new", "x", "--template=r"], ["--template=resources"]],
    ["servers of a chat", ["chat", "--server", "t"], ["travel"]],
    ["models", ["run", "--model", ""], ["demo", "anthropic:", "openai:"]],
    ["levels", ["watch", "travel", "--level", "e"], ["error", "emergency"]],
    ["kinds of entries", ["log", "--kind", "re"], ["result", "resource"]],
    ["revisions", ["check", "--revision", ""], revisions],
    ["eras", ["doctor", "--era", "state"], ["stateless", "stateful"]],
    ["variables of the shell", ["ls", "--env", "PORTOLAN_H"], ["PORTOLAN_HOME"]],
    ["scenarios", ["check", "--only", "handshake/r"], ["handshake/result"]],
    ["shells", ["completion", "z"], ["zsh"]],
    ["kinds of generated files", ["gen", ""], ["ts", "cli", "skill"]],
    ["servers to generate from", ["gen", "ts", "t"], ["travel"]],
    ["servers to keep running", ["up", "files", "t"], ["travel"]],
    ["servers to stop", ["down", "t"], ["travel"]],
    ["products to write to", ["add", "x", "--to", "cu"], ["cursor"]],
    ["products to copy from", ["add", "x", "--from", "cl"], ["claude-code", "claude-desktop", "cline"]],
    ["tools to look at", ["ls", "travel", "fo"], ["forecast"]],
    ["tools to look at behind a dot", ["ls", "travel.fo"], ["travel.forecast"]],
    ["tools", ["call", "travel", "b"], ["book", "bookFlight", "bookHotel"]],
    ["tools behind a dot", ["call", "travel.fo"], ["travel.forecast"]],
    ["arguments of a tool", ["call", "everything", "content", ""], ["kind="]],
    ["arguments of a tool behind a dot", ["call", "everything.content", "k"], ["kind="]],
    ["arguments that were not given", ["call", "everything", "content", "kind=image", ""], []],
    [
      "values of a schema",
      ["call", "everything", "content", "kind=embedded-"],
      ["kind=embedded-text", "kind=embedded-blob"],
    ],
    ["prompts", ["prompt", "travel", ""], ["plan-vacation"]],
    [
      "arguments of a prompt",
      ["prompt", "travel", "plan-vacation", "d"],
      ["destination=", "departure_date=", "duration="],
    ],
    [
      "values from the server",
      ["prompt", "travel", "plan-vacation", "destination=L"],
      ["destination=Lisbon", "destination=London"],
    ],
    ["resources", ["read", "travel", "travel://cal"], ["travel://calendar"]],
    ["resources to watch", ["watch", "travel", "travel://calendar", "travel://cal"], ["travel://calendar"]],
    ["what has arguments to complete", ["complete", "travel", ""], ["plan-vacation"]],
    ["arguments to complete", ["complete", "travel", "plan-vacation", "o"], ["origin"]],
    ["values to complete", ["complete", "travel", "plan-vacation", "destination", "Li"], ["Lisbon"]],
    ["none behind the dashes", ["call", "--", "n"], []],
    ["none for a folder", ["call", "--save", ""], []],
    ["none for a recording", ["replay", ""], []],
    ["none for a file", ["dev", ""], []],
    ["none of a command that is not there", ["none", ""], []],
    ["none behind the last", ["read", "travel", "travel://calendar", ""], []],
  ])("%s", async (_, words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });
});

test("does not start an untrusted server for a completion", async () => {
  expect(await complete("call", "files", "")).toEqual([]);
  expect(await complete("call", "./server.ts", "")).toEqual([]);
  expect(existsSync(mark)).toBe(false);
});

test("leaves out proposals with special characters of a shell", async () => {
  const values = ["fine", "Zürich", "$(touch pwned)", "`x`", "a;b", "a b", "-rf", "a\nb", "a\u202eb", "~root", "*"];
  const cwd = makeProject({
    "hostile.mjs": `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
await serveStdio(createServer({ name: "hostile", version: "1.0.0" })
  .tool("a;b", { run: () => "" })
  .prompt("p", { arguments: { of: { complete: () => ${JSON.stringify(values)} } }, get: () => "" }));
`,
  });
  await runPortolan(["add", "hostile", "--", process.execPath, "hostile.mjs"], { cwd });
  const ask = async (...words: string[]) =>
    (await runPortolan(["complete-words", "--", ...words], { cwd })).stdout.split("\n").filter(Boolean);
  expect(await ask("complete", "hostile", "p", "of", ":")).toEqual(["fine", "Zürich"]);
  expect(await ask("call", "hostile", ":")).toEqual([]);
});

/** How to start each shell without user settings, and its first command. */
const shells: { readonly [shell: string]: { program: readonly string[]; setUp: string } } = {
  bash: { program: ["bash", "--norc", "-i"], setUp: 'eval "$(portolan completion bash)"' },
  zsh: {
    program: ["zsh", "-f", "-i"],
    setUp: 'autoload -U compinit && compinit -u && eval "$(portolan completion zsh)"',
  },
  fish: { program: ["fish", "--no-config", "-i"], setUp: "portolan completion fish | source" },
};

describe.each(Object.entries(shells))("%s", (_, { program, setUp }) => {
  test.each<[string, string, string | RegExp]>([
    ["a command", "portolan rem\t@", "portolan remove @"],
    ["a flag", "portolan new --te\t@", "portolan new --template @"],
    ["a value behind an equals sign", "portolan new --template=re\t@", "portolan new --template=resources @"],
    ["a configured server", "portolan ls fi\t@", "portolan ls files @"],
    ["a tool", "portolan call travel fore\t@", "portolan call travel forecast @"],
    ["a tool behind a dot", "portolan call travel.fore\t@", "portolan call travel.forecast @"],
    [
      "an argument, and its value from the server",
      "portolan prompt travel plan-vacation dest\tLis\t@",
      "portolan prompt travel plan-vacation destination=Lisbon @",
    ],
    ["a resource", "portolan read travel travel://cal\t@", "portolan read travel travel://calendar @"],
    ["a file where nothing else fits", "portolan dev ser\t@", "portolan dev server.ts @"],
    ["another program behind the dashes", "portolan ls -- ./ser\t@", "portolan ls -- ./server.ts @"],
    ["behind another command", "true; portolan ls fi\t@", "true; portolan ls files @"],
    ["in the middle of a line", "portolan ls fi @\u001b[D\u001b[D\t#", /portolan ls files ?#/],
  ])("completes %s", async (_what, typed, shown) => {
    const path = `${join(home, "bin")}:${process.env["PATH"]}`;
    const terminal = openTerminal([], { cwd: home, program, env: { PATH: path } });
    terminal.type(`${setUp}; echo rea""dy\n`);
    await terminal.see(/^ready/m);
    terminal.mark();
    terminal.type(typed);
    await terminal.see(shown);
    // Ctrl-E and Ctrl-U empty the line.
    terminal.type("\u0005\u0015exit\n");
    await terminal.exited;
    expect(existsSync(join(home, "pwned"))).toBe(false);
  });
});

test.skip("powershell completes: it is not among the packages of Debian, so no test can start it", () => {});

test.each(["bash", "zsh", "fish", "powershell"])("prints a script for %s that calls complete-words", async (shell) => {
  const { code, stdout } = await runPortolan(["completion", shell], { cwd: makeHome() });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("portolan complete-words --") });
});

test("refuses an unknown shell and lists the known ones", async () => {
  const { code, stderr } = await runPortolan(["completion", "tcsh"], { cwd: makeHome() });
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toContain("bash, zsh, fish, powershell");
});
