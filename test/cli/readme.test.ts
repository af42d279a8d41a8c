import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { captureScreen, settle, textInSvg, textOf, toSvg } from "../../scripts/picture.mjs";
import { environment, makeHome, root } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** Returns the command that the README gives to a user. */
function firstCommand(user: string): string {
  const row = readme.split("\n").find((line) => line.startsWith(`| ${user}`)) ?? "";
  return /\| `([^`]+)` +\|/.exec(row)?.[1] ?? "";
}

/** Types a command in the clone, with an empty home. */
function type(command: string) {
  const home = makeHome();
  return openTerminal(["-c", command], { cwd: root, program: ["sh"], env: environment(home) });
}

test.each([
  ["write a server", /"highs":\[4,6,5\]/],
  ["use servers in a terminal", /^portolan-time 0\.1\.0[\s\S]*now\(zones\?: string\[\]\)/],
  ["build an application", /the model +Your trip to Barcelona is booked[\s\S]*verified: none was changed$/],
])("the first command for a user who wants to %s works in a clone", async (user, shown) => {
  const command = firstCommand(user);
  expect(command).toMatch(/^(npx portolan|node) /);
  const terminal = type(command);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(shown);
});

test("the first command for a user who gives servers to a team serves over HTTP", async () => {
  const terminal = type(firstCommand("give servers to a team"));
  await terminal.answer(/http:\/\/127\.0\.0\.1:\d+\/mcp/, "\u0003");
  await terminal.exited;
});

test("npx portolan --help works in a clone", async () => {
  const child = spawn("npx", ["portolan", "--help"], { cwd: root, env: environment(makeHome()) });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
  expect(stdout).toContain("Usage: portolan");
});

test("the picture in the README shows what npm start shows", async () => {
  expect(readme).toContain("(docs/start.svg)");
  const screen = await captureScreen();
  expect(textInSvg(toSvg(screen))).toBe(textOf(screen));
  const picture = readFileSync(join(root, "docs/start.svg"), "utf8");
  expect(settle(textInSvg(picture)), "npm run picture makes it again").toBe(settle(textOf(screen)));
});
