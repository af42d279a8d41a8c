import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type EventReader, send, Tab } from "../console/kit.ts";
import { makeHome, type Ran } from "./kit.ts";
import {
  broken,
  errorOf,
  fileOf,
  notes,
  put,
  type Running,
  runPortolan,
  startPortolan,
  stateOf,
} from "./manage-kit.ts";
import { expectValid } from "./output-schema.ts";

const node = process.execPath;

interface Ready {
  readonly url: string;
  readonly isElsewhere: boolean;
}

async function readyOf(running: Running): Promise<Ready> {
  const line = await running.until(/"event":"ready"/);
  expectValid("console", line);
  return JSON.parse(line) as Ready;
}

async function openPage({ url }: Ready): Promise<{ tab: Tab; events: EventReader }> {
  const tab = await Tab.open({ openAddress: () => url });
  return { tab, events: await tab.events() };
}

test("ends at SIGTERM although its folder has been removed, and says that it failed", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { notes: { command: node, args: [notes] } } });
  await runPortolan(["trust", "notes", "--yes"], { cwd });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { events } = await openPage(await readyOf(running));
  await events.ever("server", ({ server }) => server.state === "ready");
  // The console may be writing there at this moment.
  rmSync(stateOf(cwd), { recursive: true, maxRetries: 20 });
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(1);
});

test("serves the page over the configured servers, and ends cleanly at SIGTERM", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { notes: { command: node, args: [notes] } } });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const ready = await readyOf(running);
  expect(ready.isElsewhere).toBe(false);
  const { origin } = new URL(ready.url);
  const page = await send(origin, "/");
  expect(page.headers["content-type"]).toMatch(/^text\/html/);
  expect(page.text).toContain("<!doctype html>");
  const { events } = await openPage(ready);
  const { servers } = await events.state();
  expect(servers.map(({ name, state }) => [name, state])).toEqual([["notes", "untrusted"]]);
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
  expect(running.said).toEqual([]);

  // The port of the last time, so that an open page finds the console again.
  const again = startPortolan(["console", "--no-open"], { cwd });
  expect(new URL((await readyOf(again)).url).origin).toBe(origin);
  again.child.kill("SIGINT");
  expect(await again.ended).toBe(0);
});

test("uses the servers and the model of the command line", async () => {
  const cwd = makeHome();
  const args = [
    "--model",
    "demo",
    "--timeout",
    "30",
    "--root",
    ".",
    "--env",
    "COLOUR=red",
    "--cwd",
    ".",
    "--",
    node,
    notes,
  ];
  const running = startPortolan(
    [
      "console",
      "--no-open",
      "--port",
      "0",
      "--server",
      broken,
      "--allow",
      "notes.*",
      "--deny",
      "a.b",
      "--yes-read-only",
      ...args,
    ],
    { cwd },
  );
  const { tab, events } = await openPage(await readyOf(running));
  const names = (await events.state()).servers.map(({ name }) => name);
  expect(names).toHaveLength(2);
  for (const server of names) await tab.do("server.start", { server });
  for (const name of names)
    await events.ever("server", ({ server }) => server.name === name && server.state === "ready");
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
});

test("a second one shows the address of the first, and ends", async () => {
  const cwd = makeHome();
  const first = startPortolan(["console", "--no-open"], { cwd });
  const { url } = await readyOf(first);
  const second = startPortolan(["console"], { cwd });
  const ready = await readyOf(second);
  expect(ready.isElsewhere).toBe(true);
  expect(new URL(ready.url).origin).toBe(new URL(url).origin);
  expect(await second.ended).toBe(0);
  await openPage(ready);
  // Without a terminal no browser is opened, and no file is made for it.
  const folder = join(stateOf(cwd), "console");
  expect(readdirSync(folder).filter((name) => name.endsWith(".html"))).toEqual([]);
  expect(readFileSync(join(folder, "running.json"), "utf8")).toContain('"pid"');
});

test("a page can add a typed server, and sees the reason of a refusal", async () => {
  const cwd = makeHome();
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { tab, events } = await openPage(await readyOf(running));
  await tab.do("server.add", { name: "notes", target: `${node} ${notes}` });
  await events.ever("server", ({ server }) => server.name === "notes");
  await expect(tab.do("server.add", { name: "notes", target: "node" })).rejects.toThrow("exists already");
  await expect(tab.do("server.add", { name: "a", target: "node 'x" })).rejects.toThrow("no closing");
  expect((await tab.do("found", {})).servers).toEqual([]);
});

test("a page examines a server and repairs it, and its saved calls run in the terminal, too", async () => {
  const cwd = makeHome();
  const db = { command: node, args: [notes], env: { DB_NAME: "${DB_NAME}" } };
  put(cwd, ".mcp.json", { mcpServers: { db } });
  const running = startPortolan(["console", "--no-open"], { cwd });
  const { tab, events } = await openPage(await readyOf(running));
  const { id } = await tab.do("report.start", { server: "db", of: "doctor" });
  const { report } = await events.ever("report", (event) => event.report.id === id && !event.report.isRunning);
  const { fix } = report.findings.find(({ level }) => level === "error") ?? {};
  expect(fix).toMatchObject({ verb: "server.set-variables", asks: { name: "DB_NAME" } });
  await tab.do("server.set-variables", { server: "db", env: { DB_NAME: "main" } });
  const { subject, digest } = await tab.do("server.subject", { server: "db" });
  expect(subject.name).toBe("db");
  await tab.do("server.trust", { server: "db", allow: true, digest });
  await tab.do("server.start", { server: "db" });
  await events.ever("server", ({ server }) => server.state === "ready");

  const argumentsText = '{"title":"milk","text":"two"}';
  const call = { name: "add", server: "db", tool: "add_note", argumentsText, expect: [{ isError: false }] };
  await tab.do("saved.put", { call });
  const { verdicts } = await tab.do("saved.run", { names: ["add"] });
  expect(verdicts).toMatchObject([{ name: "add", isPassed: true, problems: [] }]);
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
  const tested = await runPortolan(["test"], { cwd, env: { DB_NAME: "main" } });
  expect([tested.code, JSON.parse(tested.stdout).passed]).toEqual([0, 1]);
});

test("a saved call keeps the file or the command that was typed, and runs here and in the terminal", async () => {
  const cwd = makeHome();
  mkdirSync(join(cwd, "src"));
  cpSync(fileOf("examples/hello/server.mjs"), join(cwd, "src/hello.mjs"));
  symlinkSync(fileOf("node_modules"), join(cwd, "node_modules"));
  const command = ["--env", "COLOUR=red", "--cwd", "src", "--", node, notes];
  const args = ["console", "--no-open", "./src/hello.mjs", ...command];
  const running = startPortolan(args, { cwd });
  const { tab, events } = await openPage(await readyOf(running));
  const names = (await events.state()).servers.map(({ name }) => name);
  for (const server of names) await tab.do("server.start", { server });
  for (const name of names)
    await events.ever("server", ({ server }) => server.name === name && server.state === "ready");
  const [hello = "", typed = ""] = names;
  const common = { expect: [{ isError: false }] };
  const forecast = { tool: "forecast", argumentsText: '{"city":"Oslo","days":3}', ...common };
  const adding = { tool: "add_note", argumentsText: '{"title":"milk","text":"two"}', ...common };
  await tab.do("saved.put", { call: { name: "by file", server: hello, ...forecast } });
  await tab.do("saved.put", { call: { name: "by command", server: typed, ...adding } });
  const file = JSON.parse(readFileSync(join(cwd, ".portolan/calls.json"), "utf8"));
  expect(file.calls.map(({ server }: { server: string }) => server)).toEqual([
    `--env COLOUR --cwd ./src -- ${node} ${notes}`,
    "./src/hello.mjs",
  ]);
  const { calls } = await tab.do("saved.list", {});
  expect(calls.map(({ server }) => server)).toEqual([typed, hello]);
  for (const { name } of calls) {
    const { verdicts } = await tab.do("saved.run", { names: [name] });
    expect(verdicts).toMatchObject([{ name, isPassed: true, problems: [] }]);
  }
  await tab.do("server.add", { name: "keyed", target: `${node} ${notes} --api-key hunter2secret` });
  const secret = tab.do("saved.put", { call: { name: "keyed", server: "keyed", ...adding } });
  await expect(secret).rejects.toThrow("the command or address of keyed contains a secret");
  running.child.kill("SIGTERM");
  expect(await running.ended).toBe(0);
  const tested = await runPortolan(["test"], { cwd, env: { COLOUR: "red" } });
  expect([tested.code, JSON.parse(tested.stdout).passed]).toEqual([0, 2]);
  const unset = JSON.parse((await runPortolan(["test"], { cwd })).stdout);
  expect(unset.calls[0].problems[0]).toContain("your shell has no variable COLOUR");
});

test("refuses a second console with other servers or flags, or of another project, with the address of the first", async () => {
  const cwd = makeHome();
  const state = { PORTOLAN_HOME: stateOf(cwd) };
  const first = startPortolan(["console", notes, "--no-open"], { cwd });
  const { origin, port } = new URL((await readyOf(first)).url);
  const refusalOf = async (args: readonly string[], folder = cwd) => {
    const ran = await runPortolan(["console", "--no-open", ...args], { cwd: folder, env: state });
    expect(ran.code).toBe(2);
    return errorOf(ran);
  };
  const other = {
    kind: "usage",
    message: `a console for ${cwd} already runs at ${origin}, with other arguments`,
    next: "press Ctrl-C in its terminal, or show it: portolan console",
  };
  expect(await refusalOf([broken])).toEqual(other);
  expect(await refusalOf([notes, "--deny", "notes.*"])).toEqual(other);
  expect(await refusalOf(["--port", String(Number(port) - 1)])).toEqual(other);
  expect(await refusalOf(["--", node, notes])).toEqual(other);
  expect(await refusalOf([], makeHome())).toEqual({
    kind: "usage",
    message: `a console for ${cwd} already runs at ${origin}`,
    next: `press Ctrl-C in its terminal, or show it: cd ${cwd} && portolan console`,
  });
  for (const args of [[], [notes], [notes, "--port", port], ["--port", "0"]]) {
    const same = startPortolan(["console", "--no-open", ...args], { cwd });
    expect(new URL((await readyOf(same)).url).origin).toBe(origin);
    expect(await same.ended).toBe(0);
  }
});

test("refuses a port that is in use, and does not remember it", async () => {
  const blocker = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void blocker.close());
  await new Promise((resolve) => blocker.once("listening", resolve));
  const { port } = blocker.address() as AddressInfo;
  const cwd = makeHome();
  const refused = await runPortolan(["console", "--no-open", "--port", String(port)], { cwd });
  expect([refused.code, errorOf(refused)]).toEqual([
    2,
    { kind: "usage", message: `port ${port} is in use`, next: "use any free port: --port 0" },
  ]);
  expect(existsSync(join(stateOf(cwd), "console", "running.json"))).toBe(false);
});

test("refuses a flag that does not fit, before anything is started", async () => {
  const cwd = makeHome();
  const refused = async (running: Promise<Ran>, why: string) => {
    const ran = await running;
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining(why)]);
  };
  await refused(runPortolan(["console", "--port", "70000"], { cwd }), "--port: expected a port");
  await refused(runPortolan(["console", "--model", "nothing-known"], { cwd }), "no API key is set");
  await refused(runPortolan(["console", "--root", "nowhere"], { cwd }), "--root: folder not found");
  await refused(runPortolan(["console", "--allow", "a/b/c"], { cwd }), "--allow: expected server.tool");
  await refused(runPortolan(["console", "--timeout", "0", notes], { cwd }), "--timeout: expected a number");
  await refused(runPortolan(["console", "--era", "stone", notes], { cwd }), "--era: expected one of");
  const address = "http://127.0.0.1:1/mcp";
  await refused(runPortolan(["console", "--header", "x", address], { cwd }), "--header: expected NAME=VALUE");
  await refused(runPortolan(["console", "--client-id", "x", notes], { cwd }), "--client-id is for one address");
  await refused(runPortolan(["console", "nobody"], { cwd }), 'no server is named "nobody"');
});

test("a call that is saved beside `dev` names the file, whose address ends with the command", async () => {
  const cwd = makeHome();
  cpSync(fileOf("examples/hello/server.mjs"), join(cwd, "hello.mjs"));
  symlinkSync(fileOf("node_modules"), join(cwd, "node_modules"));
  const running = startPortolan(["dev", "hello.mjs", "--http", "0"], { cwd });
  const { console: url } = JSON.parse(await running.until(/"event":"ready"/)) as { console: string };
  const { tab, events } = await openPage({ url, isElsewhere: false });
  const [server = ""] = (await events.state()).servers.map(({ name }) => name);
  const call = { name: "a", server, tool: "forecast", argumentsText: '{"city":"Oslo","days":3}', expect: [] };
  await tab.do("saved.put", { call });
  expect((await tab.do("saved.list", {})).calls).toEqual([call]);
  running.child.kill("SIGTERM");
  await running.ended;
  const tested = await runPortolan(["test"], { cwd });
  expect(JSON.parse(tested.stdout)).toMatchObject({ passed: 1, calls: [{ server: "./hello.mjs" }] });
});
