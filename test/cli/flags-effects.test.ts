import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptOf } from "../servers/kit/programs.ts";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");
const node = process.execPath;

const errorOf = ({ code, stderr }: Ran) => ({ code, ...JSON.parse(stderr).error });

test("ls shows complete schemas only with --schema", async () => {
  const cwd = makeHome();
  const short = openTerminal(["ls", "--", node, asking], { cwd });
  expect(await short.exited).toBe(0);
  expect(short.screen()).toContain('paint(colour: "red"|"green", coats: int, where: object)');
  expect(short.screen()).not.toContain('"required"');
  const whole = openTerminal(["ls", "--schema", "--", node, asking], { cwd, rows: 200 });
  expect(await whole.exited).toBe(0);
  expect(whole.screen()).toMatch(/paint\([\s\S]*"colour": \{\n +"type": "string",\n +"enum": \[/);
});

test("call --timeout fails on a silent tool and suggests a longer timeout", async () => {
  const cwd = makeHome();
  const ran = await runPortolan(["call", "forever", "--timeout", "0.3", "--", node, asking], { cwd });
  expect(errorOf(ran)).toEqual({
    code: 7,
    kind: "timeout",
    message: "asking-server.forever: no answer and no progress for 0.3 s",
    next: `portolan call --timeout 1 forever -- ${node} ${asking}`,
  });
  const wrong = await runPortolan(["call", "sure", "--timeout", "soon", "--", node, asking], { cwd });
  expect(errorOf(wrong)).toMatchObject({
    code: 2,
    message: '--timeout: expected a number of seconds above zero, got "soon"',
  });
});

test("read --save writes the contents without overwriting a file", async () => {
  const cwd = makeHome();
  const picture = ["read", "everything://pixel", "--save", "out", "--", node, scriptOf("everything")];
  const { code, stdout } = await runPortolan(picture, { cwd });
  const { contents, saved } = JSON.parse(stdout);
  expect({ code, saved }).toEqual({ code: 0, saved: ["out/1.png"] });
  expect(readFileSync(join(cwd, "out/1.png")).toString("base64")).toBe(contents[0].blob);
  writeFileSync(join(cwd, "out/1.png"), "mine");
  expect(JSON.parse((await runPortolan(picture, { cwd })).stdout).saved).toEqual(["out/2.png"]);
  expect(readFileSync(join(cwd, "out/1.png"), "utf8")).toBe("mine");
  const text = openTerminal(["read", "note://today", "--save", "notes", "--", node, asking], { cwd });
  await text.see(/buy milk\nsaved notes\/1\.txt/);
  expect(await text.exited).toBe(0);
  expect(readFileSync(join(cwd, "notes/1.txt"), "utf8")).toBe("buy milk");
});

test("run --root shows a folder to a server if the person agrees", async () => {
  const cwd = makeHome();
  mkdirSync(join(cwd, "here"));
  const terminal = openTerminal(["run", "folders", "--model", "demo", "--root", "here", "--", node, asking], { cwd });
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer(/which folders[\s\S]*file:\/\/\/[\s\S]*\/here[\s\S]*N never/, "y\r");
  await terminal.see(/"uri":"file:\/\/\/[^"]*\/here"/);
  expect(await terminal.exited).toBe(0);
  const ran = await runPortolan(["run", "folders", "--root", "nowhere", "--", node, asking], { cwd });
  expect(errorOf(ran)).toEqual({
    code: 2,
    kind: "usage",
    message: "--root: folder not found: nowhere",
    next: "portolan run --help",
  });
});

test("chat --root shows several folders to a server if the person agrees", async () => {
  const cwd = makeHome();
  for (const folder of ["one", "two"]) mkdirSync(join(cwd, folder));
  const given = ["chat", "--model", "demo", "--root", "one", "--root", "two", "--", node, asking];
  const terminal = openTerminal(given, { cwd, columns: 200 });
  await terminal.answer(/\n>$/, "folders\r");
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer(/which folders[\s\S]*\/one[\s\S]*\/two[\s\S]*N never/, "y\r");
  await terminal.answer(/\/one"[\s\S]*\/two"[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("chat --yes-read-only allows read-only tools of a server with trusted labels", async () => {
  const cwd = makeHome();
  await runPortolan(["add", "time", "--", node, scriptOf("time")], { cwd });
  const say = "what time is it now in zones=Asia/Tokyo\n";
  const chat = (...flags: string[]) =>
    runPortolan(["chat", "--server", "time", "--model", "demo", ...flags], { cwd, input: say });
  // Nobody could be asked.
  expect((await chat("--yes-read-only")).code).toBe(6);
  expect((await runPortolan(["trust", "time", "--hints", "--yes"], { cwd })).code).toBe(0);
  expect((await chat()).code).toBe(6);
  const allowed = await chat("--yes-read-only");
  expect(allowed.code).toBe(0);
  expect(allowed.stdout).toContain("Asia/Tokyo");
});

test("new writes TypeScript, also with --ts, and JavaScript with --js", async () => {
  const cwd = makeHome();
  expect((await runPortolan(["new", "typed", "--ts"], { cwd })).code).toBe(0);
  expect((await runPortolan(["new", "usual"], { cwd })).code).toBe(0);
  expect((await runPortolan(["new", "plain", "--js"], { cwd })).code).toBe(0);
  const typed = readdirSync(join(cwd, "typed/src"));
  expect(typed).toEqual(["main.ts", "server.test.ts", "server.ts"]);
  expect(readdirSync(join(cwd, "usual/src"))).toEqual(typed);
  expect(existsSync(join(cwd, "plain/server.js"))).toBe(true);
  expect(existsSync(join(cwd, "plain/tsconfig.json"))).toBe(false);
});

test("a usage error suggests the intended word and the help to read", async () => {
  const cwd = makeHome();
  expect(errorOf(await runPortolan(["ls", "--shema", "x"], { cwd }))).toMatchObject({
    code: 2,
    message: "unknown option '--shema'; did you mean --schema?",
    next: "portolan ls --help",
  });
  expect(errorOf(await runPortolan(["cal"], { cwd }))).toMatchObject({
    code: 2,
    message: "unknown command 'cal'; did you mean call?",
    next: "portolan --help",
  });
});
