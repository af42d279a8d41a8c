// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is a template of the program that is written
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { Report } from "../../packages/check/src/index.ts";
import { compare } from "../check/expectations.ts";
import { startHttp } from "../check/kit.ts";
import { quickServer } from "../kit/quick-servers.mjs";
import { makeHome } from "./kit.ts";
import { broken, errorOf, fileOf, put, runPortolan, showOf, startPortolan } from "./manage-kit.ts";

const node = process.execPath;
const asExpected = { unknown: [], gone: [] };
const patient = ["--timeout", "10"];

test("passes our own server in every revision over stdio", async () => {
  const cwd = await makeHome();
  await showOf(["add", "time", "--", node, fileOf("packages/servers/time/dist/main.js")], { cwd });
  const report = await showOf<Report>(["check", "time", ...patient], { cwd });
  expect(report.isPassed).toBe(true);
  expect(report.totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(report.verdicts.filter(({ grade }) => grade === "fail" || grade === "warn")).toEqual([]);
});

test("passes our own server over HTTP", async () => {
  const url = await startHttp({ command: node, args: [fileOf("test/check/fixtures/full-http.mjs")] });
  const report = await showOf<Report>(["check", url, "--revision", "2026-07-28", ...patient], {
    cwd: await makeHome(),
  });
  expect(report.isPassed).toBe(true);
  expect(report.verdicts.filter(({ grade }) => grade === "fail")).toEqual([]);
});

describe("the servers of the official SDK", () => {
  const peer = (version: string) => quickServer(fileOf(`test/peers/servers/sdk-${version}.mjs`));

  test.each([
    ["v1", "2025-03-26", "v1 stdio"],
    ["v2", "2026-07-28", "v2 stdio"],
  ])("grades %s over stdio in %s as expected", async (version, revision, known) => {
    const args = ["check", "--revision", revision, ...patient, "--", node, peer(version)];
    const ran = await runPortolan(args, { cwd: await makeHome() });
    expect([ran.code, errorOf(ran).kind]).toEqual([8, "protocol"]);
    expect(compare(JSON.parse(ran.stdout), known)).toEqual(asExpected);
  });

  test("grades v2 over HTTP as expected", async () => {
    const url = await startHttp({ command: node, args: [peer("v2")], env: { FIXTURE_HTTP: "auto" } });
    const ran = await runPortolan(["check", url, "--revision", "2026-07-28", ...patient], { cwd: await makeHome() });
    expect(ran.code).toBe(8);
    expect(compare(JSON.parse(ran.stdout), "v2 http without sessions")).toEqual(asExpected);
  });
});

describe("tools of a stranger's server", () => {
  /** Writes the name of each called tool to a file. A library is not used, because it would refuse invalid arguments. */
  const wiper = `import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const object = { type: "object" };
const tools = [
  { name: "wipe", inputSchema: object, annotations: { destructiveHint: true } },
  { name: "send", inputSchema: object },
  { name: "change", inputSchema: object, annotations: { destructiveHint: true } },
  ...(process.argv[2] ? [{ name: process.argv[2], inputSchema: object, annotations: { readOnlyHint: true } }] : []),
];
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  let message;
  try { message = JSON.parse(line); } catch { return; }
  const { id, method, params } = message;
  if (id === undefined || method === undefined) return;
  if (method === "initialize") {
    const serverInfo = { name: "wiper", version: "1" };
    send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") send({ id, result: { tools } });
  else if (method === "tools/call") {
    appendFileSync(new URL("called", import.meta.url), params.name + "\\n");
    send({ id, result: { content: [] } });
  } else if (method === "ping") send({ id, result: {} });
  else send({ id, error: { code: -32601, message: "no" } });
});
`;

  async function check(flags: readonly string[], ...extra: readonly string[]) {
    const cwd = await makeHome();
    const server = put(cwd, "wiper.mjs", wiper);
    const args = ["check", "--revision", "2025-06-18", ...flags, "--", node, server, ...extra];
    const { stdout } = await runPortolan(args, { cwd });
    const called = existsSync(join(cwd, "called")) ? readFileSync(join(cwd, "called"), "utf8") : "";
    const others = called.split("\n").filter((name) => name !== "" && name !== "portolan-no-such-tool");
    return { called: [...new Set(others)], report: JSON.parse(stdout) as Report };
  }

  test("are not called unless they are known, labelled read-only or named, and the report says so", async () => {
    const { called, report } = await check([]);
    expect(called).toEqual([]);
    expect(report.toolsCalled).toEqual([]);
    expect(report.toolsNotCalled).toEqual(["wipe", "send", "change"]);
    expect(report.verdicts.find(({ scenario }) => scenario === "base/invalid-params")).toMatchObject({
      grade: "not applicable",
      evidence: expect.stringContaining("no tool may be called"),
    });
  });

  test("are called if they are labelled read-only", async () => {
    expect((await check([], "look")).called).toEqual(["look"]);
  });

  test("are called if --tool names them", async () => {
    const { called, report } = await check(["--tool", "send"]);
    expect(called).toEqual(["send"]);
    expect(report.toolsCalled).toEqual(["send"]);
  });
});

test("known gaps of SDKs are marked, and can be allowed", async () => {
  const server = quickServer(fileOf("test/peers/servers/sdk-v2.mjs"));
  const args = ["check", "--revision", "2026-07-28", ...patient, "--", node, server];
  const cwd = await makeHome();
  const [strict, allowed] = [
    await runPortolan(args, { cwd }),
    await runPortolan(["check", "--allow-known-gaps", ...args.slice(1)], { cwd }),
  ];
  expect([strict.code, allowed.code]).toEqual([8, 0]);
  const report = JSON.parse(strict.stdout) as Report;
  expect(report).toMatchObject({ isPassed: false, hasOnlyKnownGaps: true });
  expect(report.verdicts.find(({ grade }) => grade === "fail")?.knownGap).toMatch(
    /^the official TypeScript SDK v2: B4/,
  );
  // A fault that is no known gap still fails.
  const faulty = await runPortolan(["check", "--allow-known-gaps", "--revision", "2025-06-18", "--", node, broken], {
    cwd,
  });
  expect(faulty.code).toBe(8);
});

test("runs only the named scenarios", async () => {
  const args = ["check", "--only", "handshake/*", "--only", "base/unknown-method", "--revision", "2025-06-18"];
  const report = await showOf<Report>([...args, "--", node, broken], { cwd: await makeHome() });
  const names = new Set(report.verdicts.map(({ scenario }) => scenario.split("/")[0]));
  expect(names).toEqual(new Set(["handshake", "base"]));
});

test("passes none of our environment variables to the server", async () => {
  const cwd = await makeHome();
  const program = `import { createInterface } from "node:readline";
const error = { code: -32000, message: \`SECRET is \${process.env.SECRET}\` };
for await (const line of createInterface({ input: process.stdin })) {
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error }));
}`;
  const shows = put(cwd, "shows.mjs", program);
  const args = ["check", "--revision", "2025-06-18", "--", node, shows];
  const ran = await runPortolan(args, { cwd, env: { SECRET: "s3cret-of-mine" } });
  expect(ran.code).toBe(8);
  expect(ran.stdout).toContain("SECRET is undefined");
  expect(ran.stdout).not.toContain("s3cret-of-mine");
});

test.each([
  [["--only", "nothing/here"], 2, "no scenario matches"],
  [["--revision", "1999-01-01"], 2, "expected one of 2024-11-05"],
  [["--timeout", "soon"], 2, "number of seconds"],
])("refuses %j", async (flags, code, message) => {
  const ran = await runPortolan(["check", ...flags, "--", node, broken], { cwd: await makeHome() });
  expect([ran.code, errorOf(ran).message]).toEqual([code, expect.stringContaining(message)]);
});

test("says first why a server cannot be checked at all, and gives no report", async () => {
  const cwd = await makeHome();
  const dead = ["--", node, "-e", 'console.error("no disk"); process.exit(7)'];
  const ended = await runPortolan(["check", ...dead], { cwd });
  expect([ended.code, ended.stdout]).toEqual([4, ""]);
  expect(errorOf(ended)).toMatchObject({
    message: expect.stringMatching(/code 7[\s\S]*no disk/),
    next: expect.stringMatching(/^portolan doctor -- /),
  });
  const silent = `console.error("waiting for the disk"); setInterval(() => {}, 1_000)`;
  const hung = await runPortolan(["check", "--timeout", "0.5", "--", node, "-e", silent], { cwd });
  expect([hung.code, hung.stdout]).toEqual([7, ""]);
  expect(errorOf(hung)).toMatchObject({
    message: expect.stringMatching(/within 0\.5 s[\s\S]*waiting for the disk/),
    next: expect.stringMatching(/^portolan doctor -- /),
  });
});

test("quotes what a silent server wrote instead of a message, and names a file as it was typed", async () => {
  const cwd = await makeHome();
  put(cwd, "rubbish.mjs", 'console.log("Welcome!"); process.stdin.resume(); setInterval(() => {}, 1_000);');
  const silent = await runPortolan(["check", "--timeout", "3", "./rubbish.mjs"], { cwd });
  expect([silent.code, errorOf(silent).message]).toEqual([
    7,
    expect.stringContaining('; it wrote "Welcome!", which is not a message, to its standard output'),
  ]);
  put(cwd, "dies.mjs", 'console.error("disk on fire"); process.exit(7);');
  for (const args of [["check"], ["serve", "--stdio"], ["dev"]]) {
    const dead = await runPortolan([...args, "./dies.mjs"], { cwd });
    expect(errorOf(dead).message).toMatch(/^(?:\.\/)?dies\.mjs exited with code 7: disk on fire/);
  }
});

test("Ctrl-C ends a check", async () => {
  const cwd = await makeHome();
  const mark = join(cwd, "started");
  const running = startPortolan(["check", "--", node, broken, "marking", mark], { cwd });
  await vi.waitUntil(() => existsSync(mark), { timeout: 20_000 });
  running.child.kill("SIGINT");
  expect(await running.ended).toBe(130);
  expect(running.said).toEqual([expect.stringContaining("interrupted")]);
});

test("does not start an untrusted server", async () => {
  const cwd = await makeHome();
  put(cwd, ".mcp.json", { mcpServers: { a: { command: node, args: [broken] } } });
  const ran = await runPortolan(["check", "a"], { cwd });
  expect([ran.code, errorOf(ran).next]).toEqual([6, "portolan trust a"]);
});
