// Flags of a target: variables, folder, headers, client and era of a server that is not configured.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { makeHome, type Ran, root, runPortolan } from "./kit.ts";
import { makeProject, startPortolan } from "./make-kit.ts";

const node = process.execPath;
const strict = join(root, "test/cli/fixtures/strict.mjs");
const cwd = makeHome();
mkdirSync(join(cwd, "sub"));

/** The address answers only requests with the header of a team. */
const address = spawn(node, [strict, "--http"]);
let url = "";
beforeAll(async () => {
  const [port] = await once(address.stdout.setEncoding("utf8"), "data");
  url = `http://127.0.0.1:${String(port).trim()}/mcp`;
});
afterAll(() => void address.kill());

const ok = ({ code, stdout, stderr }: Ran) => {
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout.split("\n").filter(Boolean);
};
const json = (ran: Ran) => JSON.parse(ok(ran).at(-1) ?? "null");
const errorOf = ({ stderr }: Ran) => JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error;

const stateful = ["--era", "2025-06-18"];
const behind = ["--", node, strict];
const hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n';
const handshake = ["--only", "handshake/result", ...stateful];

describe("a command", () => {
  const env = { STRICT_MODE: "on" };
  const run = (args: string[], input = "") => runPortolan(args, { cwd, env, input });
  const started = ["--env", "STRICT_MODE", "--cwd", "sub", "--timeout", "20"];

  test("ls", async () => {
    expect(json(await run(["ls", ...started, ...stateful, ...behind])).server).toMatchObject({
      version: "2025-06-18",
      info: { name: "strict" },
    });
  });

  test.each([
    ["a variable", ["--cwd", "sub", ...stateful], /STRICT_MODE must be on/],
    ["a folder", ["--env", "STRICT_MODE=on", ...stateful], /expected the folder sub/],
    ["the era", ["--env", "STRICT_MODE=on", "--cwd", "sub"], /only speak 2025-06-18/],
  ])("fails without %s", async (_, flags, why) => {
    const ran = await run(["ls", ...flags, ...behind]);
    expect(ran.code).not.toBe(0);
    expect(errorOf(ran).message).toMatch(why);
  });

  test("call, read, prompt and complete", async () => {
    const call = await run(["call", "hello", ...started, ...stateful, ...behind]);
    expect(json(call)).toEqual({ content: [{ type: "text", text: "hi" }] });
    const read = await run(["read", "strict://note", ...started, ...stateful, ...behind]);
    expect(json(read)).toEqual({ contents: [{ uri: "strict://note", text: "a note" }] });
    const prompt = await run(["prompt", "greet", ...started, ...stateful, ...behind]);
    expect(json(prompt).messages).toHaveLength(1);
    const complete = await run(["complete", "greet", "who", ...started, ...stateful, ...behind]);
    expect(json(complete)).toEqual({ values: ["Ada"] });
  });

  test("watch, doctor and check", async () => {
    expect(json(await run(["watch", "--limit", "1", ...started, ...stateful, ...behind]))).toMatchObject({
      kind: "server",
    });
    expect(json(await run(["doctor", ...started, ...stateful, ...behind])).servers).toMatchObject([
      { state: "ready", version: "2025-06-18" },
    ]);
    const report = json(await run(["check", ...started, ...handshake, ...behind]));
    expect(report).toMatchObject({ isPassed: true, verdicts: [{ revision: "2025-06-18" }] });
  });

  test("record, and replay --check", async () => {
    const recorded = await run(["record", "--out", "talk.jsonl", "--env", "A=1", "--cwd", "sub", ...behind], hello);
    expect(json(recorded)).toMatchObject({ id: 1, result: { serverInfo: { name: "strict" } } });
    const replayed = await run(["replay", "talk.jsonl", "--check", ...started, ...behind]);
    expect(json(replayed)).toEqual({ answers: 1, differences: [] });
    const lost = await run(["replay", "talk.jsonl", "--check", "--env", "STRICT_MODE", ...behind]);
    expect(lost.code).toBe(4);
  });

  test("serve", async () => {
    const args = ["serve", "--http", "0", ...started, ...stateful, ...behind];
    const serving = startPortolan(args, cwd, env);
    expect(await serving.event("ready")).toMatchObject({ name: "strict", speaks: "2025-06-18" });
    expect(await serving.end("SIGTERM")).toBe(0);
  });
});

describe("an address", () => {
  const run = (args: string[], input = "") => runPortolan(args, { cwd, input });
  const signed = ["--header", "X-Team=docs", "--client-id", "my-app"];

  test("ls, call, read, prompt and complete", async () => {
    expect(json(await run(["ls", url, ...signed, ...stateful])).tools).toHaveLength(1);
    expect(json(await run(["call", url, "hello", ...signed, ...stateful])).content).toHaveLength(1);
    expect(json(await run(["read", url, "strict://note", ...signed, ...stateful])).contents).toHaveLength(1);
    expect(json(await run(["prompt", url, "greet", ...signed, ...stateful])).messages).toHaveLength(1);
    expect(json(await run(["complete", url, "greet", "who", ...signed, ...stateful]))).toEqual({ values: ["Ada"] });
  });

  test("watch, doctor, check, record and replay", async () => {
    expect(json(await run(["watch", url, "--limit", "1", ...signed, ...stateful]))).toMatchObject({ kind: "server" });
    expect(json(await run(["doctor", url, ...signed, ...stateful])).servers).toMatchObject([{ state: "ready" }]);
    expect(json(await run(["check", url, ...signed, ...handshake]))).toMatchObject({ isPassed: true });
    const recorded = await run(["record", url, "--out", "address.jsonl", ...signed], hello);
    expect(json(recorded)).toMatchObject({ id: 1, result: { serverInfo: { name: "strict" } } });
    expect(json(await run(["replay", "address.jsonl", url, "--check", ...signed]))).toMatchObject({ answers: 1 });
  });

  test("serve", async () => {
    const serving = startPortolan(["serve", url, "--http", "0", ...signed, ...stateful], cwd);
    expect(await serving.event("ready")).toMatchObject({ name: "strict" });
    expect(await serving.end("SIGTERM")).toBe(0);
  });

  test("the next step has the client of the command line, and works as it is shown", async () => {
    const refused = await run(["ls", url, "--client-id", "my-app", "--header", "X-Team=sales"]);
    expect(refused.code).toBe(3);
    expect(errorOf(refused).next).toBe(`portolan login ${url} --client-id my-app`);
  });
});

test("up keeps a server running with the flags, and other commands with the same flags use it", async () => {
  const home = makeHome();
  mkdirSync(join(home, "sub"));
  onTestFinished(async () => void (await runPortolan(["down"], { cwd: home })));
  const flags = ["--env", "STRICT_MODE=on", "--cwd", "sub", ...stateful];
  const up = (words: readonly string[]) => runPortolan(["up", ...words], { cwd: home });
  const running = json(await up([...flags, "--timeout", "20", ...behind]));
  expect(running.servers).toMatchObject([{ name: "strict", revision: "2025-06-18" }]);
  const called = await runPortolan(["call", "hello", ...flags, ...behind], { cwd: home });
  expect(json(called).content).toHaveLength(1);
  const withAddress = json(await up([url, "--header", "X-Team=docs", "--client-id", "my-app", ...stateful]));
  expect(withAddress.servers).toHaveLength(2);
  const env = { STRICT_MODE: "on" };
  const withheld = await runPortolan(["up", "--cwd", "sub", ...stateful, ...behind], { cwd: home, env });
  const { next } = errorOf(withheld);
  expect([withheld.code, next]).toEqual([
    4,
    `portolan up --env STRICT_MODE --cwd sub --era 2025-06-18 -- ${node} ${strict}`,
  ]);
  expect((await runPortolan(next.split(" ").slice(1), { cwd: home, env })).code).toBe(0);
  const several = await up(["--env", "A=b", "one", "two"]);
  expect([several.code, errorOf(several).message]).toEqual([2, "--env is for one server; name it"]);
});

test.each([
  [
    ["up", "nosuch", ...behind],
    ["up", ...behind],
  ],
  [
    ["serve", "nosuch", "--http", "0", ...behind],
    ["serve", "--http", "0", ...behind],
  ],
  [
    ["check", "nosuch", ...behind],
    ["check", ...behind],
  ],
  [
    ["doctor", "nosuch", ...behind],
    ["doctor", ...behind],
  ],
  [
    ["gen", "ts", "nosuch", "--out", "-", ...behind],
    ["gen", "ts", "--out", "-", ...behind],
  ],
  [
    ["record", "nosuch", ...behind],
    ["record", ...behind],
  ],
])("%j refuses a server beside a command, and shows the command alone", async (args, alone) => {
  const ran = await runPortolan(args, { cwd: makeHome() });
  expect([ran.code, ran.stdout, errorOf(ran)]).toEqual([
    2,
    "",
    {
      kind: "usage",
      message: '"nosuch" names a server, and so does the command after --; expected one of them',
      next: `portolan ${alone.join(" ")}`,
    },
  ]);
});

test("record and replay say where a recording and a server go", async () => {
  const home = join(makeHome(), "sub");
  mkdirSync(home);
  const misplaced = await runPortolan(["record", "talk.jsonl", ...behind], { cwd: home });
  expect([misplaced.code, errorOf(misplaced)]).toMatchObject([
    2,
    {
      message: "the recording goes after --out: talk.jsonl",
      next: `portolan record --out talk.jsonl ${behind.join(" ")}`,
    },
  ]);
  const words = (step: string) => step.split(" ").slice(1);
  const env = { STRICT_MODE: "on" };
  expect((await runPortolan(words(errorOf(misplaced).next), { cwd: home, env, input: hello })).code).toBe(0);
  for (const server of [behind, ["./server.mjs"]]) {
    const shown = await runPortolan(["replay", "talk.jsonl", ...server], { cwd: home });
    expect([shown.code, shown.stdout, errorOf(shown).next]).toEqual([
      2,
      "",
      `portolan replay --check talk.jsonl ${server.join(" ")}`,
    ]);
  }
  const checked = await runPortolan(["replay", "talk.jsonl", "--env", "STRICT_MODE", ...behind], { cwd: home, env });
  expect(json(await runPortolan(words(errorOf(checked).next), { cwd: home, env }))).toMatchObject({ answers: 1 });
});

test("dev passes variables and a folder to a server file", async () => {
  const folder = makeProject({
    "server.mjs": `import { createServer } from "portolan/server";
export default createServer({ name: process.env.NAME, version: process.cwd() }).tool("a", { run: () => "b" });
`,
  });
  mkdirSync(join(folder, "sub"));
  const serving = startPortolan(["dev", "server.mjs", "--http", "0", "--env", "NAME=given", "--cwd", "sub"], folder);
  expect(await serving.event("ready")).toMatchObject({ name: "given", version: join(folder, "sub") });
  await serving.end("SIGTERM");
});

test("an address without the path of the server fails with the one where it answers, and the command to type", async () => {
  const { origin } = new URL(await serveHttp(scriptOf("time")));
  const ran = await runPortolan(["call", origin, "now", "--timeout", "20"], { cwd });
  expect([ran.code, errorOf(ran)]).toEqual([
    4,
    {
      kind: "unreachable",
      message: `there is no server at the path /, but one answers at ${origin}/mcp`,
      next: `portolan call ${origin}/mcp now --timeout 20`,
    },
  ]);
  expect((await runPortolan(["call", `${origin}/mcp`, "now"], { cwd })).code).toBe(0);
});

describe("run and chat", () => {
  const model = ["--model", "demo"];
  const flags = ["--env", "STRICT_MODE=on", "--cwd", "sub", ...stateful, "--allow", "strict.*"];
  const call = "hello";

  test("apply the flags to the command after --", async () => {
    const ran = await runPortolan(["run", ...model, ...flags, "--text", call, ...behind], { cwd });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const talked = await runPortolan(["chat", ...model, ...flags, ...behind], { cwd, input: `${call}\n` });
    expect(talked).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining('"tool":"hello"') });
  });

  test("apply the flags of an address to the only one", async () => {
    const given = [...model, "--server", url, "--allow", "*", ...stateful];
    const lacks = await runPortolan(["run", ...given, call], { cwd });
    expect(lacks).toMatchObject({ code: 3, stdout: "" });
    const signed = ["--header", "X-Team=docs", "--client-id", "mine"];
    const called = { code: 0, stderr: "", stdout: expect.stringContaining('"tool":"hello"') };
    expect(await runPortolan(["run", ...given, ...signed, call], { cwd })).toMatchObject(called);
    const input = `${call}\n`;
    expect(await runPortolan(["chat", ...given, ...signed], { cwd, input })).toMatchObject(called);
  });

  test("refuse flags that fit no server, or several", async () => {
    const none = await runPortolan(["run", ...model, "--env", "A=1", call], { cwd });
    expect([none.code, errorOf(none)]).toEqual([
      2,
      {
        kind: "usage",
        message: "--env is for one command or file, and the command line names none",
        next: "write its command after --",
      },
    ]);
    const several = ["--server", url, "--server", url.replace("127.0.0.1", "localhost"), "--client-id", "mine"];
    expect(errorOf(await runPortolan(["chat", ...model, ...several], { cwd }))).toMatchObject({
      message: "--client-id is for one address, and the command line names several",
    });
  });
});

test("the flags apply to a configured server for one run, without a new trust decision", async () => {
  const entry = { command: node, args: [strict], cwd: join(cwd, "sub") };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { strict: entry } }));
  await runPortolan(["trust", "strict", "--yes"], { cwd });
  const env = { STRICT_MODE: "on" };
  const failed = await runPortolan(["call", "strict.hello", ...stateful], { cwd, env });
  expect(failed.code).toBe(4);
  expect(errorOf(failed)).toMatchObject({
    message: expect.stringMatching(/\nSTRICT_MODE is set in your shell, but was not passed to the server$/),
    next: "portolan add strict --env STRICT_MODE",
  });
  const once = ["call", "--env", "STRICT_MODE", "strict.hello", ...stateful];
  expect(json(await runPortolan(once, { cwd, env })).content).toHaveLength(1);
  const next = errorOf(failed).next.split(" ").slice(1);
  expect((await runPortolan(next, { cwd, env })).code).toBe(0);
  expect(json(await runPortolan(["call", "strict.hello", ...stateful], { cwd, env })).content).toHaveLength(1);
});

test("gen passes variables and headers, and writes references to them", async () => {
  const flags = ["--env", "STRICT_MODE=on", "--cwd", "sub", ...stateful];
  const made = await runPortolan(["gen", "ts", "--out", "-", ...flags, ...behind], { cwd });
  expect(made.code).toBe(0);
  expect(made.stdout).toContain('"STRICT_MODE": (process.env["STRICT_MODE"] ?? "")');
  expect(made.stdout).toContain(`portolan gen ts --env STRICT_MODE --cwd ${join(cwd, "sub")}`);
  expect(made.stdout).not.toMatch(/STRICT_MODE(=|": )"?on/);
  const sent = await runPortolan(["gen", "ts", url, "--out", "-", "--header", "X-Team=docs", ...stateful], { cwd });
  expect(sent.code).toBe(0);
  expect(sent.stdout).toMatch(/"X-Team": \(process\.env\["\w+_X_TEAM"\] \?\? ""\)/);
  const failed = await runPortolan(["gen", "ts", "--cwd", "sub", ...stateful, ...behind], {
    cwd,
    env: { STRICT_MODE: "on" },
  });
  expect(errorOf(failed).next).toMatch(/^portolan gen --env STRICT_MODE ts --cwd sub /);
});

test("gen signs in as the client of the command line, and waits no longer than it is told", async () => {
  const refused = await runPortolan(["gen", "ts", url, "--client-id", "my-app", "--header", "X-Team=sales"], { cwd });
  expect([refused.code, errorOf(refused).next]).toEqual([3, `portolan login ${url} --client-id my-app`]);
  const hung = await runPortolan(["gen", "ts", "--timeout", "0.5", "--", node, "-e", "setInterval(() => {}, 1_000)"], {
    cwd,
  });
  expect([hung.code, errorOf(hung).message]).toEqual([7, "node did not answer within 0.5 s"]);
});

test("a server that dies without a variable of the shell: the message shows the command that passes it", async () => {
  const env = { STRICT_MODE: "on" };
  const failed = await runPortolan(["ls", "--cwd", "sub", ...stateful, ...behind], { cwd, env });
  expect(errorOf(failed).next).toBe(`portolan ls --env STRICT_MODE --cwd sub --era 2025-06-18 -- ${node} ${strict}`);
  const { stdout } = await runPortolan(["doctor", "--cwd", "sub", ...stateful, ...behind], { cwd, env });
  expect(JSON.parse(stdout).findings).toMatchObject([
    {
      why: expect.stringContaining("STRICT_MODE is set in your shell, but was not passed to the server"),
      next: `portolan doctor --env STRICT_MODE --cwd sub --era 2025-06-18 -- ${node} ${strict}`,
    },
  ]);
  const unset = await runPortolan(["ls", "--cwd", "sub", ...stateful, ...behind], { cwd });
  expect(errorOf(unset).next).toBe(`portolan doctor --cwd ${join(cwd, "sub")} --era 2025-06-18 -- ${node} ${strict}`);
});

test.each([
  [["ls", "--env", "STRICT_MODE", ...behind], "--env STRICT_MODE: your shell has no variable STRICT_MODE"],
  [["ls", "--env", "=x", ...behind], "--env: expected NAME=VALUE, or NAME to pass a variable of your shell"],
  [["ls", "--header", "A=b", ...behind], "--header is for an address; use --env"],
  [["ls", "--client-id", "a", ...behind], "--client-id is for an address; use --env"],
  [["ls", "--cwd", "nowhere", ...behind], "--cwd: folder not found: nowhere"],
  [["ls", "http://127.0.0.1:1/mcp", "--env", "A=b"], "--env is for a command or a file; use --header"],
  [["ls", "http://127.0.0.1:1/mcp", "--cwd", "."], "--cwd is for a command or a file"],
  [["ls", "--era", "modern", ...behind], expect.stringMatching(/^--era: expected one of auto, stateless, stateful, 2/)],
  [["call", ...behind], "missing <tool>; expected: portolan call <tool> [arguments...] -- <command>"],
  [["read", ...behind], "missing <uri>; expected: portolan read <uri> -- <command>"],
  [["doctor", "--env", "A=b"], "--env is for one server; name it"],
  [["ls", "--timeout", "soon", ...behind], '--timeout: expected a number of seconds above zero, got "soon"'],
])("refuses %j", async (args, message) => {
  const ran = await runPortolan(args, { cwd: makeHome() });
  expect(ran.code).toBe(2);
  expect(errorOf(ran).message).toEqual(message);
});
