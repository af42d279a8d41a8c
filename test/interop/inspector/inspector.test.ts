import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeFolder, root } from "../../examples/example.ts";
import { quickServer } from "../../kit/quick-servers.mjs";

const node = join(root, "test/release/runtime/node_modules/node22/bin/node");
const clients = fileURLToPath(
  new URL("runtime/node_modules/@modelcontextprotocol/inspector/clients/", import.meta.url),
);
const inspector = [join(clients, "launcher/build/index.js"), "--cli", "--format", "json"];
const mcpdo = [join(clients, "mcpdo/build/mcp-bin.js"), "--format", "json"];
const serve = fileURLToPath(new URL("../../kit/serve.mjs", import.meta.url));
const server = (name: string) => quickServer(join(root, "test/requirements/servers", `${name}.mjs`));

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program on the Node that the Inspector needs, with a home of its own. */
async function run(args: readonly string[], env: { [name: string]: string }): Promise<Outcome> {
  const quiet = { MCP_INSPECTOR_SECRET_STORE: "memory" };
  const child = spawn(node, args, { env: { PATH: process.env["PATH"], ...quiet, ...env }, stdio: "pipe" });
  child.stdin.end();
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => {
    stdout += text;
  });
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

/** Runs the command of the Inspector against a server, and returns the lines that it printed. */
async function inspect(era: string, name: string, ...args: string[]): Promise<unknown[]> {
  const words = [...inspector, "--protocol-era", era, ...args, "--", process.execPath, serve, server(name)];
  const { code, stdout, stderr } = await run(words, { HOME: await makeFolder() });
  expect(code, stderr).toBe(0);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const eras = [
  ["legacy", "2025-11-25"],
  ["modern", "2026-07-28"],
];

describe.each(eras)("the command of the official Inspector, %s (%s)", (era) => {
  test("verifies the skills of our server, and finds no fault", async () => {
    const reports = await inspect(era, "skills", "--method", "skills/list", "--verify");
    expect(reports).toHaveLength(123);
    const refunds = { name: "refunds", conformance: [], frontmatter: [] };
    expect(reports[0]).toMatchObject({ uri: "skill://acme/refunds/SKILL.md", ...refunds });
    const states = reports.flatMap((report) => (report as { files?: { status: string }[] }).files ?? []);
    expect(new Set(states.map(({ status }) => status))).toEqual(new Set(["verified"]));
    expect(states.length).toBeGreaterThan(reports.length);
  });

  test("reads a skill and a directory of our server", async () => {
    const uri = "skill://acme/refunds/SKILL.md";
    const [got] = await inspect(era, "skills", "--method", "skills/get", "--uri", uri);
    expect(got).toMatchObject({ result: { skill: { uri, frontmatter: { name: "refunds" } } } });
    const folder = "skill://acme/refunds/examples";
    const [read] = await inspect(era, "skills", "--method", "resources/directory/read", "--uri", folder);
    expect(read).toMatchObject({ result: { resources: [{ name: "email.md" }, { mimeType: "inode/directory" }] } });
  });

  test("finds the apps of our tools once it declares that it knows apps", async () => {
    const probe = ["--method", "tools/list", "--app-info"];
    const apps = await inspect(era, "apps", ...probe, "--advertise-apps");
    expect(apps).toContainEqual({
      ...{ hasApp: true, toolName: "hint", resourceUri: "ui://chess/board", visibility: ["app"] },
      csp: {
        connectDomains: ["https://api.example.com"],
        resourceDomains: ["https://*.example.com"],
        frameDomains: [],
        baseUriDomains: [],
      },
      permissions: { clipboardWrite: {} },
      prefersBorder: true,
      resourceMimeType: "text/html;profile=mcp-app",
    });
    const having = (all: unknown[]) => all.filter((one) => (one as { hasApp: boolean }).hasApp).length;
    expect([having(apps), having(await inspect(era, "apps", ...probe))]).toEqual([4, 0]);
  });

  test("drives a tool that requires a task", async () => {
    const [called] = await inspect(era, "tasks", "--method", "tools/call", "--tool-name", "must");
    expect(called).toMatchObject({ result: { content: [{ type: "text", text: "a required result" }] } });
  });
});

/** Opens a connection that outlives the commands of the Inspector, in a process that ends with the test. */
async function openConnection(era: string): Promise<(...words: string[]) => Promise<Outcome>> {
  const HOME = await makeFolder();
  const { stdout } = await run([join(clients, "mcpdo/build/mcp-bin.js"), "private"], { HOME });
  const own = Object.fromEntries(
    [...stdout.matchAll(/export (\w+)='([^']*)'/g)].map(([, name, value]) => [name, value]),
  );
  const command = (...words: string[]) => run([...mcpdo, ...words], { HOME, ...own });
  onTestFinished(async () => {
    expect((await command("daemon", "stop")).code).toBe(0);
  });
  const target = ["--transport", "stdio", "--", process.execPath, serve, server("tasks")];
  const connected = await command("connect", "--era", era, ...target);
  expect(connected.code, connected.stderr).toBe(0);
  const list = JSON.parse((await command("connections/list")).stdout);
  const [{ name, protocolEra }] = list.connections;
  expect(protocolEra).toBe(era);
  return (...words) => command("--connection", name, ...words);
}

describe.each(eras)("a connection of the official Inspector, %s (%s)", (era) => {
  test("drives tasks, and answers their questions", async () => {
    const on = await openConnection(era);
    const plain = await on("tools/call", "must", "--task");
    expect(plain.code, plain.stderr).toBe(0);
    expect(JSON.parse(plain.stdout)).toMatchObject({ content: [{ text: "a required result" }] });
    expect((await on("tools/call", "fail", "--task")).stdout + (await on("tools/call", "fail")).stdout).toContain(
      "The farm is closed",
    );
    const asked = await on("tools/call", "ask", "--task");
    expect(asked.code, asked.stderr).toBe(0);
    const { elicitationPending: question } = JSON.parse(asked.stdout);
    expect(question).toMatchObject({ mode: "form", toolName: "ask", message: "Question name" });
    const answered = await on("elicitation/respond", question.elicitationId, "name:=Ada");
    expect(answered.stdout, answered.stderr).toContain("Ada, effects: 1");
  });
});
