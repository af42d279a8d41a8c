import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createFilms } from "./fixtures/films.mjs";
import { makeHome, root, runPortolan } from "./kit.ts";
import { expectValid } from "./output-schema.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const films = join(root, "test/cli/fixtures/films.mjs");
const eras = [["2025-11-25"], ["2026-07-28"]] as const;

/** Serves films over HTTP until the file "silent" exists. Returns its address. */
async function serve(folder: string): Promise<string> {
  const serving = serveHttp(createFilms(folder));
  const listener = createServer((request, response) => {
    if (!existsSync(join(folder, "silent"))) serving.node(request, response);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  onTestFinished(async () => {
    await serving.close(0);
    listener.closeAllConnections();
    listener.close();
  });
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`;
}

/** Creates a home whose project has the server films, by its address. */
async function makeProject(): Promise<string> {
  const cwd = makeHome();
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { films: { url: await serve(cwd) } } }));
  await succeed(["trust", "films", "--yes"], cwd);
  return cwd;
}

async function succeed(args: readonly string[], cwd: string, env: { [name: string]: string } = {}) {
  const { code, stdout, stderr } = await runPortolan(args, { cwd, env });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return JSON.parse(stdout);
}

async function fail(args: readonly string[], cwd: string) {
  const { code, stderr } = await runPortolan(args, { cwd });
  return { code, ...JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error };
}

const finish = (cwd: string, text: string) => writeFileSync(join(cwd, "film.txt"), text);

async function detach(cwd: string, tool = "render", ...more: string[]): Promise<string> {
  const started = await succeed(["call", `films.${tool}`, "--detach", ...more], cwd);
  expectValid("call", JSON.stringify(started));
  expect(started).toMatchObject({ task: { server: "films", tool, state: "working" } });
  expect(started.next).toBe(`portolan tasks wait ${started.task.id}`);
  return started.task.id;
}

describe.each(eras)("tasks on the command line on %s", (era) => {
  test("--detach starts a task, which other commands list, show and wait for", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "render", "--era", era);
    const listed = await succeed(["tasks"], cwd);
    expectValid("tasks", JSON.stringify(listed));
    expect(listed.tasks).toMatchObject([{ id, server: "films", tool: "render", state: "working" }]);
    const shown = await succeed(["tasks", "show", id.slice(0, 4)], cwd);
    expectValid("tasks", JSON.stringify(shown));
    expect(shown.task).toMatchObject({ id, state: "working", message: "3 of 40 frames" });
    finish(cwd, "a film");
    const result = await succeed(["tasks", "wait", id], cwd);
    expectValid("tasks", JSON.stringify(result));
    expect(result.content).toEqual([{ type: "text", text: "a film" }]);
    expect(await succeed(["tasks", "ls"], cwd)).toEqual({ tasks: [] });
    expect(await fail(["tasks", "wait", id], cwd)).toMatchObject({ code: 2, next: "portolan tasks" });
  });

  test("a failed tool ends wait like call", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "fails", "--era", era);
    expect(await fail(["tasks", "wait", id], cwd)).toMatchObject({ code: 5, kind: "tool", message: "out of ink" });
  });

  test("cancel cancels the task of the server", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "render", "--era", era);
    await vi.waitFor(() => expect(existsSync(join(cwd, "begun"))).toBe(true));
    const cancelled = await succeed(["tasks", "cancel", id], cwd);
    expectValid("tasks", JSON.stringify(cancelled));
    await vi.waitFor(() => expect(existsSync(join(cwd, "stopped"))).toBe(true));
    expect(await succeed(["tasks"], cwd)).toEqual({ tasks: [] });
  });

  test("a question keeps the task waiting until it is answered with --data", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "title", "--era", era);
    expect(await fail(["tasks", "wait", id], cwd)).toEqual({
      code: 6,
      kind: "denied",
      message: `task ${id} asks: Which name?`,
      next: `portolan tasks answer ${id}`,
    });
    const shown = await succeed(["tasks", "show", id], cwd);
    expectValid("tasks", JSON.stringify(shown));
    expect(shown).toMatchObject({ task: { state: "input_required" }, questions: [{ message: "Which name?" }] });
    expect(await fail(["tasks", "answer", id, "--data", '{"nam":1}'], cwd)).toMatchObject({ code: 2, kind: "usage" });
    const answered = await succeed(["tasks", "answer", id, "--data", '{"name":"Ada"}'], cwd);
    expectValid("tasks", JSON.stringify(answered));
    expect(answered).toEqual({ answered: id, next: `portolan tasks wait ${id}` });
    expect(JSON.stringify(await succeed(["tasks", "wait", id], cwd))).toContain("Ada");
  });

  test("--decline declines the question", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "title", "--era", era);
    await succeed(["tasks", "answer", id, "--decline"], cwd);
    expect(JSON.stringify(await succeed(["tasks", "wait", id], cwd))).toContain("decline");
  });

  test("a call of a tool that must be a task waits for its result", async () => {
    const cwd = await makeProject();
    finish(cwd, "a film");
    const result = await succeed(["call", "films.must", "--era", era], cwd);
    expect(result.content).toEqual([{ type: "text", text: "a film" }]);
  });
});

test("a typed address is found again, with the same headers", async () => {
  const cwd = makeHome();
  const url = await serve(cwd);
  const started = await succeed(["call", url, "render", "--detach", "--header", "X-Team=secret-7"], cwd);
  const { id } = started.task;
  const missing = await fail(["tasks", "wait", id], cwd);
  expect(missing).toMatchObject({ code: 2, next: expect.stringContaining(`--header 'X-Team=<value>'`) });
  finish(cwd, "a film");
  const result = await succeed(["tasks", "wait", id, "--header", "X-Team=secret-7"], cwd);
  expect(result.content).toEqual([{ type: "text", text: "a film" }]);
});

test("a task is found from another folder, and its records are private", async () => {
  const cwd = await makeProject();
  const id = await detach(cwd);
  const elsewhere = makeHome();
  const env = { PORTOLAN_HOME: join(cwd, ".portolan") };
  finish(cwd, "a film");
  expect(statSync(join(cwd, ".portolan/store")).mode & 0o077).toBe(0);
  const result = await succeed(["tasks", "wait", id], elsewhere, env);
  expect(result.content).toEqual([{ type: "text", text: "a film" }]);
});

test("with a tool that is no task, --detach waits for the result and says so", async () => {
  const cwd = await makeProject();
  const { code, stdout, stderr } = await runPortolan(["call", "films.plain", "--detach"], { cwd });
  expect(code).toBe(0);
  expect(stderr).toContain("films made no task of the call, so its result was waited for");
  expect(JSON.parse(stdout).content).toEqual([{ type: "text", text: "at once" }]);
});

test("a command as server needs portolan up, and its tasks go on there", async () => {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  writeFileSync(
    join(cwd, ".mcp.json"),
    JSON.stringify({ mcpServers: { films: { command: process.execPath, args: [films, cwd] } } }),
  );
  await succeed(["trust", "films", "--yes"], cwd);
  const refused = await fail(["call", "films.render", "--detach"], cwd);
  expect(refused).toMatchObject({ code: 2, next: "portolan up films" });
  expect(refused.message).toBe("films is started for one command, and its tasks end with it");
  await succeed(["up", "films"], cwd);
  const id = await detach(cwd);
  const asking = await detach(cwd, "title");
  expect(await fail(["tasks", "wait", asking], cwd)).toMatchObject({ message: `task ${asking} asks: Which name?` });
  await succeed(["tasks", "answer", asking, "--data", '{"name":"Ada"}'], cwd);
  expect(JSON.stringify(await succeed(["tasks", "wait", asking], cwd))).toContain("Ada");
  finish(cwd, "a film");
  expect((await succeed(["tasks", "wait", id], cwd)).content).toEqual([{ type: "text", text: "a film" }]);
  // A tool that nobody made a task works as before.
  expect((await succeed(["call", "films.plain"], cwd)).content).toEqual([{ type: "text", text: "at once" }]);
});

test("a task whose server was stopped is lost", async () => {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  const typed = ["--", process.execPath, films, cwd];
  await succeed(["up", ...typed], cwd);
  const { task } = await succeed(["call", "render", "--detach", ...typed], cwd);
  await succeed(["down"], cwd);
  expect(await fail(["tasks", "wait", task.id], cwd)).toMatchObject({
    code: 2,
    next: expect.stringMatching(/^portolan up .*-- /),
  });
  await succeed(["up", ...typed], cwd);
  const lost = await fail(["tasks", "wait", task.id], cwd);
  expect(lost).toMatchObject({ code: 1, kind: "failed", next: "portolan tasks" });
  expect(lost.message).toContain(`does not know task ${task.id} any more`);
});

test("wait prints the text alone with --text, and saves files with --save", async () => {
  const cwd = await makeProject();
  finish(cwd, "a film");
  const film = await detach(cwd);
  expect(await runPortolan(["tasks", "wait", film, "--text"], { cwd })).toMatchObject({ code: 0, stdout: "a film\n" });
  const still = await detach(cwd, "still");
  expect(await succeed(["tasks", "wait", still, "--save", "out"], cwd)).toMatchObject({ saved: ["out/1.png"] });
});

test("--timeout fails on a silent server, and the task is kept", async () => {
  const cwd = await makeProject();
  const id = await detach(cwd);
  writeFileSync(join(cwd, "silent"), "");
  expect(await fail(["tasks", "show", id, "--timeout", "0.5"], cwd)).toMatchObject({ code: 7, kind: "timeout" });
  rmSync(join(cwd, "silent"));
  expect((await succeed(["tasks"], cwd)).tasks).toMatchObject([{ id }]);
});

test("a command with --env is found again with the variable", async () => {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  const typed = ["--env", "COLOUR=blue", "--", process.execPath, films, cwd];
  const refused = await fail(["call", "render", "--detach", ...typed], cwd);
  expect(refused.next).toContain("portolan up --env COLOUR -- ");
  await succeed(["up", ...typed], cwd);
  const { task } = await succeed(["call", "render", "--detach", ...typed], cwd);
  finish(cwd, "a film");
  const missing = await fail(["tasks", "wait", task.id], cwd);
  expect(missing).toMatchObject({ code: 2, message: expect.stringContaining("your shell has no variable COLOUR") });
  const result = await succeed(["tasks", "wait", task.id, "--env", "COLOUR=blue"], cwd);
  expect(result.content).toEqual([{ type: "text", text: "a film" }]);
});

test("mistakes in the words after tasks are explained", async () => {
  const cwd = await makeProject();
  expect(await fail(["tasks", "wiat", "x"], cwd)).toMatchObject({
    code: 2,
    message: expect.stringContaining("did you mean wait?"),
  });
  expect(await fail(["tasks", "wait"], cwd)).toMatchObject({ code: 2, message: "tasks wait: no task given" });
  expect(await fail(["tasks", "wait", "k3"], cwd)).toMatchObject({
    code: 2,
    message: 'tasks wait: expected at least 3 characters of an id, got "k3"',
  });
  expect(await fail(["tasks", "wait", "nonesuch"], cwd)).toMatchObject({ code: 2, next: "portolan tasks" });
});

describe("on a terminal", () => {
  test("Ctrl-C leaves a task running, or cancels it", async () => {
    const cwd = await makeProject();
    const first = openTerminal(["call", "films.must"], { cwd });
    await vi.waitFor(() => expect(existsSync(join(cwd, "begun"))).toBe(true), 10_000);
    await first.see("3 of 40 frames");
    first.type("\u0003");
    await first.answer("Your choice", "l\r");
    expect(await first.exited).toBe(0);
    expect(first.screen()).toMatch(/→ portolan tasks wait \w+/);
    const [, id = ""] = /tasks wait (\w+)/.exec(first.screen()) ?? [];
    const second = openTerminal(["tasks", "wait", id], { cwd });
    await second.see("3 of 40 frames");
    second.type("\u0003");
    await second.answer("Your choice", "c\r");
    expect(await second.exited).toBe(130);
    await vi.waitFor(() => expect(existsSync(join(cwd, "stopped"))).toBe(true));
  });

  test("wait and answer ask the question", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd, "title");
    const terminal = openTerminal(["tasks", "answer", id], { cwd });
    await terminal.answer("Name", "Ada\r");
    await terminal.answer("send", "y\r");
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain(`portolan tasks wait ${id}`);
    expect(JSON.stringify(await succeed(["tasks", "wait", id], cwd))).toContain("Ada");
  });

  test("the list is a table", async () => {
    const cwd = await makeProject();
    const id = await detach(cwd);
    const terminal = openTerminal(["tasks"], { cwd });
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toMatch(new RegExp(`${id}\\s+working\\s+films.render`));
    expect(readFileSync(join(cwd, ".portolan/activity.ndjson"), "utf8")).toContain('"render"');
  });
});
