import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  maxConversationChars,
  maxConversations,
  maxDetailChars,
  maxRecordings,
  maxRunningCalls,
  maxSpoolBytes,
} from "../../packages/console/src/server/limits.ts";
import { grantTtlMs } from "../../packages/host/src/limits.ts";
import { environment, makeHome, portolan, root, runPortolan } from "../cli/kit.ts";
import { notes, put } from "../cli/manage-kit.ts";
import { openTerminal } from "../cli/pseudo-terminal.ts";
import { fencesOf, listFiles } from "./markdown.ts";

const page = readFileSync(join(root, "docs/console.md"), "utf8");
const commands = fencesOf(page)
  .filter(({ runBy }) => runBy === "test/docs/console.test.ts")
  .flatMap(({ content }) => content.split("\n"));
const app = listFiles(".tsx")
  .filter((path) => path.startsWith("packages/console/src/app/"))
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");

test.each(commands.filter((line) => line.startsWith("portolan console")))("%s prints an address", async (line) => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { files: { command: process.execPath, args: [notes] } } });
  writeFileSync(join(cwd, "server.js"), `await import(${JSON.stringify(notes)});\n`);
  symlinkSync(join(root, "examples/hello/server.mjs"), join(cwd, "server.ts"));
  const program = ["sh", "-c", `exec "$0" '${portolan}' ${line.replace(/^portolan /, "")}`, process.execPath];
  const terminal = openTerminal([], { cwd, program, env: environment(cwd), columns: 200 });
  onTestFinished(() => terminal.type("\u0003"));
  expect(await terminal.see(/press Ctrl-C to stop/)).toMatch(/console {2}http:\/\/127\.0\.0\.1:\d+\/#launch=\S+/);
  terminal.type("\u0003");
  expect(await terminal.exited).toBe(0);
});

test("portolan test runs the saved calls of a project", async () => {
  expect(commands).toContain("portolan test");
  const cwd = dirname(dirname(join(root, "examples/saved-calls/.portolan/calls.json")));
  const home = makeHome();
  const { code } = await runPortolan(["test"], { cwd, env: { HOME: home, PORTOLAN_HOME: join(home, "state") } });
  expect(code).toBe(0);
});

test("every button and tab that the page names is in the console", () => {
  const named = [...page.matchAll(/(?<![*\w])\*([A-Z][^*\n]+)\*(?!\*)/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !app.includes(name))).toEqual([]);
  const tabs = ["Try", "Timeline", "Log", "Recordings", "Saved calls", "Sign-in", "Doctor"];
  expect(tabs.filter((tab) => !app.includes(`"${tab}"]`) || !page.includes(`**${tab}**`))).toEqual([]);
});

test("the page names the bounds that the console has", () => {
  const day = 24 * 60 * 60 * 1000;
  const bounds = [
    `at most ${maxConversations.toLocaleString("en")}`,
    `at most ${maxRecordings}`,
    `or ${grantTtlMs / day} days have passed`,
    `holds ${maxConversationChars / 1024 ** 2} million characters`,
    `keeps ${maxSpoolBytes / 1024 ** 2} MB`,
    `up to ${maxDetailChars / 1024 ** 2} million characters`,
    `At most ${maxRunningCalls} calls by hand`,
  ];
  expect(bounds.filter((bound) => !page.replace(/\s+/g, " ").includes(bound))).toEqual([]);
});
