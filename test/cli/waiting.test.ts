// The program shows what it waits for: a spinner with the elapsed time on a terminal, nothing in a pipe.

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;

/** A server whose start, tool, resource, prompt and completion each wait until a file of their name exists. */
const slow = `import { existsSync } from "node:fs";
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

const gate = async (name) => {
  while (!existsSync(name)) await new Promise((resolve) => setTimeout(resolve, 20));
};
console.error("loading the \\u001b[31mmaps");
await gate("start");
serveStdio(
  createServer({ name: "slow", version: "1.0.0" })
    .tool("work", {
      async run(_, ctx) {
        await gate("half");
        await ctx.progress(1, 2, "half");
        await gate("tool");
        return "worked";
      },
    })
    .resource("slow://note", { name: "note", read: async () => (await gate("resource"), "read") })
    .prompt("greet", {
      arguments: { who: { complete: async () => (await gate("completion"), ["Ada"]) } },
      get: async () => (await gate("prompt"), [{ role: "user", content: { type: "text", text: "Hello" } }]),
    }),
);
`;

/** Makes a folder with the slow server, in which these gates are open. */
function prepare(...gates: string[]) {
  const cwd = makeProject({ "slow.mjs": slow });
  const release = (gate: string) => writeFileSync(join(cwd, gate), "");
  for (const gate of gates) release(gate);
  return { cwd, release };
}

const command = ["--", node, "slow.mjs"];

test.each([40, 80, 120])("shows the start of a server and a call with its progress in %i columns", async (columns) => {
  const { cwd, release } = prepare();
  const terminal = openTerminal(["call", "work", ...command], { cwd, columns });
  await terminal.see(/^\S starting slow \d\.\d s( · Ctrl-C cancels)?$/);
  release("start");
  await terminal.see(/^\S waiting for slow\.work \d\.\d s( · Ctrl-C cancels)?$/);
  release("half");
  await terminal.see(/^\S \[#{10} {10}\] 50 %.* \d\.\d s( · Ctrl-C cancels)?$/);
  expect(terminal.broken()).toEqual([]);
  release("tool");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toBe("worked");
});

test.each([
  ["read", ["read", "slow://note", ...command], "resource", /waiting for slow slow:\/\/note \d/, "read"],
  ["prompt", ["prompt", "greet", ...command], "prompt", /waiting for slow\.greet \d/, "user:\nHello"],
  ["complete", ["complete", "greet", "who", ...command], "completion", /waiting for slow \d/, "Ada"],
])("%s shows that it waits for the server, and leaves only its output", async (_, args, gate, wait, output) => {
  const { cwd, release } = prepare("start");
  const terminal = openTerminal(args, { cwd });
  await terminal.see(wait);
  release(gate);
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toBe(output);
});

test.each([
  ["doctor", ["doctor", ...command], /examining slow \d/],
  ["ls", ["ls", ...command], /starting slow \d/],
  ["watch", ["watch", ...command], /starting slow \d/],
  ["serve", ["serve", "--http", "0", ...command], /starting slow \d/],
])("%s shows that it waits for the start of a server", async (_, args, wait) => {
  const { cwd, release } = prepare();
  const terminal = openTerminal(args, { cwd });
  await terminal.see(wait);
  release("start");
  await terminal.see(/slow( 1\.0\.0| 2026| \(2026)| stderr /);
  expect(terminal.screen()).not.toMatch(wait);
});

test("run names the server that it waits for before it asks the model", async () => {
  const { cwd, release } = prepare();
  const terminal = openTerminal(["run", "--model", "demo", "hello", ...command], { cwd });
  await terminal.see(/^\S starting slow \d\.\d s · Ctrl-C cancels$/m);
  expect(terminal.written()).not.toContain("waiting for the model");
  release("start");
  expect(await terminal.exited).toBe(0);
});

test("leaves no trace in a pipe, in CI and on a terminal without escape sequences", async () => {
  const { cwd } = prepare();
  const args = ["call", "work", "--timeout", "1", ...command];
  const piped = await runPortolan(args, { cwd });
  expect(piped).toMatchObject({ code: 7, stdout: "" });
  expect(JSON.parse(piped.stderr)).toMatchObject({ error: { kind: "timeout" } });
  for (const env of [{ CI: "true" }, { TERM: "dumb" }]) {
    const terminal = openTerminal(args, { cwd, env });
    expect(await terminal.exited).toBe(7);
    expect(terminal.written()).not.toContain("starting");
  }
});

test("removes the wait when Ctrl-C cancels, and when a second one ends the program", async () => {
  const { cwd } = prepare("start");
  const terminal = openTerminal(["call", "work", ...command], { cwd });
  await terminal.answer(/waiting for slow\.work/, "\u0003");
  expect(await terminal.exited).toBe(130);
  expect(terminal.screen()).not.toContain("waiting");
  expect(terminal.screen()).toMatch(/✗ interrupted$/);
});

test("lists servers as soon as they answer, and gives up on one with the reason", async () => {
  const { cwd, release } = prepare();
  const server = { command: node, args: ["slow.mjs"], cwd };
  const quick = `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
serveStdio(createServer({ name: "quick", version: "1.0.0" }).tool("hello", { run: () => "hi" }));
`;
  writeFileSync(join(cwd, "quick.mjs"), quick);
  const servers = { slow: server, quick: { command: node, args: ["quick.mjs"], cwd } };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of Object.keys(servers)) await runPortolan(["trust", name, "--yes"], { cwd });

  const terminal = openTerminal(["servers", "--timeout", "60"], { cwd, columns: 100 });
  await terminal.see(/ tools\n +slow +\.mcp\.json +\S starting \d.*\n +quick +\.mcp\.json +ready/);
  release("start");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toMatch(/^ +server +from +state +tools\n +slow .* ready .* 1\n +quick .* ready .* 1$/);

  const { cwd: elsewhere } = prepare();
  const hanging = { slow: { command: node, args: ["slow.mjs"], cwd: elsewhere } };
  writeFileSync(join(elsewhere, ".mcp.json"), JSON.stringify({ mcpServers: hanging }));
  await runPortolan(["trust", "slow", "--yes"], { cwd: elsewhere });
  const { stdout } = await runPortolan(["servers", "--timeout", "1"], { cwd: elsewhere });
  expect(JSON.parse(stdout).servers).toEqual([
    {
      name: "slow",
      state: "silent",
      detail: expect.stringMatching(/^no answer within 1 s; its last output: loading the /),
      next: "portolan doctor slow",
      from: ".mcp.json",
      tools: 0,
    },
  ]);
  const narrow = openTerminal(["servers", "--timeout", "0.5"], { cwd: elsewhere, columns: 40 });
  expect(await narrow.exited).toBe(0);
  expect(narrow.screen()).toMatch(/slow +\.mcp\.json +silent *\n +→ portolan doctor slow$/);
  expect(narrow.broken()).toEqual([]);
  const wide = openTerminal([], { cwd: elsewhere, columns: 120 });
  expect(await wide.exited).toBe(0);
  expect(wide.screen()).toMatch(/slow +\.mcp\.json +silent no answer within 5 s; its last .* → portolan doctor slow$/);
});

test("--timeout ends the wait for a server in every command that starts it", async () => {
  const { cwd } = prepare();
  const late = /(?:slow|it) did not answer within 0\.5 s/;
  const run = await runPortolan(["run", "hello", "--model", "demo", "--timeout", "0.5", ...command], { cwd });
  expect(run.code).toBe(7);
  expect(run.stderr).toMatch(late);
  const chat = ["chat", "--model", "demo", "--timeout", "0.5", ...command];
  const chatted = await runPortolan(chat, { cwd, input: "hello\n" });
  expect([chatted.code, chatted.stdout]).toEqual([7, ""]);
  expect(chatted.stderr).toMatch(late);
  const server = { command: node, args: ["slow.mjs"], cwd };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { slow: server } }));
  await runPortolan(["trust", "slow", "--yes"], { cwd });
  const trust = await runPortolan(["trust", "slow", "--changes", "--timeout", "0.5"], { cwd });
  expect(trust.code).toBe(7);
  expect(JSON.parse(trust.stderr).error.message).toMatch(late);
});

test("shows the wait for a model, and why and when it is asked again", async () => {
  let requests = 0;
  const provider = createServer((_, response) => {
    requests += 1;
    response.writeHead(529, { "retry-after": requests < 2 ? "30" : "0" }).end('{"error":{"message":"too busy"}}');
  });
  await new Promise<void>((resolve) => void provider.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void provider.close());
  const { port } = provider.address() as AddressInfo;
  const { cwd } = prepare("start");
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
  const terminal = openTerminal(["run", "hello", ...command], { cwd, env });
  await terminal.answer(/too busy.* trying again in \d+ s$/, "\u0003");
  expect(await terminal.exited).toBe(130);
  expect(terminal.screen()).not.toContain("trying again");
});
