import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../packages/cli/src/command-table.ts";
import { makeHome, root } from "./kit.ts";
import { put, runPortolan } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const fixture = join(root, "test/cli/fixtures/hostile-texts.mjs");
const paint = "\u001b]0;owned\u0007\u009b31m\u202e\u200b\u{e0041}\u007f\u2028";
/** Matches what the command itself never writes: titles, C1 controls, bidirectional and hidden characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const painted = /\u001b\]|[\u0007\u007f\u0080-\u009f\u200b\u2028\u202e]|\udb40\udc41/;

/** What to wait for on the screen, and what to type then. */
type Step = readonly [see: string | RegExp, type: string];

interface Session {
  readonly args: readonly string[];
  readonly steps?: readonly Step[];
}

const hostile = ["--", process.execPath, fixture];
const interrupt = "\u0003";
const recording = "talk.jsonl";

/** At least one session for each command. */
const sessions: { readonly [command: string]: readonly Session[] } = {
  servers: [{ args: [] }, { args: ["--offline"] }],
  ls: [
    { args: ["--schema", ...hostile] },
    { args: ["painted"], steps: [[/yes, once/, "y\r"]] },
    { args: [...hostile, "crash"] },
    { args: ["all", ...hostile] },
    { args: ["ask", "--schema", ...hostile] },
    { args: ["missing", ...hostile] },
  ],
  call: [
    { args: ["all", "--help", ...hostile] },
    { args: ["all", ...hostile] },
    { args: ["fail", ...hostile] },
    { args: ["error", ...hostile] },
    { args: ["missing", ...hostile] },
    {
      args: ["ask", ...hostile],
      steps: [
        [/asked[\s\S]*>$/, "x\r"],
        [/number or name[\s\S]*>$/, "1\r"],
        [/send it/, "e\r"],
        [/asked[\s\S]*>/, "\r"],
        [/number or name[\s\S]*>/, "\r"],
        [/send it/, "n\r"],
      ],
    },
    { args: ["visit", ...hostile], steps: [[/I open it myself/, "n\r"]] },
    {
      args: ["model", ...hostile],
      steps: [
        [/view|edit/, "v\r"],
        [/maxTokens[\s\S]*edit/, "n\r"],
      ],
    },
    { args: ["where", "--root", ".", ...hostile], steps: [[/this session/, "n\r"]] },
  ],
  tasks: [{ args: [] }, { args: ["show", `nothing${paint}`] }, { args: [`wait${paint}`] }],
  read: [{ args: ["x://text", ...hostile] }, { args: [...hostile] }],
  prompt: [{ args: ["plain", ...hostile] }, { args: ["missing", ...hostile] }],
  complete: [{ args: ["plain", "word", "", ...hostile] }],
  run: [{ args: ["use the tool all", "--model", "demo", ...hostile], steps: [[/once|this session/, "y\r"]] }],
  chat: [
    {
      args: ["--model", "demo", ...hostile],
      steps: [
        [/\/help lists/, "/tools\r"],
        [/named/, "/servers\r"],
        [/ready/, "/prompts\r"],
        [/plain/, "@text\r"],
        [/number/, "1\r"],
        [/attached/, "/log\r"],
        [/>\s*$/, "/quit\r"],
      ],
    },
  ],
  console: [{ args: ["--no-open", "--port", "0", ...hostile], steps: [[/Ctrl-C/, interrupt]] }],
  watch: [{ args: ["--level", "debug", "--limit", "2", ...hostile] }],
  up: [{ args: ["painted"] }, { args: [...hostile, "crash"] }, { args: hostile }],
  down: [{ args: [`nothing${paint}`] }, { args: [] }],
  gen: [
    { args: ["ts", "--out", "-", ...hostile] },
    { args: ["skill", "--out", "-", ...hostile] },
    { args: ["cli", ...hostile] },
    { args: ["ts", "painted"], steps: [[/yes, once/, "y\r"]] },
  ],
  add: [{ args: ["copied", "--from", "other.json", "--to", "cursor"] }, { args: ["copied", "--from", "other.json"] }],
  remove: [{ args: ["removed"] }],
  trust: [{ args: ["fresh"], steps: [[/y yes .* n no/, "n\r"]] }],
  grants: [{ args: [] }],
  log: [{ args: [] }, { args: ["--verify"] }],
  login: [{ args: ["far", "--no-browser"] }],
  logout: [{ args: ["far"] }],
  doctor: [{ args: [...hostile] }, { args: [...hostile, "crash"] }],
  check: [{ args: ["--only", "base/*", "--only", "eras/*", "--revision", "2025-11-25", "--timeout", "3", ...hostile] }],
  test: [{ args: [], steps: [[/yes, once/, "y\r"]] }, { args: [`nothing${paint}`] }],
  record: [{ args: ["--out", "again.jsonl", ...hostile], steps: [[/standard error/, interrupt]] }],
  skills: [
    { args: ["ls", ...hostile] },
    { args: ["show", "trick", ...hostile] },
    { args: ["show", "missing", ...hostile] },
    { args: ["verify", ...hostile] },
  ],
  card: [{ args: ["--name", "com.example/x", ...hostile] }],
  pack: [{ args: ["painted-bundle"] }, { args: [`missing${paint}`] }],
  replay: [{ args: [recording] }, { args: [recording, "--check", ...hostile, "crash"] }],
  new: [{ args: ["weather"] }],
  dev: [
    { args: ["server.mjs", "--http", "0"], steps: [[/Ctrl-C/, interrupt]] },
    { args: ["itself.mjs", "--http", "0"], steps: [[/Ctrl-C/, interrupt]] },
    { args: ["broken.mjs", "--http", "0"] },
  ],
  serve: [
    { args: ["--http", "0", ...hostile], steps: [[/Ctrl-C/, interrupt]] },
    { args: ["--http", "0", ...hostile, "crash"] },
    {
      args: ["--http", "0", "--", process.execPath, join(root, "test/cli/fixtures/half-broken.mjs")],
      steps: [[/Ctrl-C/, interrupt]],
    },
  ],
  keys: [{ args: ["rotate", `nothing${paint}`] }, { args: [`turn${paint}`] }],
  completion: [{ args: ["bash"] }],
};

let server: Server;
let cwd: string;
beforeAll(async () => {
  server = startPainter();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cwd = await makeHostileHome(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
});
afterAll(() => void server.close());

/** An authorization server that paints its errors. */
function startPainter(): Server {
  return createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const answer = (status: number, body: object, headers = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    if (request.url === "/mcp") return answer(401, { error: paint }, { "www-authenticate": 'Bearer error="x"' });
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      return answer(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (request.url?.startsWith("/.well-known/")) {
      return answer(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ["S256"],
      });
    }
    return answer(400, { error: `bad${paint}`, error_description: `refused ${paint}` });
  });
}

/** A folder with hostile files: configurations, server files and a recording. */
async function makeHostileHome(url: string): Promise<string> {
  const cwd = await makeHome();
  const [command, ...args] = hostile.slice(1);
  put(cwd, "other.json", { mcpServers: { copied: { command, args: [...args, paint], env: { A: paint } } } });
  for (const name of ["painted", "removed"]) {
    await runPortolan(["add", name, "--", command ?? "", ...args, paint], { cwd });
  }
  await runPortolan(["add", "far", url], { cwd });
  const file = join(cwd, ".mcp.json");
  const { mcpServers } = JSON.parse(readFileSync(file, "utf8"));
  const fresh = { command, args: [...args, `fresh${paint}`], env: { VALUE: paint } };
  put(cwd, ".mcp.json", {
    mcpServers: { ...mcpServers, fresh, [`evil${paint}`]: fresh, odd: { command: 7, url: paint } },
  });
  const from = { at: 1, from: "server", message: { jsonrpc: "2.0", id: 1, result: { [paint]: paint } } };
  const asked = {
    at: 0,
    from: "client",
    message: { jsonrpc: "2.0", id: 1, method: `x${paint}`, params: { a: paint } },
  };
  const header = { recording: 1, by: paint, server: paint, startedAt: paint, redacted: true };
  put(cwd, recording, [header, asked, from].map((line) => JSON.stringify(line)).join("\n"));
  put(cwd, "server.mjs", serverFile);
  const saved = (name: string, server: string, tool: string) => ({
    name,
    server,
    tool,
    argumentsText: "{}",
    expect: [],
  });
  const calls = [saved(`a${paint}`, "painted", "all"), saved(`b${paint}`, `nobody${paint}`, paint)];
  const wrong = [{ path: "content", matches: paint.replaceAll(/[[\]()]/g, ".") }];
  put(cwd, ".portolan/calls.json", {
    version: 1,
    calls: [...calls, { ...saved("c", "painted", "fail"), expect: wrong }],
  });
  const text = `x${paint}`;
  const server = { type: "node", entry_point: text, mcp_config: { command: text, args: [text] } };
  const manifest = {
    manifest_version: "0.3",
    name: text,
    version: text,
    description: text,
    author: { name: text },
    server,
  };
  put(cwd, "painted-bundle/manifest.json", manifest);
  put(cwd, "itself.mjs", `await import(${JSON.stringify(fixture)}); // serveStdio(\n`);
  put(cwd, "broken.mjs", `export default 1;\nthrow new Error(${JSON.stringify(paint)});\n`);
  return cwd;
}

const serverFile = `import { createServer } from ${JSON.stringify(join(root, "packages/portolan/dist/server/index.js"))};
export default createServer({ name: ${JSON.stringify(`n${paint}`)}, version: ${JSON.stringify(`v${paint}`)} })
  .tool("x", { title: ${JSON.stringify(`t${paint}`)}, run: () => "x" });
`;

describe("a server whose every text is hostile", () => {
  const all = Object.entries(sessions).flatMap(([command, each]) => each.map((session) => ({ command, ...session })));

  test.each(all)("changes nothing on the terminal of $command $args", async ({ command, args, steps = [] }) => {
    const terminal = openTerminal([command, ...args], { cwd, columns: 120, rows: 50 });
    for (const [see, type] of steps) await terminal.answer(see, type);
    await terminal.exited;
    expect(terminal.written()).not.toMatch(painted);
    expect(terminal.written()).not.toBe("");
  });

  test("is met by every command", () => {
    const visible = commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
    expect(Object.keys(sessions).sort()).toEqual([...visible].sort());
  });

  test.each([
    ["serve-file", "broken.mjs"],
    ["complete-words", "--", "ls", ""],
  ])("changes nothing on the terminal of %s", async (...args) => {
    const terminal = openTerminal(args, { cwd });
    await terminal.exited;
    expect(terminal.written()).not.toMatch(painted);
  });

  test("changes nothing in the errors of serve-recording", async () => {
    const ran = await runPortolan(["serve-recording", recording], { cwd, input: `{"method":"${paint}\n` });
    expect(ran.stderr).not.toBe("");
    expect(ran.stderr).not.toMatch(painted);
  });
});
