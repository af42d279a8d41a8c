import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeHome, portolan, runPortolan } from "./kit.ts";

const config = JSON.stringify({
  mcpServers: {
    files: { command: "x" },
    "far.away": { url: "https://example.com/mcp" },
    "$(touch pwned)": { command: "x" },
  },
});

/** A home with two servers and `portolan` on the path. */
function makeMachine() {
  const home = makeHome();
  mkdirSync(join(home, "bin"));
  const program = join(home, "bin/portolan");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${portolan}" "$@"\n`);
  chmodSync(program, 0o755);
  writeFileSync(join(home, ".mcp.json"), config);
  return home;
}

/** What bash makes of the words of a line whose last one is being typed. */
function completeInBash(home: string, ...words: string[]) {
  const program = `eval "$(portolan completion bash)"
COMP_WORDS=(portolan "$@"); COMP_CWORD=$#
_portolan
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", program, "bash", ...words], {
    cwd: home,
    encoding: "utf8",
    env: {
      PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
      HOME: home,
      PORTOLAN_HOME: join(home, ".portolan"),
      LANG: "C.UTF-8",
    },
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter(Boolean);
}

describe("bash completes", () => {
  const home = makeMachine();

  test.each([
    ["commands", ["re"], ["read", "record", "remove", "replay"]],
    ["names of servers", ["call", "f"], ["files", "far.away"]],
    ["every server for an empty word", ["ls", ""], ["files", "far.away"]],
    ["flags of a command", ["new", "--t"], ["--template", "--ts"]],
    ["flags of every command", ["ls", "--j"], ["--json"]],
    ["values of a flag", ["new", "x", "--template", "r"], ["resources"]],
    ["shells", ["completion", "z"], ["zsh"]],
    ["nothing behind the dashes, so that files are proposed", ["call", "--", "n"], []],
    ["nothing for the value of a flag", ["call", "--save", ""], []],
    ["nothing of a command that is not there", ["none", ""], []],
  ])("%s", (_, words, expected) => {
    expect(completeInBash(home, ...words).sort()).toEqual([...expected].sort());
  });

  test("a line in a real terminal", () => {
    const typed = `eval "$(portolan completion bash)"\nportolan ls fi\t--offline-marker\nexit\n`;
    const { stdout } = spawnSync("script", ["-qfec", "bash --norc -i", "/dev/null"], {
      cwd: home,
      encoding: "utf8",
      input: typed,
      env: { PATH: `${join(home, "bin")}:${process.env["PATH"]}`, HOME: home, TERM: "dumb", LANG: "C.UTF-8" },
    });
    expect(stdout).toContain("portolan ls files --offline-marker");
  });
});

test.each(["bash", "zsh", "fish", "powershell"])("there is a script for %s that asks for the words", async (shell) => {
  const { code, stdout } = await runPortolan(["completion", shell], { cwd: makeHome() });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("portolan complete-words --") });
});

describe.each(["zsh", "fish"])("%s", (shell) => {
  const isInstalled = spawnSync(shell, ["--version"]).error === undefined;

  test.skipIf(!isInstalled)(`accepts its script (needs ${shell})`, async () => {
    const { stdout } = await runPortolan(["completion", shell], { cwd: makeHome() });
    const { status, stderr } = spawnSync(shell, ["-n"], { encoding: "utf8", input: stdout });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

test("another shell is a mistake that says which there are", async () => {
  const { code, stderr } = await runPortolan(["completion", "tcsh"], { cwd: makeHome() });
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toContain("bash, zsh, fish, powershell");
});
