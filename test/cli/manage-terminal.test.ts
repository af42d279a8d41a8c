import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makeHome } from "./kit.ts";
import { broken, errorOf, put, runPortolan, showOf, stateOf } from "./manage-kit.ts";
import { openTerminal, type PseudoTerminalOptions } from "./pseudo-terminal.ts";

const node = process.execPath;

function open(args: readonly string[], options: PseudoTerminalOptions) {
  return openTerminal(args, { ...options, env: { PORTOLAN_HOME: stateOf(options.cwd), ...options.env } });
}

/** Returns the screen and exit code of a command. */
async function seen(
  args: readonly string[],
  options: PseudoTerminalOptions,
): Promise<[code: number | null, text: string]> {
  const terminal = open(args, options);
  const code = await terminal.exited;
  return [code, terminal.screen()];
}

test("trust shows the whole entry with control characters escaped, and asks", async () => {
  const cwd = await makeHome();
  const hostile = "--harmless\u001b[2K\u202e";
  put(cwd, ".mcp.json", {
    mcpServers: {
      a: { command: node, args: [broken, "fine", hostile], env: { KEY: "hush", HOME: "./evil\u001b[2K" } },
    },
  });
  const refused = open(["trust", "a"], { cwd });
  await refused.answer(/Allow it to start, for 90 days\?\s+y yes · n no/, "n\r");
  expect(await refused.exited).toBe(6);
  for (const [label, value] of Object.entries({
    Command: node,
    "Argument 1": broken,
    Variable: "KEY \\(hidden: it has the name of a secret\\)",
    Place: "mcpServers.a",
  })) {
    expect(refused.screen()).toMatch(new RegExp(`^ +${label} +${value}$`, "m"));
  }
  expect(refused.screen()).toMatch(/Argument 3 +--harmless\\/);
  expect(refused.screen()).toMatch(/Variable +HOME=\.\/evil\\/);
  expect(refused.screen()).not.toContain("hush");
  const agreed = open(["trust", "a", "--hints"], { cwd });
  await agreed.answer(
    /Allow it to start, and its read-only tools to run without asking \(--yes-read-only\), for\s+90\s+days\?\s+y yes · n no/,
    "y\r",
  );
  await agreed.see("✓ a is trusted, and so are its read-only labels");
  expect(await agreed.exited).toBe(0);
});

test("Ctrl-C at the question whether a server may start interrupts the command, and changes nothing", async () => {
  const cwd = await makeHome();
  put(cwd, ".mcp.json", { mcpServers: { a: { command: node, args: [broken] } } });
  const terminal = open(["trust", "a"], { cwd });
  await terminal.answer(/Allow it to start, for 90 days\?\s+y yes · n no/, "\u0003");
  expect(await terminal.exited).toBe(130);
  const listing = open(["ls", "a"], { cwd });
  await listing.answer(/y yes, once[\s\S]*n no/, "\u0003");
  expect(await listing.exited).toBe(130);
  expect(listing.screen()).toMatch(/✗ interrupted$/);
  expect((await showOf<{ grants: unknown[] }>(["grants"], { cwd })).grants).toEqual([]);
});

test("shows changed definitions as a diff", async () => {
  const cwd = await makeHome();
  const words = put(cwd, "words.txt", "Says it again");
  await showOf(["add", "a", "--", node, broken, "described", words], { cwd });
  await showOf(["ls", "a"], { cwd });
  writeFileSync(words, "Sends it away");
  const terminal = open(["trust", "a", "--changes"], { cwd });
  await terminal.answer(/Accept these changes\?\s+y yes · n no/, "y\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/echo\n\s+description\n\s+- Says it again\n\s+\+ Sends it away/);
});

test("add, grants, log and remove print tables and lines for people", async () => {
  const cwd = await makeHome();
  const [code, added] = await seen(["add", "a", "--", node, broken], { cwd, columns: 120 });
  expect([code, added]).toEqual([
    0,
    expect.stringMatching(/^✓ a added to .*\.mcp\.json\n {2}Command .*\n[\s\S]*→ portolan ls a$/),
  ]);
  const [, grants] = await seen(["grants"], { cwd });
  expect(grants).toMatch(/id +what +server +until\n[\s\S]*[\da-f]{8} +allowed +start +a +\d{4}-/);
  const [, log] = await seen(["log"], { cwd });
  expect(log).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d trust +a /);
  const [, verified] = await seen(["log", "--verify"], { cwd });
  expect(verified).toMatch(/^✓ \d+ entries in \d+ blocks/);
  const [, removed] = await seen(["remove", "a"], { cwd });
  expect(removed).toMatch(/^✓ a removed from/);
  expect(await seen(["grants"], { cwd })).toEqual([0, "Nothing is permanently allowed or denied."]);
});

test("doctor prints what, why and the next step, also in 40 columns and ASCII", async () => {
  const cwd = await makeHome();
  await showOf(["add", "a", "--", node, broken, "exits"], { cwd });
  await showOf(["add", "b", "--", node, broken, "fine"], { cwd });
  const [code, wide] = await seen(["doctor"], { cwd });
  expect(code).toBe(1);
  expect(wide).toMatch(
    /! a down\n {2}✗ its command exited with code 3\n {4}its last output: .*\n[\s\S]*→ run it by hand/,
  );
  expect(wide).toMatch(/✓ b 2025-06-18 · \d+ ms · 1 tool$/m);
  expect(wide).toContain("✗ failed: 1 error found");
  const [, narrow] = await seen(["doctor", "--no-color"], { cwd, columns: 40, env: { LANG: "C" } });
  expect(narrow).toMatch(/x its command exited with code 3/);
  expect(narrow).toMatch(/-> run it by hand/);
  expect(narrow).toMatch(/^[\u0020-\u007e\n]*$/);
  const [nothing, empty] = await seen(["doctor"], { cwd: await makeHome() });
  expect([nothing, empty]).toEqual([0, expect.stringContaining("→ portolan add --help")]);
});

test("check and watch escape control characters of a server", async () => {
  const cwd = await makeHome();
  const flags = ["--only", "base/*", "--revision", "2025-06-18"];
  const [code, report] = await seen(["check", ...flags, "--", node, broken], { cwd, columns: 200 });
  expect([0, 8]).toContain(code);
  expect(report).toMatch(/2025-06-18 stdio +\d+ passed, \d+ failed/);
  const watching = open(["watch", "--", node, broken, "telling"], { cwd });
  const [, pid] = /stderr +pid (\d+)/.exec(await watching.see(/ready[\s\S]*/)) ?? [];
  process.kill(Number(pid), "SIGUSR2");
  expect(await watching.see("sky")).toMatch(/warning +sky: rain \\(x1b|u001b|u\{1b\}|e)/);
  watching.type("\u0003");
  expect(await watching.exited).toBe(0);
});

test("a trusted server whose entry changed is shown as changed, with the difference", async () => {
  const cwd = await makeHome();
  const write = (args: readonly string[], env: object) =>
    put(cwd, ".mcp.json", { mcpServers: { a: { command: node, args: [broken, ...args], env } } });
  write(["fine"], { KEY: "one" });
  const first = open(["ls", "a"], { cwd });
  await first.answer(/New server a\. Start it\?[\s\S]*y yes, once[\s\S]*n no/, "a\r");
  expect(await first.exited).toBe(0);
  const today = new Date().toISOString().slice(0, 10);

  write(["fine", "--evil\u001b[2K"], { KEY: "two", MORE: "x" });
  const inPipe = await runPortolan(["ls", "a"], { cwd });
  expect([inPipe.code, errorOf(inPipe)]).toMatchObject([
    6,
    { message: "a changed since you trusted it, so it was not started", next: "portolan trust a" },
  ]);
  const overview = await showOf<{ servers: object[] }>([], { cwd });
  expect(overview.servers).toMatchObject([{ name: "a", state: "untrusted", isChanged: true }]);

  const asked = open(["ls", "a"], { cwd, columns: 200 });
  await asked.see(`Server a CHANGED since you trusted it on ${today}:`);
  await asked.answer(/y yes, once[\s\S]*n no/, "n\r");
  expect(await asked.exited).toBe(6);
  for (const line of [
    `- Arguments: ${broken} fine`,
    `+ Arguments: ${broken} fine "--evil\\u001b[2K"`,
    "- Variable: KEY (hidden: it has the name of a secret)",
    "+ Variable: KEY (hidden: it has the name of a secret) (with another value)",
    "+ Variable: MORE=x",
  ]) {
    expect(asked.screen()).toContain(line);
  }

  const trusting = open(["trust", "a"], { cwd, columns: 200 });
  await trusting.see(`CHANGED since you trusted it on ${today}:`);
  await trusting.answer(/Allow it to start, for 90 days\?\s+y yes · n no/, "y\r");
  expect(await trusting.exited).toBe(0);
  expect(trusting.screen()).toContain("+ Variable: MORE");
  await showOf(["ls", "a"], { cwd });
});
