import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, portolan, root, runPortolan } from "./kit.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");
const behind = ["--", process.execPath, asking];

/** Creates a home whose folder configures the asking server, as an editor would. */
async function configured(): Promise<string> {
  const home = await makeHome();
  const servers = { asking: { command: process.execPath, args: [asking, "--title", "a\u202eb"] } };
  await writeFile(join(home, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  return home;
}

async function call(tool: string, more: string[] = [], options: Partial<PseudoTerminalOptions> = {}) {
  const cwd = options.cwd ?? (await makeHome());
  return openTerminal(["call", tool, ...more, ...behind], { ...options, cwd });
}

test("starts a configured server only after its whole entry was shown and trusted", async () => {
  const cwd = await configured();
  const first = openTerminal(["ls", "asking"], { cwd });
  const shown = await first.see("n no");
  for (const line of [`Command: ${process.execPath}`, asking, "--title", "a\\u{202e}b", join(cwd, ".mcp.json")]) {
    expect(shown).toContain(line);
  }
  first.type("n\r");
  await first.see("✗ denied: asking is not trusted yet");
  expect(await first.exited).toBe(6);
  const once = openTerminal(["ls", "asking"], { cwd });
  await once.answer("n no", "y\r");
  await once.see("paint(");
  expect(await once.exited).toBe(0);
  const second = openTerminal(["ls", "asking"], { cwd });
  await second.answer("n no", "a\r");
  await second.see("paint(");
  expect(await second.exited).toBe(0);
  const third = openTerminal(["ls", "asking"], { cwd });
  expect(await third.exited).toBe(0);
  expect(third.screen()).not.toContain("Start the server");
});

test("lists configured servers without a question", async () => {
  const cwd = await configured();
  const terminal = openTerminal([], { cwd });
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toContain("not trusted");
});

test("asks a form field by field, reports invalid values, and sends it after a review", async () => {
  const terminal = await call("order");
  expect(await terminal.see(/Your name[\s\S]*>$/)).toContain("As on the \\u{1b}[31mdoor\\u{202e}");
  await terminal.answer(/>$/, "A\r");
  await terminal.answer(/At least 2 characters, please \(you typed A\)\.\n {2}>$/, "Ada\r");
  await terminal.answer(/email \(optional, email\)\n {2}>$/, "nobody\r");
  await terminal.answer(/expected an email address[\s\S]*>$/, "ada@example.com\r");
  await terminal.answer(/1 small\n {4}2 large\n {2}>$/, "\r");
  await terminal.answer(/1 Cheese\n {4}2 Olives\n {2}>$/, "1,Oli\t");
  await terminal.answer("Olives", "\r");
  await terminal.answer(/count \(required, .*9.*\)\n {2}>$/, "12\r");
  await terminal.answer(/9.*, please \(you typed 12\)\.\n {2}>$/, "2\r");
  await terminal.answer(/hurry[\s\S]*>$/, "y\r");
  await terminal.answer(/note[\s\S]*>$/, "\r");
  const summary = await terminal.see("c cancel");
  expect(summary).toContain('toppings: ["c","o"]');
  terminal.type("y\r");
  expect(await terminal.exited).toBe(0);
  const [answer = ""] = /\{"action.*/.exec(terminal.screen().replaceAll("\n", "")) ?? [];
  expect(JSON.parse(answer)).toEqual({
    action: "accept",
    content: { name: "Ada", email: "ada@example.com", size: "large", toppings: ["c", "o"], count: 2, hurry: true },
  });
});

test.each([
  ["Ctrl-C cancels", "\u0003", "cancel"],
  ["Ctrl-D declines", "\u0004", "decline"],
])("%s a form at any field and restores the terminal", async (_, key, action) => {
  const terminal = await call("order");
  await terminal.answer(/Your name[\s\S]*>$/, "Ada\r");
  await terminal.answer(/email \(.*\n {2}>$/, key);
  await terminal.see(`{"action":"${action}"}`);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("RAW");
});

test("asks yes or no for a form without fields", async () => {
  const terminal = await call("sure");
  await terminal.answer(/Are you sure\?[\s\S]*c cancel/, "y\r");
  await terminal.see("true");
  expect(await terminal.exited).toBe(0);
});

test("warns about a secret, does not echo it, and sends it only after a second yes", async () => {
  for (const [last, expected] of [
    ["n\r", '{"action":"decline"}'],
    ["y\r", '{"action":"accept","content":{"password":"hunter22"}}'],
  ] as const) {
    const terminal = await call("login");
    await terminal.answer(/looks like a secret[\s\S]*>$/, "abc\r");
    await terminal.answer(/not a valid value[\s\S]*>$/, "hunter22\r");
    await terminal.answer(/password: \(not shown\)[\s\S]*c cancel/, "y\r");
    const before = terminal.screen();
    expect(before).not.toContain("hunter22");
    expect(before).not.toContain("abc");
    await terminal.answer("send the secret anyway", last);
    await terminal.see(expected);
  }
});

test("shows a whole address and opens it in the browser as one argument", async () => {
  const cwd = await makeHome();
  const bin = join(cwd, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${cwd}/opened'\n`);
  await chmod(join(bin, "xdg-open"), 0o755);
  const url = "https://pay.example.com/?a=$(id)&b=`id`;'x'";
  const terminal = await call("visit", [`url=${url}`], { cwd, env: { PATH: `${bin}:${process.env["PATH"]}` } });
  const shown = await terminal.see("n no");
  expect(shown).toContain(new URL(url).href);
  expect(shown).toContain("leads to pay.example.com");
  terminal.type("y\r");
  await terminal.see('{"action":"accept"}');
  expect(await readFile(join(cwd, "opened"), "utf8")).toBe(`1\n${new URL(url).href}\n`);
});

test.each([
  ["y", "The browser did not open"],
  ["m", "leads to pay.example.com"],
])("lets the person open the address if no browser opens: %s", async (key, shown) => {
  const cwd = await makeHome();
  await mkdir(join(cwd, "bin"));
  await writeFile(join(cwd, "bin/xdg-open"), "#!/bin/sh\nexit 3\n", { mode: 0o755 });
  const env = { PATH: `${join(cwd, "bin")}:${process.env["PATH"]}` };
  const terminal = await call("visit", ["url=https://pay.example.com/"], { cwd, env });
  await terminal.see("n no");
  terminal.type(`${key}\r`);
  await terminal.see('{"action":"accept"}');
  expect(terminal.screen()).toContain(shown);
});

test("warns about an address that imitates another, and opens nothing on no", async () => {
  const terminal = await call("visit", ["url=https://xn--pple-43d.com/login"]);
  const shown = await terminal.see("n no");
  expect(shown).toContain("https://xn--pple-43d.com/login");
  expect(shown).toContain("! The name looks like apple.com, but it is a different host.");
  terminal.type("n\r");
  await terminal.see('{"action":"decline"}');
});

test("shows, edits on a line and approves a sampling request and its answer", async () => {
  const terminal = await call("sample");
  const request = await terminal.see("N never");
  for (const line of ["demo (not a language model)", "You are brief.", "Name a colour", "at most 50 out"]) {
    expect(request).toContain(line);
  }
  await terminal.answer("N never", "v\r");
  await terminal.answer(/"maxTokens": 50[\s\S]*N never/, "e\r");
  await terminal.answer(/> Name a colour$/, " of the sea\r");
  await terminal.answer(/Name a colour of the sea[\s\S]*N never/, "y\r");
  await terminal.answer(/answer to “Name a colour of the sea”[\s\S]*n withhold it/, "e\r");
  await terminal.see(/> This is/);
  terminal.type("\u0015blue\r");
  await terminal.answer(/│ blue\n.*n withhold it/, "y\r");
  await terminal.see('"text":"blue"');
  expect(await terminal.exited).toBe(0);
});

test("opens a sampling request as JSON in the editor, in a private file", async () => {
  const cwd = await makeHome();
  const editor = join(cwd, "editor.sh");
  await writeFile(editor, `#!/bin/sh\nstat -c '%a' "$2" > '${cwd}/mode'\nsed -i 's/a colour/a fish/' "$2"\n`);
  await chmod(editor, 0o755);
  const terminal = await call("sample", [], { cwd, env: { EDITOR: `${editor} --wait` } });
  await terminal.answer("N never", "e\r");
  await terminal.answer(/Name a fish[\s\S]*N never/, "y\r");
  await terminal.answer("n withhold it", "y\r");
  await terminal.see("Name a fish");
  expect(await readFile(join(cwd, "mode"), "utf8")).toBe("600\n");
});

test("reports a denied sampling request to the server", async () => {
  const terminal = await call("sample");
  await terminal.answer("N never", "n\r");
  await terminal.see("Sampling was refused: the user said no");
  expect(await terminal.exited).not.toBe(0);
});

test("shows folders to a server only if the person agrees", async () => {
  for (const [key, expected] of [
    ["n", "[]"],
    ["y", '[{"uri":"file:///'],
  ] as const) {
    const cwd = await makeHome();
    const terminal = await call("folders", ["--root", "."], { cwd });
    await terminal.answer(/which folders[\s\S]*file:\/\/\/[\s\S]*N never/, `${key}\r`);
    await terminal.see(expected);
  }
});

test("asks for missing arguments, with completion", async () => {
  const terminal = await call("paint");
  await terminal.answer(/colour \(required, number or name\)\n {4}1 red\n {4}2 green\n {2}>$/, "gr\t");
  await terminal.answer("green", "\r");
  await terminal.answer(/coats[\s\S]*>$/, "two\r");
  await terminal.answer(/A number, please \(you typed two\)\.\n {2}>$/, "2\r");
  await terminal.answer(/where \(required, JSON\)\n {2}>$/, "{\r");
  await terminal.answer(/expected JSON[\s\S]*>$/, '{"room":1}\r');
  await terminal.see('{"colour":"green","coats":2,"where":{"room":1}}');
  const left = await call("paint");
  await left.answer(/green\n {2}>$/, "\u0003");
  await left.see("interrupted");
  expect(await left.exited).toBe(130);
});

test("asks for arguments of a prompt, with completion from the server", async () => {
  const terminal = openTerminal(["prompt", "greet", ...behind], { cwd: await makeHome() });
  await terminal.answer(/who \(required\)\n {2}>$/, "Al\t");
  await terminal.answer("Alan", "\r");
  await terminal.see("Paint for Alan");
  expect(await terminal.exited).toBe(0);
});

test("shows every question readably in 40 columns, without colours and in ASCII", async () => {
  const env = { LANG: "C", NO_COLOR: "1" };
  const terminal = await call("order", [], { columns: 40, env });
  await terminal.answer(/Your name[\s\S]*>$/, "\u0004");
  await terminal.exited;
  const lines = terminal.screen().split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(terminal.screen()).toMatch(/^[\n\x20-\x7e]*$/);
  expect(terminal.screen()).toContain("  | What would you like?");
});

test("fails with a reason in a pipe when an answer is needed", async () => {
  const { code, stdout, stderr } = await runPortolan(["call", "order", ...behind], { cwd: await makeHome() });
  expect({ code, stdout }).toMatchObject({ stdout: "" });
  expect(code).toBe(6);
  expect(JSON.parse(stderr).error.message).toMatch(/asks you to fill in a form .* no terminal to ask you$/);
});

test("ignores keys typed before a question", async () => {
  const terminal = await call("sample");
  terminal.type("yyyyyy");
  await terminal.see("N never");
  terminal.mark();
  terminal.type("n\r");
  await terminal.see("Sampling was refused");
});

test.each([
  ["\u0004", 6, "✗ denied: Cancelled by the user."],
  ["\u0003", 130, "✗ interrupted"],
])("a call that fails because %j refused its question ends with %i", async (key, code, shown) => {
  const failing = join(root, "test/cli/fixtures/failing.mjs");
  const terminal = openTerminal(["call", "asks", "--", process.execPath, failing], { cwd: makeHome() });
  await terminal.answer(/colour[\s\S]*>$/, key);
  expect(await terminal.exited).toBe(code);
  expect(terminal.screen()).toContain(shown);
  expect(terminal.screen()).not.toContain("→");
});

test("Ctrl-C cancels a call and restores the terminal", async () => {
  const cwd = await makeHome();
  const terminal = openTerminal(["call", "forever", ...behind], { cwd });
  await expect
    .poll(() => readFile(join(cwd, ".portolan/activity.ndjson"), "utf8").catch(() => ""), { timeout: 20_000 })
    .toContain("forever");
  terminal.type("\u0003");
  await terminal.see("interrupted");
  expect(await terminal.exited).toBe(130);
  expect(terminal.screen()).not.toContain("RAW");
});

test("restores the terminal when the program is killed during a question", async () => {
  const cwd = await makeHome();
  const program = ["sh", "-c", 'echo $$ > "$HOME/pid"; exec "$0" "$@"', process.execPath, portolan];
  const terminal = openTerminal(["call", "sample", ...behind], { cwd, program });
  await terminal.see("N never");
  process.kill(Number(await readFile(join(cwd, "pid"), "utf8")), "SIGTERM");
  expect(await terminal.exited).toBe(143);
  expect(terminal.screen()).not.toContain("RAW");
});

test("withdraws a question when its server exits", async () => {
  const cwd = await makeHome();
  const server = ["--", "sh", "-c", 'echo $$ > "$0"; exec "$1" "$2"', join(cwd, "pid"), process.execPath, asking];
  const terminal = openTerminal(["call", "sure", ...server], { cwd });
  await terminal.see("c cancel");
  process.kill(Number(await readFile(join(cwd, "pid"), "utf8")), "SIGKILL");
  await terminal.see("(question withdrawn)");
  expect(await terminal.exited).toBe(4);
  expect(terminal.screen()).not.toContain("RAW");
});
