// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { environment, makeHome, portolan, root, runPortolan } from "./kit.ts";

const behind = (name: string, ...args: string[]) => ["--", process.execPath, scriptOf(name), ...args];

async function json(args: readonly string[], options: Parameters<typeof runPortolan>[1]) {
  const { code, stdout, stderr } = await runPortolan(args, options);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

async function failure(args: readonly string[], options: Parameters<typeof runPortolan>[1]) {
  const { code, stdout, stderr } = await runPortolan(args, options);
  // Only a tool that failed has a result.
  if (code === 5) expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  else expect(stdout).toBe("");
  return { code, ...JSON.parse(stderr).error };
}

test("without a command, lists the servers of every product's file with the next command", async () => {
  const cwd = await makeHome();
  await mkdir(join(cwd, ".vscode"));
  await mkdir(join(cwd, ".git"));
  await writeFile(
    join(cwd, ".mcp.json"),
    JSON.stringify({ mcpServers: { time: { command: "node", args: ["x.js"] } } }),
  );
  const db = { command: "node", env: { PGURL: "${env:PGURL}" } };
  await writeFile(join(cwd, ".vscode/mcp.json"), JSON.stringify({ servers: { db } }));
  const { servers } = await json([], { cwd });
  expect(servers).toEqual([
    { name: "time", state: "untrusted", next: "portolan trust time", from: ".mcp.json", tools: 0 },
    expect.objectContaining({
      name: "db",
      state: "misconfigured",
      from: ".vscode/mcp.json",
      next: "portolan doctor db",
    }),
  ]);
  expect(servers[1].detail).toContain("PGURL");
  expect((await json([], { cwd: await makeHome() })).servers).toEqual([]);
});

test("ls, call, read and complete accept a command after --", async () => {
  const cwd = await makeHome();
  const { tools, server } = await json(["ls", ...behind("travel")], { cwd });
  expect(tools.map(({ name }: { name: string }) => name)).toContain("forecast");
  expect(server.info.name).toBe("portolan-travel");
  const { structuredContent } = await json(["call", "now", "zones=Europe/Lisbon", ...behind("time")], { cwd });
  expect(structuredContent.times[0].zone).toBe("Europe/Lisbon");
  const { contents } = await json(["read", "travel://calendar", ...behind("travel")], { cwd });
  expect(contents[0].uri).toBe("travel://calendar");
  const { values } = await json(["complete", "plan-vacation", "destination", "Li", ...behind("travel")], { cwd });
  expect(values).toEqual(["Lisbon"]);
  const departure = new Date(Date.now() + 40 * 24 * 60 * 60_000).toISOString().slice(0, 10);
  const plan = ["destination=Lisbon", "origin=Oslo", `departure_date=${departure}`, "duration=3", "budget=500"];
  const { messages } = await json(["prompt", "plan-vacation", ...plan, ...behind("travel")], { cwd });
  expect(JSON.stringify(messages)).toContain("Lisbon");
});

test("accepts an address as a target", async () => {
  const cwd = await makeHome();
  const url = await serveHttp(scriptOf("time"));
  const { structuredContent } = await json(["call", url, "now"], { cwd });
  expect(structuredContent.times).toHaveLength(1);
});

test("reads arguments from standard input", async () => {
  const cwd = await makeHome();
  const input = JSON.stringify({ zones: ["Asia/Tokyo"] });
  const { structuredContent } = await json(["call", "now", "-", ...behind("time")], { cwd, input });
  expect(structuredContent.times[0].zone).toBe("Asia/Tokyo");
});

test("writes a failure as one JSON object to standard error, with a documented exit code", async () => {
  const cwd = await makeHome();
  await writeFile(
    join(cwd, ".mcp.json"),
    JSON.stringify({ mcpServers: { time: { command: process.execPath, args: [scriptOf("time")] } } }),
  );
  expect(await failure(["cal"], { cwd })).toMatchObject({ code: 2, kind: "usage" });
  expect(await failure(["call", "nobody.x"], { cwd })).toMatchObject({ code: 2, kind: "usage" });
  expect(await failure(["call", "nothing", ...behind("time")], { cwd })).toMatchObject({ code: 2, kind: "usage" });
  expect(await failure(["call", "now", "zones:=[", ...behind("time")], { cwd })).toMatchObject({ code: 2 });
  expect(await failure(["call", "now", "zones=Nowhere", ...behind("time")], { cwd })).toMatchObject({
    code: 5,
    kind: "tool",
  });
  expect(await failure(["call", "time.now"], { cwd })).toMatchObject({
    code: 6,
    kind: "denied",
    next: "portolan trust time",
  });
  expect(await failure(["ls", "--", "/no/such/portolan"], { cwd })).toMatchObject({ code: 4, kind: "unreachable" });
  expect(await failure(["ls", "http://127.0.0.1:9/mcp"], { cwd })).toMatchObject({ code: 4 });
});

test("shows images by size, and saves them without overwriting a file", async () => {
  const cwd = await makeHome();
  const named = ["call", "content", "kind=image", "--save", "out", ...behind("everything")];
  const { saved } = await json(named, { cwd });
  expect(saved[0]).toMatch(/^out\/1\.\w+$/);
  expect((await readFile(join(cwd, saved[0]))).length).toBeGreaterThan(0);
  await writeFile(join(cwd, saved[0]), "mine");
  expect((await json(named, { cwd })).saved).toEqual([saved[0].replace("1.", "2.")]);
  expect(await readFile(join(cwd, saved[0]), "utf8")).toBe("mine");
});

test("lists every command in help, and each has its own help", async () => {
  const cwd = await makeHome();
  const { stdout } = await runPortolan(["--help"], { cwd });
  for (const name of ["servers", "ls", "call", "read", "prompt", "complete"]) {
    expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect((await runPortolan([name, "--help"], { cwd })).stdout).toContain(`Usage: portolan ${name}`);
  }
  expect((await runPortolan(["--version"], { cwd })).stdout.trim()).toBe("0.1.0");
});

test("ends silently when the reader leaves, and on an interrupt", async () => {
  const cwd = await makeHome();
  const child = spawn(
    "sh",
    ["-c", `"${process.execPath}" "${portolan}" ls -- "${process.execPath}" "${scriptOf("everything")}" | head -c 10`],
    {
      cwd,
      env: environment(cwd),
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let noise = "";
  child.stderr.on("data", (chunk) => {
    noise += chunk;
  });
  expect((await once(child, "exit"))[0]).toBe(0);
  expect(noise).toBe("");

  const waiting = spawn(
    process.execPath,
    [portolan, "ls", "--", process.execPath, "-e", "setInterval(() => {}, 1000)"],
    {
      cwd,
      env: environment(cwd),
    },
  );
  let said = "";
  waiting.stderr.on("data", (chunk) => {
    said += chunk;
  });
  // The command is working once its server runs.
  await vi.waitFor(() => expect(childrenOf(waiting.pid)).not.toEqual([]), { timeout: 10_000 });
  waiting.kill("SIGINT");
  const [code] = await once(waiting, "exit");
  expect(code).toBe(130);
  expect(JSON.parse(said).error.message).toBe("interrupted");
});

/** Returns the child processes of a process. */
function childrenOf(pid: number | undefined): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
}

test.each([
  [["grants", "revoke", "x"], "grants takes flags only; did you mean --revoke?", "portolan grants --revoke x"],
  [["ls", "a", "b", "c"], "too many arguments; expected: portolan ls [target] [tool]", "portolan ls --help"],
  [["mine"], "mine is a server, and no command", "portolan ls mine"],
  [["mine.sure", "a=1"], "mine.sure is a server, and no command", "portolan call mine.sure a=1"],
  [["ls", "--era", "stateless", "mine"], expect.stringMatching(/; without --era, its own is used$/), undefined],
  [
    ["ls", "--era", "2024-11-05", "mine"],
    'The server uses protocol version "2025-06-18", and does not speak 2024-11-05; without --era, its own is used',
    undefined,
  ],
])("a wrong line says what was meant: %j", async (args, message, next) => {
  const cwd = makeHome();
  const command = { command: process.execPath, args: [join(root, "test/cli/fixtures/broken.mjs"), "fine"] };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { mine: command } }));
  expect((await runPortolan(["trust", "mine", "--yes"], { cwd })).code).toBe(0);
  const { code, stderr } = await runPortolan(args, { cwd });
  const { error } = JSON.parse(stderr);
  expect([code, error.message]).toEqual([error.kind === "usage" ? 2 : 8, message]);
  if (next !== undefined) expect(error.next).toBe(next);
});

test("an argument to complete may be written as name=value", async () => {
  const cwd = makeHome();
  const offering = ["--", process.execPath, join(root, "test/cli/fixtures/offering.mjs")];
  const words = ["complete", "note://{folder}/{name}"];
  const plain = await runPortolan([...words, "folder", "w", ...offering], { cwd });
  const pair = await runPortolan([...words, "folder=w", ...offering], { cwd });
  expect([plain.code, pair.code, pair.stdout]).toEqual([0, 0, plain.stdout]);
});

test("a variable that is not set yet can be named by add", async () => {
  const cwd = makeHome();
  const { code, stdout } = await runPortolan(["add", "db", "--env", "PGPASSWORD", "--", "node", "x.js"], { cwd });
  expect([code, JSON.parse(stdout).problem]).toEqual([0, expect.stringContaining("missing ${PGPASSWORD}")]);
  const value = await runPortolan(["add", "other", "--env", "hunter2x", "--", "node", "x.js"], { cwd });
  expect([value.code, value.stderr]).toEqual([2, expect.not.stringContaining("hunter2x")]);
});

test.each([
  ["order", "asks you to fill in a form or to open an address"],
  ["sample", "asks for an answer of your model"],
])("a call of %s, whose server %s, says so where nobody can answer", async (tool, asks) => {
  const asking = ["--", process.execPath, join(root, "test/cli/asking-server.mjs")];
  const { code, stderr } = await runPortolan(["call", tool, ...asking], { cwd: makeHome() });
  expect([code, JSON.parse(stderr).error]).toEqual([
    6,
    {
      kind: "denied",
      message: `asking-server ${asks}, and there is no terminal to ask you`,
      next: "run it in a terminal, where you can answer",
    },
  ]);
});
