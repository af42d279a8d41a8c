import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeProvider } from "portolan-host/models/fake";
import { expect, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { environment, makeHome, portolan, root, runPortolan } from "./kit.ts";
import { expectValid } from "./output-schema.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const asking = join(root, "test/cli/asking-server.mjs");
const behind = ["--", process.execPath, asking];
const eventsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Creates a home with two trusted servers. */
async function trusted(): Promise<string> {
  const home = await makeHome();
  const time = join(root, "packages/servers/time/dist/main.js");
  const servers = {
    time: { command: process.execPath, args: [time, "--zone", "Europe/Oslo"] },
    asking: { command: process.execPath, args: [asking] },
  };
  await writeFile(join(home, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of Object.keys(servers)) {
    const terminal = openTerminal(["ls", name], { cwd: home });
    await terminal.answer("n no", "b\r");
    expect(await terminal.exited).toBe(0);
  }
  return home;
}

test("in a pipe, prints JSON events and denies what needs approval", async () => {
  const { code, stdout, stderr } = await runPortolan(["run", "now in", "Asia/Tokyo", "--server", "time"], {
    cwd: await trusted(),
  });
  expect(code).toBe(6);
  expect(JSON.parse(stderr)).toEqual({
    error: {
      kind: "denied",
      message: "time.now needed approval, but there is no terminal to ask",
      next: "portolan run --allow time.now 'now in' Asia/Tokyo --server time",
    },
  });
  const events = eventsOf(stdout);
  expect(events[0]).toEqual({ type: "notice", text: "demo: not a language model" });
  expect(events.at(-1)).toMatchObject({ type: "done", reason: "done", text: expect.stringContaining("approval") });
  expect(stdout).not.toContain('"state"');
});

test("fails if no call succeeded: 6 for --deny, 5 for a tool that failed", async () => {
  const cwd = makeHome();
  const server = ["--", process.execPath, join(root, "test/cli/fixtures/failing.mjs")];
  const ran = (...args: string[]) => runPortolan(["run", ...args, "--text", ...server], { cwd });
  const allowed = ["--allow", "failing.*"];
  const denied = await ran("works", ...allowed, "--deny", "failing.works");
  expect(denied).toEqual({
    code: 6,
    stdout: "failing.works is not allowed: you denied it with --deny.\n",
    stderr: `✗ denied: failing.works is not allowed: you denied it with --deny
  → leave out --deny, or put the task in other words
`,
  });
  const failed = await ran("fails", ...allowed);
  expect([failed.code, failed.stderr]).toEqual([5, expect.stringContaining("failing.fails failed: no such thing")]);
  expect((await ran("works", ...allowed)).code).toBe(0);
});

test("says in its own words why a server is not used, and what to do", async () => {
  const cwd = makeHome();
  const { server } = await startWorld();
  const servers = {
    new: { command: process.execPath, args: [asking] },
    dies: { command: process.execPath, args: ["-e", "process.exit(7)"] },
    far: { url: server.url },
    empty: { command: "" },
  };
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of ["dies", "far"]) await runPortolan(["trust", name, "--yes"], { cwd });
  const { code, stdout } = await runPortolan(["run", "--model", "demo", "hello"], { cwd });
  expect(code).toBe(0);
  const notices = eventsOf(stdout).filter(({ type, server }) => type === "notice" && server);
  expect(notices).toEqual([
    { type: "notice", server: "new", text: "new is not trusted, so it is not used", next: "portolan trust new" },
    {
      type: "notice",
      server: "dies",
      text: expect.stringMatching(/^dies is not used: .* code 7/),
      next: "portolan doctor dies",
    },
    { type: "notice", server: "far", text: "far needs sign-in, so it is not used", next: "portolan login far" },
    {
      type: "notice",
      server: "empty",
      text: expect.stringMatching(/^empty is not used: /),
      next: "portolan doctor empty",
    },
  ]);
  for (const notice of notices) expectValid("run", JSON.stringify(notice));
  const text = await runPortolan(["run", "--text", "--model", "demo", "hello"], { cwd });
  expect(text.stderr).toContain("· new is not trusted, so it is not used\n  → portolan trust new\n");
});

test("fails before the model is asked if no server that was named can be used", async () => {
  const cwd = makeHome();
  const { server } = await startWorld();
  const node = process.execPath;
  const servers = {
    dies: { command: node, args: ["-e", "console.error('no disk'); process.exit(7)"] },
    far: { url: server.url },
    asking: { command: node, args: [asking] },
  };
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of Object.keys(servers)) await runPortolan(["trust", name, "--yes"], { cwd });
  const run = (...args: readonly string[]) => runPortolan(["run", "--model", "demo", "hello", ...args], { cwd });
  const failureOf = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run(...args);
    expect(stdout).toBe("");
    return { code, ...JSON.parse(stderr).error };
  };
  expect(await failureOf("--server", "dies")).toMatchObject({
    code: 4,
    message: expect.stringMatching(/code 7[\s\S]*no disk/),
    next: "portolan doctor dies",
  });
  expect(await failureOf("--server", "far")).toMatchObject({ code: 3, next: "portolan login far" });
  const silent = ["--", node, join(root, "test/cli/fixtures/broken.mjs"), "silent"];
  expect(await failureOf("--timeout", "0.5", ...silent)).toMatchObject({
    code: 7,
    next: `portolan doctor ${silent.join(" ")}`,
  });
  expect(await failureOf("--server", "dies", "--server", "far")).toMatchObject({
    code: 4,
    message: expect.stringMatching(/^dies is not used: [\s\S]*\nfar needs sign-in/),
    next: "portolan doctor dies",
  });
  const some = await run("--server", "dies", "--server", "asking");
  expect(some.code).toBe(0);
  expect(some.stdout).toContain("dies is not used");
});

test("--yes-read-only allows read-only tools of a server with trusted labels", async () => {
  const { code, stdout } = await runPortolan(
    ["run", "what time is it now in zones=Asia/Tokyo", "--server", "time", "--yes-read-only", "--model", "demo"],
    { cwd: await trusted() },
  );
  expect(code).toBe(0);
  const events = eventsOf(stdout);
  expect(events).toContainEqual(expect.objectContaining({ type: "tool", stage: "call", server: "time", tool: "now" }));
  expect(events.at(-1).text).toContain("Asia/Tokyo");
});

test("--yes-read-only names the labels that are not trusted, and the step that trusts them", async () => {
  const cwd = makeHome();
  const time = join(root, "packages/servers/time/dist/main.js");
  await runPortolan(["add", "time", "--", process.execPath, time], { cwd });
  const args = ["run", "what time is it now in zones=Asia/Tokyo", "--server", "time", "--yes-read-only"];
  const why = "--yes-read-only does not cover time.now: you do not trust the read-only labels of time";
  const { code, stderr } = await runPortolan([...args, "--model", "demo"], { cwd });
  expect(code).toBe(6);
  expect(JSON.parse(stderr).error).toMatchObject({
    message: `time.now needed approval, but there is no terminal to ask; ${why}`,
    next: "portolan trust time --hints",
  });
  const terminal = openTerminal([...args, "--model", "demo"], { cwd });
  const shown = await terminal.see("v view its definition");
  expect(shown).toMatch(
    /does not cover time\.now: you do not trust[\s\S]*→ portolan trust time --hints[\s\S]*wants to call/,
  );
  terminal.type("n\r");
  expect(await terminal.exited).toBe(6);
  await runPortolan(["trust", "time", "--hints", "--yes"], { cwd });
  expect((await runPortolan([...args, "--model", "demo"], { cwd })).code).toBe(0);
});

test("--model takes a module with a model of your own", async () => {
  const cwd = makeHome();
  writeFileSync(
    join(cwd, "model.mjs"),
    `export default {
      id: "mine",
      capabilities: { tools: false, images: false },
      async *stream() {
        yield { type: "text", delta: "Hello from my model." };
        yield { type: "end", stopReason: "endTurn", model: "mine" };
      },
    };`,
  );
  writeFileSync(join(cwd, "none.mjs"), "export const model = 1;");
  const run = (file: string) => runPortolan(["run", "hello", "--model", file, ...behind.slice(-3)], { cwd });
  expect(eventsOf((await run("./model.mjs")).stdout).at(-1)).toMatchObject({ text: "Hello from my model." });
  const none = await run("./none.mjs");
  expect({ code: none.code, ...JSON.parse(none.stderr).error }).toMatchObject({
    ...{ code: 2, kind: "usage", message: expect.stringMatching(/none\.mjs has no model as its default export/) },
    next: "export default a model: { id, capabilities, stream }",
  });
  const missing = await run("./missing.mjs");
  expect({ code: missing.code, ...JSON.parse(missing.stderr).error }).toMatchObject({
    ...{ code: 2, message: expect.stringMatching(/missing\.mjs cannot be loaded: /) },
  });
});

test("asks at the terminal, shows the definition, and warns about text of a server", async () => {
  const paint = (colour: string) => `paint colour=${colour} coats=1 {"room":1}`;
  const task = `${paint("red")} then ${paint("green")} then ${paint("red")}`;
  const terminal = openTerminal(["run", task, ...behind], { cwd: await makeHome() });
  const shown = await terminal.see("v view its definition");
  for (const line of ["The model wants to call asking-server.paint", "│ Paints a wall", '"colour": "red"'])
    expect(shown).toContain(line);
  await terminal.answer("v view its definition", "v\r");
  await terminal.answer(/"inputSchema"[\s\S]*v view its definition/, "y\r");
  await terminal.answer(/! Caution: results of asking-server are in this conversation[\s\S]*v view/, "s\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen().split("wants to call asking-server.paint")).toHaveLength(3);
  expect(terminal.screen().split("✓")).toHaveLength(4);
  expect(terminal.screen().match(/^\{"colour":/gm)).toHaveLength(3);
});

test.each([
  ["n\r", "once"],
  ["N\r", "for 90 days"],
])("%j means no, %s, and the run fails with 6 as in a pipe", async (key, how) => {
  const cwd = await makeHome();
  const args = ["run", 'paint colour=red coats=1 {"room":1}', ...behind];
  const first = openTerminal(args, { cwd });
  await first.answer("v view its definition", key);
  await first.see(/✗ denied: asking-server\.paint was not approved by the user/);
  expect(await first.exited).toBe(6);
  const second = openTerminal(args, { cwd });
  await second.see(how === "once" ? "v view its definition" : "the user denied it until");
  if (how !== "once") expect(await second.exited).toBe(6);
});

test("Ctrl-C at the consent interrupts the run, and stores nothing", async () => {
  const cwd = await makeHome();
  const args = ["run", 'paint colour=red coats=1 {"room":1}', ...behind];
  const first = openTerminal(args, { cwd });
  await first.answer("v view its definition", "\u0003");
  expect(await first.exited).toBe(130);
  expect(first.screen()).toMatch(/✗ interrupted$/);
  await openTerminal(args, { cwd }).see("v view its definition");
});

test("reads a resource for the model only if the person agrees", async () => {
  const terminal = openTerminal(["run", "read the resource server=asking-server note://today", ...behind], {
    cwd: await makeHome(),
  });
  await terminal.answer(/The model wants to read a resource of asking-server:\n.*note:\/\/today[\s\S]*N never/, "y\r");
  await terminal.see("buy milk");
  expect(await terminal.exited).toBe(0);
});

test("the next run remembers always", async () => {
  const cwd = await makeHome();
  const args = ["run", 'paint colour=red coats=1 {"room":1}', ...behind];
  const first = openTerminal(args, { cwd });
  await first.answer("v view its definition", "a\r");
  expect(await first.exited).toBe(0);
  const { code, stdout } = await runPortolan(args, { cwd });
  expect(code).toBe(0);
  expect(eventsOf(stdout).at(-1).text).toContain('"coats":1');
});

test.each(["anthropic", "openai"] as const)("runs a model of %s without storing its key", async (dialect) => {
  const turns = [
    { call: { name: "time__now", input: { zones: ["Asia/Tokyo"] } } },
    { when: { tool: "time__now" }, say: "It is late." },
  ];
  await using provider = await startFakeProvider({ dialect, turns, apiKey: "key-of-the-user" });
  const name = dialect.toUpperCase();
  const cwd = await trusted();
  const { code, stdout, stderr } = await runPortolan(["run", "time?", "--server", "time", "--yes-read-only"], {
    cwd,
    env: { [`${name}_API_KEY`]: "key-of-the-user", [`${name}_BASE_URL`]: provider.url, [`${name}_MODEL`]: "m" },
  });
  expect(code).toBe(0);
  expect(eventsOf(stdout).at(-1)).toMatchObject({ reason: "done", text: "It is late." });
  expect(stdout + stderr).not.toContain("key-of-the-user");
});

test("fails at the limit of turns and names the flag to raise it", async () => {
  const args = ["run", "what time is it now in zones=Asia/Tokyo", "--server", "time", "--yes-read-only"];
  const { code, stderr } = await runPortolan([...args, "--max-turns", "1"], { cwd: await trusted() });
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error).toMatchObject({ kind: "failed", next: expect.stringContaining("--max-turns") });
});

test.each([
  [["run"], "no task given"],
  [["run", "x", "--max-turns", "none"], "--max-turns: expected a whole number above zero"],
  [["run", "x", "--server", "nobody"], "no server is named"],
  [["run", "x", "--model", "gpt-x"], "no API key is set"],
])("refuses %j with a reason", async (args, reason) => {
  const { code, stderr } = await runPortolan(args, { cwd: await makeHome() });
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toContain(reason);
});

test("ends silently when its reader stops after the first line", async () => {
  const cwd = await makeHome();
  const words = [process.execPath, portolan, "run", "hello", ...behind].map((word) => `'${word}'`).join(" ");
  const child = spawn("sh", ["-c", `${words} | head -n 1`], { cwd, env: environment(cwd) });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(0);
  expect(eventsOf(shown)).toHaveLength(1);
});

test("Ctrl-C ends a run in the middle of a call", async () => {
  const terminal = openTerminal(["run", "do it forever", ...behind], { cwd: await makeHome() });
  await terminal.answer("v view its definition", "y\r");
  await terminal.see("asking-server.forever");
  terminal.type("\u0003");
  await terminal.see("interrupted");
  expect(await terminal.exited).toBe(130);
});
