import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { commands } from "../../packages/cli/src/command-table.ts";
import { scriptOf } from "../servers/kit/programs.ts";
import { environment, portolan, root, runPortolan } from "./kit.ts";
import { makeProject } from "./make-kit.ts";

const home = makeProject({
  "server.mjs": `import { createServer } from "portolan/server";
export default createServer({ name: "small", version: "1.0.0" }).tool("hello", { run: () => "hi" });
`,
});

beforeAll(async () => {
  const asking = join(root, "test/cli/asking-server.mjs");
  await runPortolan(["add", "asking", "--", process.execPath, asking], { cwd: home });
  await runPortolan(["add", "gone", "--", process.execPath, asking], { cwd: home });
  await runPortolan(["add", "time", "--", process.execPath, scriptOf("time")], { cwd: home });
  await runPortolan(["call", "./server.mjs", "hello", "--record", "talk.jsonl"], { cwd: home });
});

afterAll(async () => void (await runPortolan(["down"], { cwd: home })));

interface Use {
  readonly args: readonly string[];
  /** When to press Ctrl-C, for a command that runs until then. */
  readonly until?: RegExp;
  /** The command fails and reports it on standard error. */
  readonly code?: number;
}

/** One use of each visible command. */
const uses: { readonly [command: string]: Use } = {
  servers: { args: ["servers"] },
  ls: { args: ["ls", "time"] },
  call: { args: ["call", "time.now", "zones=Asia/Tokyo"] },
  tasks: { args: ["tasks"] },
  read: { args: ["read", "time", "time://UTC"] },
  prompt: { args: ["prompt", "asking", "greet", "who=Ada"] },
  complete: { args: ["complete", "asking", "greet", "who", "A"] },
  skills: { args: ["skills", "ls", "time"] },
  run: { args: ["run", "hello", "--model", "demo", "--server", "time"] },
  chat: { args: ["chat", "--server", "nobody"], code: 2 },
  console: { args: ["console", "--no-open", "--port", "0"], until: /127\.0\.0\.1/ },
  watch: { args: ["watch", "asking", "--limit", "1"] },
  up: { args: ["up", "time"] },
  down: { args: ["down"] },
  add: { args: ["add", "another", "--force", "--", "node", "x.js"] },
  remove: { args: ["remove", "gone"] },
  trust: { args: ["trust", "time", "--yes"] },
  grants: { args: ["grants"] },
  log: { args: ["log", "--limit", "3"] },
  login: { args: ["login", "nobody"], code: 2 },
  logout: { args: ["logout", "nobody"], code: 2 },
  doctor: { args: ["doctor", "time"] },
  check: { args: ["check", "time", "--only", "handshake/result", "--revision", "2025-06-18"] },
  test: { args: ["test", "nothing"], code: 2 },
  record: { args: ["record", "nobody"], code: 2 },
  replay: { args: ["replay", "talk.jsonl"] },
  new: { args: ["new", "fresh"] },
  dev: { args: ["dev", "server.mjs", "--http", "0"], until: /127\.0\.0\.1/ },
  serve: { args: ["serve", "server.mjs", "--http", "0"], until: /127\.0\.0\.1/ },
  gen: { args: ["gen", "ts", "time"] },
  card: { args: ["card", "time", "--name", "com.example/time", "--description", "Times"] },
  pack: { args: ["pack", "nothing"], code: 2 },
  keys: { args: ["keys", "rotate", "nothing"], code: 2 },
  completion: { args: ["completion", "tcsh"], code: 2 },
};

/** Runs the command in a terminal. Returns what it writes there and to standard error. */
function runInTerminal({ args, until }: Use, flag?: string): Promise<{ code: number | null; output: string }> {
  const words = [process.execPath, portolan, args[0], ...(flag === undefined ? [] : [flag]), ...args.slice(1)];
  const line = words.map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qfec", `trap : INT; stty cols 200; ${line} 2>errors.txt`, "/dev/null"], {
    cwd: home,
    env: { ...environment(home), TERM: "xterm-256color" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let isTyped = false;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    // The second Ctrl-C leaves at once.
    if (isTyped || !until?.test(output)) return;
    isTyped = true;
    child.stdin.write("\u0003");
  });
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ code, output: output.replaceAll("\r\n", "\n").replace(/^\^C/m, "") })),
  );
}

test("every visible command has a use here", () => {
  const shown = commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  expect(Object.keys(uses)).toEqual(shown);
});

describe.each(Object.entries(uses))("%s", (_name, use) => {
  test("--json writes only JSON to a terminal", async () => {
    const { code, output } = await runInTerminal(use, "--json");
    expect({ code, output }).toMatchObject({ code: use.code ?? 0 });
    const errors = readFileSync(join(home, "errors.txt"), "utf8");
    const lines = `${output}${errors}`.split("\n").filter(Boolean);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(() => JSON.parse(line), line).not.toThrow();
  });

  test("--no-color writes no colours to a terminal", async () => {
    const plain = await runInTerminal(use, "--no-color");
    const errors = readFileSync(join(home, "errors.txt"), "utf8");
    expect(`${plain.output}${errors}`).not.toContain("\u001b[");
    expect(`${plain.output}${errors}`.trim()).not.toBe("");
  });
});

test("without a flag, a terminal gets text in colours", async () => {
  const { output } = await runInTerminal({ args: ["ls", "time"] });
  expect(output).toContain("\u001b[");
  expect(output).toContain("now\u001b[22m(");
});
