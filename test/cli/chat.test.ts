import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");
const offering = join(root, "test/cli/fixtures/offering.mjs");
const behind = ["--model", "demo", "--", process.execPath, asking];
const prompt = /\n>$/;

async function chat(options: Partial<PseudoTerminalOptions> = {}) {
  const terminal = openTerminal(["chat", ...behind], { cwd: await makeHome(), ...options });
  await terminal.see(/demo \(not a language model\) with asking-server[\s\S]*\n>$/);
  return terminal;
}

test("lists, calls after consent, logs, and leaves", async () => {
  const terminal = await chat();
  await terminal.answer(prompt, "/tools\r");
  await terminal.answer(/asking-server\.paint\(colour: "red"\|"green"[\s\S]*\n>$/, "/tools folder\r");
  await terminal.answer(/asking-server\.folders[\s\S]*\n>$/, "/servers\r");
  await terminal.answer(/asking-server ready 9 tools\n>$/, 'paint colour=red coats=1 {"room":1}\r');
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer(/⚙ asking-server\.paint.*\n {2}✓\n\{"colour":"red"[\s\S]*\n>$/, "/log\r");
  await terminal.answer(/decision[\s\S]*call +asking-server\.paint[\s\S]*\n>$/, "/help\r");
  await terminal.answer(/Ctrl-C[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("RAW");
});

test("runs a prompt as a command, with Tab completion and questions for missing arguments", async () => {
  const terminal = await chat();
  terminal.type("/gre\t");
  await terminal.see("> /greet");
  terminal.type("who=Al\t");
  await terminal.see("> /greet who=Alan");
  terminal.mark();
  terminal.type("\r");
  await terminal.see(/I would call asking-server\.paint/);
  await terminal.answer(prompt, "/greet\r");
  await terminal.answer(/who \(required\)\n {2}>$/, "Grace\r");
  await terminal.answer(/I would call asking-server\.paint[\s\S]*\n>$/, "/prompts\r");
  await terminal.answer(/\/greet who=… asking-server: A greeting\n>$/, "/nonsense\r");
  await terminal.answer(/usage: unknown command \/nonsense\n {2}→ \/help\n>$/, "/greet a=b\r");
  await terminal.answer(/│|answer|expected|would call/, "\u0004");
  expect(await terminal.exited).toBe(0);
});

test("attaches a resource with @, chosen by number or Tab", async () => {
  const turns = [{ say: "I see milk." }, { say: "I see it again." }];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const terminal = openTerminal(["chat", "--", process.execPath, asking], {
    cwd: await makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.see(/fake with asking-server/);
  await terminal.answer(prompt, "@\r");
  const question = "number or word \\(Enter for none\\) >$";
  // A word narrows the list again; a number that is not in it is asked for again.
  await terminal.answer(new RegExp(`1 asking-server note://today today[\\s\\S]*${question}`), "@day\r");
  await terminal.answer(new RegExp(`@day\n  1 asking-server note://today today[\\s\\S]*${question}`), "7\r");
  await terminal.answer(new RegExp(`expected a number from 1 to 1, or a word\n[\\s\\S]*${question}`), "1\r");
  await terminal.answer(/note:\/\/today is attached to your next message\n>$/, "hello there\r");
  await terminal.answer(/I see milk\.[\s\S]*\n>$/, "see @no\t");
  await terminal.answer("asking-server:note://today", "\r");
  await terminal.see("asking-server: note://today is attached");
  await terminal.answer(/I see it again\.[\s\S]*\n>$/, "@nothing-like-it\r");
  await terminal.answer(/no resource matches nothing-like-it\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const [first, second] = provider.requests.map(({ body }) => JSON.stringify(body["messages"]));
  expect(first).toContain("hello there");
  expect(first?.split("buy milk")).toHaveLength(2);
  // The conversation continues.
  expect(second?.split("buy milk")).toHaveLength(3);
  expect(second).toContain("I see milk.");
});

test("attaches a filled-in template with @, with completion of its variables", async () => {
  const turns = [{ say: "I see." }, { say: "I see more." }];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const terminal = openTerminal(["chat", "--", process.execPath, offering], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "@folder\r");
  await terminal.answer(/1 offering note:\/\/\{folder\}\/\{name\} A note[\s\S]*none\) >$/, "1\r");
  await terminal.answer(/folder \(required\)\n {2}>$/, "w\t");
  await terminal.answer("work", "\r");
  // The server completes an argument from the known ones.
  await terminal.answer(/name \(required\)\n {2}>$/, "\r");
  await terminal.answer(/a value is required\n {2}>$/, "wo\t");
  await terminal.answer("work-list", "\r");
  await terminal.answer(/note:\/\/work\/work-list is attached to your next message\n>$/, "what is there?\r");
  await terminal.answer(/I see\.\n>$/, "@find\r");
  await terminal.answer(/1 offering find:\/\/notes[\s\S]*none\) >$/, "1\r");
  await terminal.answer(/words \(optional\)\n {2}>$/, "blue & red\r");
  await terminal.answer(/limit \(optional\)\n {2}>$/, "\r");
  await terminal.answer(/find:\/\/notes\?words=blue%20%26%20red is attached/, "and there?\r");
  await terminal.answer(/I see more\.\n>$/, "@folder\r");
  await terminal.answer(/none\) >$/, "1\r");
  // Dismissing the choice attaches nothing.
  await terminal.answer(/folder \(required\)\n {2}>$/, "\u0003");
  await terminal.answer(/\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const [first, second] = provider.requests.map(({ body }) => JSON.stringify(body["messages"]));
  expect(first).toContain("work-list of work");
  expect(second).toContain("found by find://notes?words=blue%20%26%20red");
});

test("completes prompt arguments from known ones, and asks for missing ones", async () => {
  const turns = [{ say: "Gladly." }, { say: "So be it." }];
  await using provider = await startFakeProvider({ dialect: "openai", turns });
  const terminal = openTerminal(["chat", "--", process.execPath, offering], {
    cwd: makeHome(),
    env: { OPENAI_BASE_URL: provider.url, OPENAI_MODEL: "fake" },
  });
  await terminal.answer(prompt, "/prompts\r");
  await terminal.answer(/\/plan to=… days=… \[style=…\] offering: Plans a journey\n>$/, "/pl\t");
  await terminal.see("/plan");
  terminal.type("to=R\t\t");
  await terminal.see(/to=Rome\s+to=Rovaniemi/);
  terminal.type("m\t");
  await terminal.see("/plan to=Rome");
  terminal.mark();
  terminal.type("\r");
  // The server proposes three days for this place, and seven for others.
  await terminal.answer(/days \(required\)\n {2}>$/, "\t");
  await terminal.see(/3$/);
  terminal.mark();
  terminal.type("\r");
  await terminal.answer(/Gladly\.\n>$/, '/plan to="New York" style=slow days=2\r');
  await terminal.answer(/So be it\.\n>$/, "/plan somewhere\r");
  await terminal.answer(
    /expected name=value, got "somewhere"; the prompt has to \(required\), days \(required\),\s+style\n {2}→ \/prompts\n>$/,
    "/quit\r",
  );
  expect(await terminal.exited).toBe(0);
  const said = JSON.stringify(provider.requests.at(-1)?.body["messages"]);
  expect(said).toContain("Go to Rome for 3 days, plain");
  expect(said).toContain("Go to New York for 2 days, slow");
});

test("shows the notice of a model once", async () => {
  const terminal = await chat();
  await terminal.answer(prompt, "hello there\r");
  await terminal.answer(/hello there[\s\S]*\n>$/, "hello again\r");
  await terminal.answer(/hello again[\s\S]*\n>$/, "/quit\r");
  await terminal.exited;
  expect(terminal.screen().split("not a language model")).toHaveLength(2);
  const piped = await runPortolan(["chat", ...behind], { cwd: makeHome(), input: "hello\nagain\n" });
  expect(piped.stdout.split("not a language model")).toHaveLength(2);
});

test("Ctrl-C cancels a run; twice at the prompt leaves", async () => {
  const terminal = await chat();
  await terminal.answer(prompt, "do it forever\r");
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer("asking-server.forever", "\u0003");
  await terminal.answer(/\ncancelled\n>$/, "\u0003");
  await terminal.answer(/press Ctrl-C again to leave\n>$/, "\u0003");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("RAW");
});

test("the chat continues after a server exits", async () => {
  const terminal = await chat();
  await terminal.answer(prompt, "leave now\r");
  await terminal.answer("v view its definition", "y\r");
  await terminal.answer(/ {2}✗\nasking-server\.leave failed: [\s\S]*\n>$/, "/servers\r");
  await terminal.answer(/asking-server \w+[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
});

test("shows a chat readably in 40 columns, without colours and in ASCII", async () => {
  const cwd = await makeHome();
  const env = { LANG: "C", NO_COLOR: "1" };
  const terminal = openTerminal(["chat", ...behind], { cwd, columns: 40, env });
  await terminal.answer(/\n>$/, 'paint colour=red coats=1 {"room":1}\r');
  await terminal.answer(/view its\s+definition/, "y\r");
  await terminal.answer(/ {2}\+\n\{"colour"[\s\S]*\n>$/, "/quit\r");
  expect(await terminal.exited).toBe(0);
  const lines = terminal.screen().split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(terminal.screen()).toMatch(/^[\n\x20-\x7e]*$/);
});

test("in a pipe, reads messages line by line and prints JSON events", async () => {
  const { code, stdout, stderr } = await runPortolan(["chat", ...behind], {
    cwd: await makeHome(),
    input: "hum a tune\r\n\r\nsing along\r\n/quit\r\nnever said\r\n",
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const ends = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "done");
  expect(ends.map(({ text }) => text)).toEqual([
    expect.stringContaining("hum a tune"),
    expect.stringContaining("sing along"),
  ]);
});

test("in a pipe, exits with 6 after a refusal and names the flag that allows it", async () => {
  const cwd = await makeHome();
  const input = 'paint colour=red coats=1 {"room":1}\nhello\n';
  const refused = await runPortolan(["chat", ...behind], { cwd, input });
  expect({ code: refused.code, error: JSON.parse(refused.stderr).error }).toEqual({
    code: 6,
    error: {
      kind: "denied",
      message: "asking-server.paint needed approval, but there is no terminal to ask",
      next: `portolan chat --allow asking-server.paint ${behind.join(" ")}`,
    },
  });
  // The later messages are answered, and nothing speaks of options of the library.
  expect(refused.stdout.match(/"type":"done"/g)).toHaveLength(2);
  expect(refused.stdout).not.toMatch(/answers\.|this host/);
  const allowed = await runPortolan(["chat", "--allow", "asking-server.paint", ...behind], { cwd, input });
  expect(allowed).toMatchObject({ code: 0, stderr: "" });
});

test("fails with the reason without a usable server or model", async () => {
  const cwd = await makeHome();
  await writeFile(join(cwd, ".mcp.json"), "{}");
  const refused = await runPortolan(["chat", "--server", "nobody"], { cwd });
  expect(refused.code).toBe(2);
  const alone = await runPortolan(["chat", "--model", "demo"], { cwd, input: "hello\n" });
  expect(alone.code).toBe(0);
  const named = ["chat", "--model", "demo", "--", process.execPath, "-e", "process.exit(9)"];
  const dead = await runPortolan(named, { cwd, input: "hello\n" });
  expect([dead.code, dead.stdout, JSON.parse(dead.stderr).error.message]).toEqual([
    4,
    "",
    expect.stringContaining("exited with code 9"),
  ]);
});
