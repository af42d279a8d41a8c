import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { makeHome, root, runPortolan } from "./kit.ts";
import { makeProject, weather } from "./make-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");

async function failure(args: readonly string[], cwd: string) {
  const { code, stderr } = await runPortolan(args, { cwd });
  return { code, ...JSON.parse(stderr).error };
}

/** Runs a next step in a shell as shown. */
async function follow(step: string, cwd: string) {
  const terminal = openTerminal(["-c", step.replace(/^portolan/, '"$0" "$1"'), process.execPath, program], {
    cwd,
    program: ["sh"],
  });
  return { code: await terminal.exited, screen: terminal.screen() };
}

const program = join(root, "packages/portolan/dist/cli/main.js");

test("the next step names the same server, however it was given", async () => {
  const cwd = makeProject(weather);
  const url = await serveHttp(scriptOf("time"));
  const ofFile = await failure(["call", "./server.ts", "nothing"], cwd);
  expect(ofFile.next).toBe("portolan ls ./server.ts");
  expect(await follow(ofFile.next, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("forecast(") });
  const ofAddress = await failure(["call", url, "nothing"], cwd);
  expect(ofAddress.next).toBe(`portolan ls ${url}`);
  const spaced = join(cwd, "it's here.mjs");
  writeFileSync(spaced, `await import(${JSON.stringify(asking)});`);
  const ofCommand = await failure(["prompt", "nothing", "--", process.execPath, spaced], cwd);
  expect(ofCommand.next).toBe(`portolan ls -- ${process.execPath} '${cwd}/it'\\''s here.mjs'`);
  expect(await follow(ofCommand.next, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("paint(") });
});

test("quotes the server name in the next step for the shell", async () => {
  const cwd = makeHome();
  const name = "x; touch pwned #";
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { [name]: { command: "x" } } }));
  const { stdout } = await runPortolan(["servers"], { cwd });
  const [{ next }] = JSON.parse(stdout).servers;
  expect(next).toBe("portolan trust 'x; touch pwned #'");
  expect(await failure(["ls", name], cwd)).toMatchObject({ code: 6, next });
  expect(await follow(`${next} --yes`, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("is trusted") });
  expect(existsSync(join(cwd, "pwned"))).toBe(false);
});

test("in a pipe, refuses a missing required argument before sending", async () => {
  const cwd = makeHome();
  expect(await failure(["call", "paint", "colour=red", "--", process.execPath, asking], cwd)).toEqual({
    code: 2,
    kind: "usage",
    message: "paint needs coats=… where=…",
    next: `portolan ls paint -- ${process.execPath} ${asking}`,
  });
});

test.each([40, 60, 100])("shows the next step of every server in %i columns", async (columns) => {
  const cwd = makeHome();
  const env = { SOME_VARIABLE: "${SOME_VARIABLE_THAT_NOBODY_HAS_SET}" };
  const servers = { database: { command: "node", env }, other: { command: "node" } };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  const terminal = openTerminal(["servers"], { cwd, columns });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/→ portolan doctor database$/m);
  expect(terminal.screen()).toMatch(/→ portolan trust other$/m);
  for (const line of terminal.screen().split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
});

test("a next step has no value of --env and --header, and says what it needs", async () => {
  const cwd = makeHome();
  const behind = ["--", process.execPath, asking];
  const typed = `--env DB_PASS -- ${process.execPath} ${asking}`;
  const pass = ["--env", "DB_PASS=hunter2", "--env=MODE=quick"];
  const unset = await failure(["call", "nothing", ...pass, ...behind], cwd);
  expect(unset.next).toBe(
    `with DB_PASS set in your shell and MODE set in your shell: portolan ls --env DB_PASS --env MODE -- ${process.execPath} ${asking}`,
  );
  const env = { DB_PASS: "hunter2" };
  const { stderr } = await runPortolan(["call", "nothing", "--env", "DB_PASS=hunter2", ...behind], { cwd, env });
  expect(JSON.parse(stderr).error.next).toBe(`portolan ls ${typed}`);
  expect(JSON.stringify([unset, stderr])).not.toMatch(/hunter2|quick/);
  const url = await serveHttp(scriptOf("time"));
  const header = await failure(["call", url, "nothing", "--header", "X-Access=hunter2"], cwd);
  expect(header.next).toBe(`with the same --header X-Access: portolan ls ${url}`);
  const late = await failure(["call", "--timeout", "0.01", "paint", "--env", "DB_PASS=hunter2", ...behind], cwd);
  expect(late.next).toMatch(/^with DB_PASS set in your shell: portolan /);
  expect(late.next).not.toContain("hunter2");
});

test("next steps begin with npx where only npm finds the command", async () => {
  const cwd = makeHome();
  const env = { PATH: "/usr/bin:/bin", npm_command: "exec" };
  const none = openTerminal(["servers"], { cwd, env });
  expect(await none.exited).toBe(0);
  expect(none.screen()).toMatch(/→ npx portolan add --help$/m);
  const failed = openTerminal(["ls", "nothing"], { cwd, env });
  expect(await failed.exited).toBe(2);
  expect(failed.screen()).toMatch(/→ npx portolan add --help$/m);
  const plain = openTerminal(["ls", "nothing"], { cwd });
  await plain.exited;
  expect(plain.screen()).toMatch(/→ portolan add --help$/m);
});

test("a command that is not close to any is not taken for another", async () => {
  const cwd = makeHome();
  expect(await failure(["bogus"], cwd)).toMatchObject({ message: "unknown command 'bogus'" });
  expect(await failure(["logot"], cwd)).toMatchObject({ message: "unknown command 'logot'; did you mean logout?" });
  expect(await failure(["ls", "--shema"], cwd)).toMatchObject({
    message: "unknown option '--shema'; did you mean --schema?",
  });
});

test("--help lists the exit codes", async () => {
  const { stdout } = await runPortolan(["--help"], { cwd: makeHome() });
  expect(stdout.replace(/\s+/g, " ")).toContain("Exit codes: 0 done, 1 failed, 2 usage, 3 auth, 4 unreachable, 5 tool");
});

test("a misspelt argument is named before the missing one is asked for", async () => {
  const terminal = openTerminal(["call", "paint", "clour=red", "--", process.execPath, asking], { cwd: makeHome() });
  const shown = await terminal.see(/colour[\s\S]*>$/);
  expect(shown).toMatch(/^! unknown argument clour; did you mean colour\?/);
});

test("a server that printed something else than messages, and did not answer, is reported with it", async () => {
  const cwd = makeHome();
  const behind = ["--", process.execPath, "-e", "console.log('Listening on 3000'); process.stdin.resume()"];
  expect(await failure(["ls", "--timeout", "2", ...behind], cwd)).toMatchObject({
    kind: "timeout",
    message:
      'node did not answer within 2 s; it wrote "Listening on 3000", which is not a message, to its standard output',
  });
  const checked = await failure(["check", "--timeout", "2", ...behind], cwd);
  expect(checked).toMatchObject({ kind: "timeout", message: expect.stringMatching(/within 2 s/) });
});
