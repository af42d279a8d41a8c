import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";
import { openTerminal, type PseudoTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const offering = join(root, "test/cli/fixtures/offering.mjs");
const asking = join(root, "test/cli/asking-server.mjs");
const small = { columns: 40, rows: 20 };
const ascii = /^[\n\x20-\x7e]*$/;

/** Shows each kind of question on a small screen. */
const questions: { [name: string]: (cwd: string, env?: { [name: string]: string }) => Promise<PseudoTerminal> } = {
  async trust(cwd, env = {}) {
    const servers = {
      asking: { command: node, args: [asking, "--title", "日本語のとても長い名前の引数です、本当に"] },
    };
    writeFileSync(join(cwd, ".mcp.json"), `${JSON.stringify({ mcpServers: servers }, undefined, 2)}`);
    const terminal = openTerminal(["ls", "asking"], { cwd, env, ...small });
    await terminal.see("n no");
    return terminal;
  },
  async consent(cwd, env = {}) {
    const words = "日本語の文字は二つ分の幅を取ります、ここは折り返されます";
    const args = ["run", `write text="${words} ${words}"`, "--model", "demo", "--", node, offering];
    const terminal = openTerminal(args, { cwd, env, ...small });
    await terminal.see(/view its\s+definition/);
    return terminal;
  },
  async sampling(cwd, env = {}) {
    const terminal = openTerminal(["call", "sample", "--", node, asking], { cwd, env, ...small });
    await terminal.see("N never");
    return terminal;
  },
  async form(cwd, env = {}) {
    const terminal = openTerminal(["call", "order", "--", node, asking], { cwd, env, ...small });
    await terminal.answer(/Your name[\s\S]*>$/, "Ada\r\r\r\r2\r\r\r");
    await terminal.see("c cancel");
    return terminal;
  },
  async address(cwd, env = {}) {
    const url = `url=https://pay.example.com/${"a-long-path/".repeat(9)}?x=1`;
    const terminal = openTerminal(["call", "visit", url, "--", node, asking], { cwd, env, ...small });
    await terminal.see("n no");
    return terminal;
  },
  async folders(cwd, env = {}) {
    const args = ["call", "folders", "--root", ".", "--", node, asking];
    const terminal = openTerminal(args, { cwd, env, ...small });
    await terminal.see("N never");
    return terminal;
  },
  async chat(cwd, env = {}) {
    const terminal = openTerminal(["chat", "--model", "demo", "--", node, offering], { cwd, env, ...small });
    for (const command of [
      "/help",
      "/tools",
      "/prompts",
      "/servers",
      "/log",
      "/model",
      "/grants",
      "/undo",
      "/result",
      "/clear",
      "@",
    ]) {
      await terminal.answer(/\n>$/, `${command}\r`);
    }
    await terminal.see(/number or word \(Enter for none\) >$/);
    return terminal;
  },
};

test.each(Object.keys(questions))("on 40 columns and 20 rows no line of %s is broken by the terminal", async (name) => {
  const terminal = await questions[name]?.(makeHome());
  expect(terminal?.screen().split("\n").length).toBeGreaterThan(3);
  expect(terminal?.broken()).toEqual([]);
});

test.each(Object.keys(questions))(
  "a terminal without UTF-8 shows %s in ASCII, and without colours if asked to",
  async (name) => {
    const terminal = await questions[name]?.(makeHome(), { LANG: "C", NO_COLOR: "1" });
    expect(terminal?.screen()).toMatch(ascii);
    expect(terminal?.broken()).toEqual([]);
    expect(terminal?.written()).not.toMatch(new RegExp(String.raw`${"\u001b"}\[[\d;]+m`));
  },
);

test("shows a signature that is longer than the screen completely", async () => {
  const time = join(root, "packages/servers/time/dist/main.js");
  const terminal = openTerminal(["ls", "--", node, time], { cwd: makeHome(), ...small });
  expect(await terminal.exited).toBe(0);
  expect(terminal.broken()).toEqual([]);
  expect(terminal.screen().replace(/\s+/g, " ")).toContain("now(zones?: string[]) → { times } · read-only");
  expect(terminal.screen().replace(/\s+/g, " ")).toMatch(/zones\(text\?: string, .*\) → \{[^}]*\}/);
});

test("--no-color has the same effect as NO_COLOR", async () => {
  const args = ["call", "order", "--no-color", "--", node, asking];
  const terminal = openTerminal(args, { cwd: makeHome() });
  await terminal.answer(/Your name[\s\S]*>$/, "\u0004");
  await terminal.exited;
  expect(terminal.written()).not.toMatch(new RegExp(String.raw`${"\u001b"}\[[\d;]+m`));
});

test("a dumb terminal gets no escape sequences and can answer", async () => {
  const terminal = openTerminal(["call", "order", "--", node, asking], { cwd: makeHome(), env: { TERM: "dumb" } });
  await terminal.answer(/Your name[\s\S]*>$/, "Adx\u007fa\r");
  await terminal.answer(/email[\s\S]*>$/, "\r\r\r2\r\r\r");
  await terminal.answer(/name: "Ada"[\s\S]*c cancel/, "y\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.written()).not.toContain("\u001b");
  expect(terminal.screen()).toContain('"name":"Ada"');
});

test("a question stays readable when the window shrinks", async () => {
  const terminal = openTerminal(["call", "order", "--", node, asking], { cwd: makeHome() });
  await terminal.see(/Your name[\s\S]*>$/);
  terminal.type("Ada Lovelace, who wrote the first program, ");
  await terminal.see(/program,\s*$/);
  terminal.resize(40, 20);
  terminal.type("and more\r");
  await terminal.answer(/email \(optional, email\)\n {2}>$/, "\u0015\r");
  await terminal.answer(/2 large\n {2}>$/, "\r\r2\r\r\r");
  const shown = await terminal.see("c cancel");
  expect(shown.replace(/\n {2}│ +/g, " ")).toContain('name: "Ada Lovelace, who wrote the first program, and more"');
  expect(shown.split("\n").every((line) => line.length <= 40)).toBe(true);
  terminal.resize(100, 40);
  terminal.type("y\r");
  expect(await terminal.exited).toBe(0);
});

test("accepts Windows line endings in files and on standard input", async () => {
  const cwd = makeHome();
  const servers = { offering: { command: node, args: [offering] } };
  const written = JSON.stringify({ mcpServers: servers }, undefined, 2).replaceAll("\n", "\r\n");
  writeFileSync(join(cwd, ".mcp.json"), `\ufeff${written}\r\n`);
  expect((await runPortolan(["trust", "offering", "--yes"], { cwd })).code).toBe(0);
  const args = ["call", "offering.write", "-"];
  const { code, stdout } = await runPortolan(args, { cwd, input: '{\r\n  "text": "one"\r\n}\r\n' });
  expect({ code, content: JSON.parse(stdout).content }).toEqual({ code: 0, content: [{ type: "text", text: "3" }] });
});
