import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import type { ProtectOptions } from "portolan/auth/server";
import { serveHttp as serveMcp } from "portolan/server/http";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, onTestFinished, test } from "vitest";
import { startWorld } from "../auth/client/kit/world.ts";
import { scriptOf, serveHttp } from "../servers/kit/programs.ts";
import { createFilms } from "./fixtures/films.mjs";
import { makeHome, portolan, root, runPortolan } from "./kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const asking = join(root, "test/cli/asking-server.mjs");
const offering = join(root, "test/cli/fixtures/offering.mjs");
const broken = join(root, "test/cli/fixtures/broken.mjs");
const timeServer = join(root, "packages/servers/time/dist/main.js");
const films = join(root, "test/cli/fixtures/films.mjs");
const halfBroken = join(root, "test/cli/fixtures/half-broken.mjs");

type Env = { [name: string]: string };

function put(cwd: string, path: string, content: unknown): string {
  const file = join(cwd, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** Creates a home whose project has these servers. */
function homeWith(servers: object): string {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: servers });
  return cwd;
}

async function trust(cwd: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) expect((await runPortolan(["trust", name, "--yes"], { cwd })).code).toBe(0);
}

/** Runs a command that fails. Returns the next step of its failure. */
async function stepOf(cwd: string, args: readonly string[], env: Env = {}): Promise<string> {
  const { stderr } = await runPortolan(args, { cwd, env });
  return String(JSON.parse(stderr.trim().split("\n").at(-1) ?? "").error.next);
}

/** Runs a command on a terminal. Returns the step after the last arrow. */
async function shownStep(cwd: string, args: readonly string[], env: Env = {}): Promise<string> {
  const terminal = openTerminal(args, { cwd, env, columns: 200 });
  await terminal.exited;
  return lastStep(terminal.screen());
}

function lastStep(screen: string): string {
  return [...screen.matchAll(/→ (.*)$/gm)].at(-1)?.[1] ?? "";
}

/** Returns the next step of a finding of the doctor. */
async function adviceOf(cwd: string, id: string, args: readonly string[] = []): Promise<string> {
  const { stdout } = await runPortolan(["doctor", ...args], { cwd });
  const { findings } = JSON.parse(stdout) as { findings: { id: string; next: string }[] };
  return findings.find((finding) => finding.id === id)?.next ?? "";
}

/** Types the command in a step into a shell, as shown. Answers a question with `key`. */
async function type(step: string, cwd: string, { env = {}, key }: { env?: Env; key?: string } = {}) {
  const [command = ""] = /(?:NO_PROXY=\S+ )?portolan .*$/.exec(step) ?? [];
  const line = command.replace(/(?<=^|NO_PROXY=\S+ )portolan/, '"$0" "$1"');
  const terminal = openTerminal(["-c", line, node, portolan], { cwd, env, columns: 200, program: ["sh"] });
  if (key !== undefined) await terminal.answer(/ no |n no/, `${key}\r`);
  return { step, code: await terminal.exited, screen: terminal.screen() };
}

/** A browser that signs in by itself. */
function withBrowser(cwd: string): Env {
  chmodSync(put(cwd, "bin/xdg-open", `#!/bin/sh\nexec ${node} -e 'fetch(process.argv[1])' "$1"\n`), 0o755);
  return { PATH: [join(cwd, "bin"), process.env["PATH"]].join(delimiter) };
}

/**
 * How to reach each message with a command, and what the command shows when it is typed. The key is the file and the
 * text, with {} for values; texts without values are the same in every file.
 */
const scenarios: { readonly [message: string]: () => Promise<void> } = {
  async "portolan tasks"() {
    const { cwd, id } = await withTask("title");
    const step = await stepOf(cwd, ["tasks", "wait", "nonesuch"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan tasks",
      code: 0,
      screen: expect.stringContaining(id),
    });
  },
  async "output/tasks.ts: portolan tasks wait {}"() {
    const { cwd, id, next } = await withTask("fails");
    expect(await type(next, cwd)).toMatchObject({
      step: `portolan tasks wait ${id}`,
      code: 5,
      screen: expect.stringContaining("out of ink"),
    });
  },
  async "output/tasks.ts: portolan tasks answer {}"() {
    const { cwd, id } = await withTask("title");
    const step = await stepOf(cwd, ["tasks", "wait", id]);
    const [, command = ""] = /portolan (.*)$/.exec(step) ?? [];
    const terminal = openTerminal(command.split(" "), { cwd });
    await terminal.answer("Name", "Ada\r");
    await terminal.answer("send", "y\r");
    expect(await terminal.exited).toBe(0);
    expect(await type(lastStep(terminal.screen()), cwd)).toMatchObject({
      code: 0,
      screen: expect.stringContaining("Ada"),
    });
  },
  async "tasks/task-targets.ts: portolan up {}"() {
    const cwd = homeWith({ films: { command: node, args: [films, "."] } });
    onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
    await trust(cwd, "films");
    const step = await stepOf(cwd, ["call", "films.plain", "--detach"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan up films", code: 0 });
    expect((await runPortolan(["call", "films.plain", "--detach"], { cwd })).code).toBe(0);
  },
  async "portolan servers"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const step = await stepOf(cwd, ["ls", "nothing-like-it"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan servers",
      code: 0,
      screen: expect.stringContaining("notes"),
    });
  },
  async "portolan doctor"() {
    const cwd = makeHome();
    put(cwd, ".mcp.json", "{ broken");
    const step = await stepOf(cwd, ["ls", "notes"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan doctor",
      code: 1,
      screen: expect.stringContaining("a configuration file cannot be read"),
    });
  },
  async "portolan add --help"() {
    const cwd = makeHome();
    for (const step of [
      await stepOf(cwd, ["ls", "notes"]),
      await shownStep(cwd, ["servers"]),
      await shownStep(cwd, ["doctor"]),
    ]) {
      expect(await type(step, cwd)).toMatchObject({
        step: "portolan add --help",
        code: 0,
        screen: expect.stringContaining("--from"),
      });
    }
  },
  async "portolan dev --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["dev"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan dev --help",
      code: 0,
      screen: expect.stringContaining("--apps"),
    });
  },
  async "portolan serve --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["dev", "--", node, asking]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan serve --help",
      code: 0,
      screen: expect.stringContaining("--http"),
    });
  },
  async "portolan grants"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["grants", "--revoke", "nothing"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan grants", code: 0 });
  },
  async "portolan complete --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["complete", "greet", "--", node, asking]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan complete --help", code: 0 });
  },
  async "portolan record --help"() {
    const cwd = makeHome();
    put(cwd, "odd.jsonl", "{}\n");
    const step = await stepOf(cwd, ["replay", "odd.jsonl"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan record --help", code: 0 });
  },
  async "portolan new weather"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["new", "Not A Name"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan new weather", code: 0 });
  },
  async 'portolan run "what can you do?"'() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["run"]);
    expect(await type(step, cwd)).toMatchObject({ step: 'portolan run "what can you do?"', code: 0 });
  },
  async "portolan keys --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["keys", "turn"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan keys --help", code: 0 });
  },
  async "portolan gen --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["gen", "java"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan gen --help", code: 0 });
  },
  async "portolan skills --help"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["skills", "load"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan skills --help", code: 0 });
  },
  async "commands/skills.ts: portolan skills ls {}"() {
    const cwd = homeWith({ all: { command: node, args: [scriptOf("everything")] } });
    await trust(cwd, "all");
    const step = await stepOf(cwd, ["skills", "show", "all", "nothing"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan skills ls all",
      code: 0,
      screen: expect.stringContaining("tour"),
    });
  },
  async "commands/skills.ts: portolan skills show {} {}"() {
    const cwd = homeWith({ all: { command: node, args: [scriptOf("everything")] } });
    await trust(cwd, "all");
    const configured = await shownStep(cwd, ["skills", "ls", "all"]);
    expect(await type(configured, cwd)).toMatchObject({ step: "portolan skills show all tour", code: 0 });
    const started = await shownStep(cwd, ["skills", "ls", "--", node, scriptOf("everything")]);
    expect(started).toMatch(/^portolan skills show tour -- /);
    expect(await type(started, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("verified") });
  },
  async "portolan add --help shows how an entry names a variable instead"() {
    const cwd = makeHome();
    const { stderr } = await runPortolan(["gen", "skill", "--", node, asking, "-p", "hunter2"], { cwd });
    const [step = ""] = /portolan add --help(?= shows how an entry names a variable)/.exec(stderr) ?? [];
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan add --help",
      code: 0,
      screen: expect.stringContaining("--env 'PGURL=${PGURL}'"),
    });
  },
  async "portolan up"() {
    const cwd = await withWarmServer();
    expect(await type("portolan up", cwd)).toMatchObject({
      code: 0,
      screen: expect.stringContaining("is kept running"),
    });
  },
  async "portolan down"() {
    const cwd = await withWarmServer();
    const step = await shownStep(cwd, ["up"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan down",
      code: 0,
      screen: expect.stringContaining("my notes is stopped"),
    });
  },
  async "commands/up.ts: portolan ls {}"() {
    const cwd = await withWarmServer();
    const step = await shownStep(cwd, ["up", "my notes"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls 'my notes'", code: 0 });
  },
  async "commands/up.ts: portolan up {}"() {
    const cwd = await withWarmServer();
    const step = await stepOf(cwd, ["up", "my notes.paint"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan up 'my notes'", code: 0 });
  },
  async "chat/model-run.ts: portolan trust {}"() {
    await trusts(["run", "hello", "--model", "demo", "--server", "notes"]);
  },
  async "servers/withheld.ts: portolan ls {} {}"() {
    const cwd = makeHome();
    const missing = 'console.error("MY_SECRET_KEY is missing"); process.exit(1);';
    put(cwd, "needs.mjs", `if (!process.env.MY_SECRET_KEY) { ${missing} }\nawait import(${JSON.stringify(asking)});`);
    const env = { MY_SECRET_KEY: "x" };
    const step = await stepOf(cwd, ["gen", "ts", "--", node, "needs.mjs"], env);
    expect(await type(step, cwd, { env })).toMatchObject({
      step: `portolan gen --env MY_SECRET_KEY ts -- ${node} needs.mjs`,
      code: 0,
    });
    const entry = { command: node, args: [join(cwd, "needs.mjs")] };
    put(cwd, ".cursor/mcp.json", { mcpServers: { theirs: entry } });
    put(cwd, ".mcp.json", { mcpServers: { ours: entry } });
    await trust(cwd, "theirs", "ours");
    const { stdout } = await runPortolan(["doctor"], { cwd, env });
    const { findings } = JSON.parse(stdout) as { findings: { server: string; next: string }[] };
    const stepFor = (name: string) => findings.find(({ server }) => server === name)?.next ?? "";
    const [theirs, ours] = [stepFor("theirs"), stepFor("ours")];
    expect([theirs, ours]).toEqual([
      "portolan add --force theirs --env MY_SECRET_KEY",
      "portolan add ours --env MY_SECRET_KEY",
    ]);
    for (const typed of [theirs, ours]) expect(await type(typed, cwd, { env })).toMatchObject({ code: 0 });
    for (const name of ["theirs", "ours"]) expect((await runPortolan(["ls", name], { cwd, env })).code).toBe(0);
  },
  async "commands/ls.ts: portolan ls {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    await trust(cwd, "notes");
    const step = await stepOf(cwd, ["ls", "notes.nothing"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls notes", code: 0 });
  },
  async "servers/find-server.ts: portolan ls {} {}"() {
    const cwd = makeHome();
    const step = await shownStep(cwd, ["ls", "--", node, offering]);
    expect(step).toMatch(/^portolan ls \w+ -- /);
    expect(await type(step, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("arguments") });
  },
  async "commands/ls.ts: portolan trust {} --changes"() {
    const { cwd } = await withChangedTool();
    const terminal = openTerminal(["ls", "notes.echo"], { cwd, columns: 200 });
    await terminal.exited;
    const [step = ""] = /portolan trust notes --changes/.exec(terminal.screen()) ?? [];
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes --changes", code: 0 });
  },
  async "portolan log --kind error"() {
    const cwd = makeHome();
    await runPortolan(["call", "paint", "colour=red", "coats=1", "where={}", "--", node, asking], { cwd });
    const file = join(cwd, ".portolan", "activity.ndjson");
    writeFileSync(file, `${readFileSync(file, "utf8")}{"half":`);
    const step = await shownStep(cwd, ["log", "--verify"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan log --kind error", code: 0 });
  },
  async "arguments/flags.ts: portolan {}"() {
    const cwd = homeWith({ notes: { command: node, args: [offering] } });
    const replace = await stepOf(cwd, ["add", "notes", "--", node, asking]);
    expect(await type(replace, cwd)).toMatchObject({
      step: `portolan add --force notes -- ${node} ${asking}`,
      code: 0,
    });
    // Long enough for the start of the server.
    const silent = ["call", "forever", "--timeout", "2", "--", node, asking];
    const longer = await stepOf(cwd, silent);
    expect(await type(longer, cwd)).toMatchObject({
      step: `portolan call --timeout 4 forever -- ${node} ${asking}`,
      code: 7,
      screen: expect.stringContaining("no answer and no progress for 4 s"),
    });
    const more = await adviceOf(cwd, "no-answer", ["--timeout", "0.5", "--", node, broken, "silent"]);
    expect(await type(more, cwd)).toMatchObject({
      step: `portolan doctor --timeout 1 -- ${node} ${broken} silent`,
      code: 1,
      screen: expect.stringContaining("it does not answer"),
    });
    const once = ["run", "paint colour=red coats=1 {}", "--model", "demo", "--max-turns", "1", "--", node, asking];
    const turns = await stepOf(cwd, once);
    expect(turns).toContain("portolan run --max-turns 2 ");
    // The step itself works: it asks again, and a no is a refusal.
    expect(await type(turns, cwd, { key: "n" })).toMatchObject({ code: 6 });
  },
  async "chat/labels.ts: portolan trust {} --hints"() {
    const cwd = homeWith({ time: { command: node, args: [timeServer] } });
    await trust(cwd, "time");
    const asked = ["run", "what time is it now in zones=Asia/Tokyo", "--server", "time", "--yes-read-only"];
    const step = await stepOf(cwd, [...asked, "--model", "demo"]);
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust time --hints", code: 0 });
    expect((await runPortolan([...asked, "--model", "demo"], { cwd })).code).toBe(0);
  },
  async "commands/test.ts: portolan ls {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    await trust(cwd, "notes");
    const call = { name: "misspelt", server: "notes", tool: "pain", argumentsText: "{}", expect: [{ isError: false }] };
    put(cwd, ".portolan/calls.json", { version: 1, calls: [call] });
    const { stdout } = await runPortolan(["test"], { cwd });
    const step = (JSON.parse(stdout) as { calls: { next: string }[] }).calls[0]?.next ?? "";
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls notes", code: 0 });
  },
  async "chat/model-run.ts: portolan grants --revoke {}"() {
    const cwd = makeHome();
    const args = ["run", 'paint colour=red coats=1 {"room":1}', "--model", "demo", "--", node, asking];
    const first = openTerminal(args, { cwd });
    await first.answer("v view its definition", "N\r");
    await first.exited;
    const second = openTerminal(args, { cwd });
    await second.exited;
    const [, step = ""] = /denied it until [\s\S]*→ (portolan grants --revoke .*)/.exec(second.screen()) ?? [];
    expect(await type(step, cwd)).toMatchObject({ step: "portolan grants --revoke asking-server.paint", code: 0 });
    await openTerminal(args, { cwd }).see("v view its definition");
  },
  async "commands/chat.ts: portolan trust {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const terminal = openTerminal(["chat", "--model", "demo"], { cwd });
    await terminal.answer(/New server notes[\s\S]*Enter:/, "n\r");
    const shown = await terminal.see(/without a server\n {2}notes is not trusted[\s\S]*\n>$/);
    const [, step = ""] = /→ (portolan trust .*)/.exec(shown) ?? [];
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes", code: 0 });
  },
  async "ask/answers.ts: portolan grants --revoke {}"() {
    const cwd = makeHome();
    const terminal = openTerminal(["run", "write text=hello", "--model", "demo", "--", node, offering], { cwd });
    await terminal.answer("v view its definition", "N\r");
    await terminal.exited;
    const [, step = ""] = /→ (portolan grants --revoke .*)/.exec(terminal.screen()) ?? [];
    expect(await type(step, cwd)).toMatchObject({
      code: 0,
      screen: expect.stringContaining(".write will be asked for again"),
    });
  },
  async "ask/answers.ts: portolan trust {} --revoke"() {
    const cwd = homeWith({ "my notes": { command: node, args: [asking] } });
    const terminal = openTerminal(["ls", "my notes"], { cwd });
    await terminal.answer(/New server my notes[\s\S]*n no/, "a\r");
    expect(await terminal.exited).toBe(0);
    const [, step = ""] = /→ (portolan trust .* --revoke)/.exec(terminal.screen()) ?? [];
    expect(await type(step, cwd)).toMatchObject({ step: "portolan trust 'my notes' --revoke", code: 0 });
  },
  async "cli.ts: portolan {} --help"() {
    const cwd = makeHome();
    for (const args of [
      ["ls", "--bogus"],
      ["log", "--limit", "none"],
      ["serve", "--http", "x"],
    ]) {
      const step = await stepOf(cwd, args);
      expect(await type(step, cwd)).toMatchObject({
        step: `portolan ${args[0]} --help`,
        code: 0,
        screen: expect.stringContaining(`Usage: portolan ${args[0]}`),
      });
    }
  },
  async "cli.ts: portolan ls {}"() {
    const cwd = makeHome();
    put(cwd, "my server.mjs", `await import(${JSON.stringify(asking)});`);
    const step = await stepOf(cwd, ["./my server.mjs"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls './my server.mjs'", code: 0 });
  },
  async "commands/add.ts: portolan ls {}"() {
    const cwd = makeHome();
    const step = await shownStep(cwd, ["add", "my notes", "--", node, asking]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls 'my notes'", code: 0 });
  },
  async "commands/add.ts: portolan doctor {}"() {
    const cwd = makeHome();
    const step = await shownStep(cwd, ["add", "db", "--env", "PGURL=${NOBODY_SET_THIS}", "--", node, asking]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan doctor db",
      code: 1,
      screen: expect.stringContaining("NOBODY_SET_THIS"),
    });
  },
  async "commands/add.ts: portolan trust {}"() {
    const cwd = makeHome();
    put(cwd, "other.json", { mcpServers: { notes: { command: node, args: [asking] } } });
    const step = await shownStep(cwd, ["add", "notes", "--from", "other.json"]);
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes", code: 0 });
  },
  "commands/call.ts: portolan ls {}": () => lists(["call", "nothing", "--", node, asking]),
  "commands/prompt.ts: portolan ls {}": () => lists(["prompt", "nothing", "--", node, asking]),
  async "commands/read.ts: portolan ls {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    await trust(cwd, "notes");
    const step = await stepOf(cwd, ["read", "notes"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan ls notes", code: 0 });
  },
  "servers/explain.ts: portolan ls {}": () => lists(["read", "note://nothing", "--", node, asking]),
  async "commands/check.ts: portolan doctor {}"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["check", "--timeout", "2", "--", node, broken, "exits"]);
    expect(await type(step, cwd)).toMatchObject({ step: `portolan doctor -- ${node} ${broken} exits`, code: 1 });
  },
  async "servers/graded-target.ts: if it can be reached directly: NO_PROXY={} portolan {}"() {
    const cwd = makeHome();
    const url = await serveHttp(scriptOf("time"));
    const env = { HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "<-loopback>" };
    const args = ["check", url, "--only", "handshake/*", "--revision", "2025-06-18"];
    const step = await stepOf(cwd, args, env);
    expect(step).toContain("NO_PROXY=127.0.0.1 portolan check");
    expect(await type(step, cwd, { env })).toMatchObject({ code: 0 });
  },
  async "commands/ls.ts: changed: portolan trust {} --changes"() {
    const { cwd } = await withChangedTool();
    const terminal = openTerminal(["ls", "notes"], { cwd, columns: 200 });
    await terminal.exited;
    const [step = ""] = /portolan trust notes --changes/.exec(terminal.screen()) ?? [];
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes --changes", code: 0 });
  },
  async "doctor/examine.ts: portolan trust {} --changes"() {
    const { cwd } = await withChangedTool();
    const step = await adviceOf(cwd, "changed-definitions", ["notes"]);
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes --changes", code: 0 });
  },
  async "servers/explain.ts: portolan trust {} --changes"() {
    const { cwd } = await withChangedTool();
    const step = await stepOf(cwd, ["call", "notes.echo"]);
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes --changes", code: 0 });
    expect((await runPortolan(["call", "notes.echo"], { cwd })).code).toBe(0);
  },
  async "commands/trust.ts: portolan trust {} --changes --yes"() {
    const { cwd } = await withChangedTool();
    const step = await stepOf(cwd, ["trust", "notes", "--changes"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan trust notes --changes --yes", code: 0 });
  },
  async "commands/trust.ts: portolan trust {}{} --yes"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const step = await stepOf(cwd, ["trust", "notes"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan trust notes --yes", code: 0 });
  },
  async "commands/trust.ts: portolan ls {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const step = await shownStep(cwd, ["trust", "notes", "--yes"]);
    expect(await type(step, cwd)).toMatchObject({
      step: "portolan ls notes",
      code: 0,
      screen: expect.stringContaining("paint("),
    });
  },
  "commands/trust.ts: portolan doctor {}": () => misconfigured(["trust", "db"]),
  "servers/explain.ts: portolan doctor {}": () => misconfigured(["ls", "db"]),
  "servers/sign-in.ts: portolan doctor {}": () => misconfigured(["login", "far"]),
  async "commands/servers.ts: portolan doctor {}"() {
    const cwd = homeWith({ db: { command: "no-such-program-anywhere" } });
    await trust(cwd, "db");
    const { stdout } = await runPortolan(["servers"], { cwd });
    const [{ next }] = JSON.parse(stdout).servers;
    expect(await type(next, cwd)).toMatchObject({
      step: "portolan doctor db",
      code: 1,
      screen: expect.stringContaining("cannot be started"),
    });
  },
  async "commands/servers.ts: portolan trust {}"() {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const { stdout } = await runPortolan(["servers"], { cwd });
    const [{ next }] = JSON.parse(stdout).servers;
    expect(await type(next, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes", code: 0 });
  },
  "doctor/examine.ts: portolan trust {}": async () => {
    const cwd = homeWith({ notes: { command: node, args: [asking] } });
    const step = await adviceOf(cwd, "untrusted", ["notes"]);
    expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes", code: 0 });
  },
  "servers/explain.ts: portolan trust {}": () => trusts(["ls", "notes"]),
  async "commands/servers.ts: portolan login {}"() {
    const { cwd, env } = await withLogin();
    const { stdout } = await runPortolan(["servers"], { cwd });
    const [{ next }] = JSON.parse(stdout).servers;
    expect(await type(next, cwd, { env })).toMatchObject({
      step: "portolan login far",
      code: 0,
      screen: expect.stringContaining("signed in"),
    });
  },
  async "servers/explain.ts: portolan login {}"() {
    const { cwd, env, url } = await withLogin();
    const step = await stepOf(cwd, ["ls", url]);
    expect(await type(step, cwd, { env })).toMatchObject({ step: `portolan login ${url}`, code: 0 });
  },
  async "servers/explain.ts: portolan login {}{}"() {
    const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["keys:write", "admin"] : []);
    const { cwd, env, url } = await withLogin({ scopes: ["notes:read"], scopesFor });
    expect((await runPortolan(["login", "far"], { cwd, env })).code).toBe(0);
    for (const [target, name] of [
      ["far.write", "far"],
      [url, url],
    ] as const) {
      const call = ["call", target, ...(target === url ? ["write"] : [])];
      const ran = await runPortolan(call, { cwd });
      expect([ran.code, JSON.parse(ran.stderr).error.message]).toEqual([
        3,
        expect.stringContaining("requires more scopes (keys:write admin): a person must sign in at "),
      ]);
      const step = await stepOf(cwd, call);
      const typed = { step: `portolan login ${name} --scope 'keys:write admin'`, code: 0 };
      expect(await type(step, cwd, { env })).toMatchObject(typed);
      expect((await runPortolan(call, { cwd })).stdout).toContain("written");
      expect((await runPortolan(["logout", url], { cwd })).code).toBe(0);
      expect((await runPortolan(["login", "far"], { cwd, env })).code).toBe(0);
    }
  },
  async "doctor/address.ts: portolan login {}"() {
    const { cwd, env, url } = await withLogin();
    for (const [args, step] of [
      [["far"], "portolan login far"],
      [[url], `portolan login ${url}`],
    ] as const) {
      expect(await adviceOf(cwd, "missing-token", args)).toBe(step);
      expect(await type(step, cwd, { env })).toMatchObject({ code: 0 });
      expect((await runPortolan(["logout", url], { cwd })).code).toBe(0);
    }
  },
  async "commands/new.ts: portolan new {}-2"() {
    const cwd = makeHome();
    put(cwd, "weather/mine.txt", "mine");
    const step = await stepOf(cwd, ["new", "weather"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan new weather-2", code: 0 });
  },
  async "commands/read.ts: portolan complete {}{} {}{}"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["read", "note://{folder}/{name}", "--", node, offering]);
    expect(await type(step, cwd)).toMatchObject({ code: 0, screen: expect.stringContaining("work") });
  },
  async "servers/link.ts: portolan doctor {}"() {
    const cwd = homeWith({ dies: { command: node, args: [broken, "exits"] } });
    await trust(cwd, "dies");
    for (const [args, step] of [
      [["record", "--", node, "missing.mjs"], `portolan doctor -- ${node} missing.mjs`],
      [["record", "dies"], "portolan doctor dies"],
      [["serve", "http://127.0.0.1:9/mcp"], "portolan doctor http://127.0.0.1:9/mcp"],
    ] as const) {
      expect(await stepOf(cwd, args)).toBe(step);
      expect(await type(step, cwd)).toMatchObject({ code: 1, screen: expect.stringContaining("1 error found") });
    }
    await misconfigured(["record", "db"]);
  },
  async "servers/link.ts: portolan login {}"() {
    const { cwd, env, url } = await withLogin();
    const step = await stepOf(cwd, ["serve", url]);
    expect(await type(step, cwd, { env })).toMatchObject({ step: `portolan login ${url}`, code: 0 });
  },
  async "commands/remove.ts: portolan remove {} --force"() {
    const cwd = makeHome();
    put(cwd, ".cursor/mcp.json", { mcpServers: { notes: { command: node } } });
    const step = await stepOf(cwd, ["remove", "notes"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan remove notes --force", code: 0 });
  },
  async "commands/replay.ts: portolan replay {}"() {
    const cwd = makeHome();
    const call = ["call", "paint", "colour=red", "coats=1", "where={}", "--record", "talk.jsonl", "--", node, asking];
    expect((await runPortolan(call, { cwd })).code).toBe(0);
    const step = await stepOf(cwd, ["replay", "talk.jsonl", "--check", "--", node, offering]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan replay talk.jsonl", code: 0 });
  },
  async "commands/watch.ts: portolan doctor {}"() {
    const cwd = homeWith({ gone: { command: node, args: [broken, "exits"] } });
    await trust(cwd, "gone");
    const step = await stepOf(cwd, ["watch", "gone"]);
    expect(await type(step, cwd)).toMatchObject({ step: "portolan doctor gone", code: 1 });
  },
  async "doctor/command.ts: portolan serve --stdio {}"() {
    const cwd = makeHome();
    put(cwd, "dies.mjs", 'console.error("first line"); console.error("disk on fire"); process.exit(7);');
    const step = await adviceOf(cwd, "command-exits", ["./dies.mjs"]);
    expect(step).toBe("run it by hand to see more: portolan serve --stdio ./dies.mjs");
    expect(await type(step, cwd)).toMatchObject({
      code: 4,
      screen: expect.stringMatching(/first line\n[\s\S]*disk on fire[\s\S]*\.\/dies\.mjs exited with code 7/),
    });
  },
  async "commands/check.ts: correct the server, then: portolan {}"() {
    const cwd = makeHome();
    const few = ["--revision", "2025-06-18", "--only", "base/*", "--", node, halfBroken];
    const step = await stepOf(cwd, ["check", ...few]);
    expect(step).toMatch(/^correct the server, then: portolan check --only base\/[\w-]+ .*--revision 2025-06-18 -- /);
    expect(await type(step, cwd)).toMatchObject({ code: 8, screen: expect.stringContaining("2025-06-18 stdio") });
  },
  async "doctor/examine.ts: portolan check {}"() {
    const cwd = makeHome();
    const step = await adviceOf(cwd, "list-failed", ["--", node, halfBroken]);
    expect(step).toContain(`: portolan check -- ${node} ${halfBroken}`);
    // All scenarios take long; these are enough to see that the command is right.
    const short = step.replace("portolan check", "portolan check --only 'handshake/*' --revision 2025-06-18");
    expect(await type(short, cwd)).toMatchObject({ screen: expect.stringContaining("2025-06-18 stdio") });
  },
  async "servers/list-problems.ts: portolan doctor {}"() {
    const cwd = makeHome();
    const step = await stepOf(cwd, ["prompt", "any", "--", node, halfBroken]);
    expect(await type(step, cwd)).toMatchObject({ step: `portolan doctor -- ${node} ${halfBroken}`, code: 1 });
  },
};

async function lists(args: readonly string[]): Promise<void> {
  const cwd = makeHome();
  const step = await stepOf(cwd, args);
  expect(await type(step, cwd)).toMatchObject({
    step: `portolan ls -- ${node} ${asking}`,
    code: 0,
    screen: expect.stringContaining("paint("),
  });
}

async function trusts(args: readonly string[]): Promise<void> {
  const cwd = homeWith({ notes: { command: node, args: [asking] } });
  const step = await stepOf(cwd, args);
  expect(await type(step, cwd, { key: "y" })).toMatchObject({ step: "portolan trust notes", code: 0 });
}

async function misconfigured(args: readonly string[]): Promise<void> {
  const missing = "${NOBODY_SET_THIS}";
  const cwd = homeWith({
    db: { command: node, env: { URL: missing } },
    far: { url: `https://example.com/${missing}` },
  });
  const step = await stepOf(cwd, args);
  expect(await type(step, cwd)).toMatchObject({
    step: `portolan doctor ${args[1]}`,
    code: 1,
    screen: expect.stringContaining("the variable NOBODY_SET_THIS is not set"),
  });
}

/** A trusted server that is kept running until the test ends. */
async function withWarmServer(): Promise<string> {
  const cwd = homeWith({ "my notes": { command: node, args: [asking] } });
  await trust(cwd, "my notes");
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  expect((await runPortolan(["up", "my notes"], { cwd })).code).toBe(0);
  return cwd;
}

/** A trusted server whose tool has changed since it was first listed. */
async function withChangedTool(): Promise<{ cwd: string }> {
  const cwd = makeHome();
  const text = put(cwd, "description.txt", "Says it again");
  put(cwd, ".mcp.json", { mcpServers: { notes: { command: node, args: [broken, "described", text] } } });
  await trust(cwd, "notes");
  expect((await runPortolan(["ls", "notes"], { cwd })).code).toBe(0);
  writeFileSync(text, "Says something else");
  return { cwd };
}

/** A server that requires sign-in, and a browser that does it. */
async function withLogin(protect: Partial<ProtectOptions> = {}): Promise<{ cwd: string; env: Env; url: string }> {
  const cwd = makeHome();
  const { server } = await startWorld({ protect });
  expect((await runPortolan(["add", "far", server.url], { cwd })).code).toBe(0);
  return { cwd, env: withBrowser(cwd), url: server.url };
}

/** Starts a task of a server over HTTP. */
async function withTask(tool: string): Promise<{ cwd: string; id: string; next: string }> {
  const cwd = makeHome();
  const serving = serveMcp(createFilms(cwd));
  const listener = createServer((request, response) => serving.node(request, response)).listen(0, "127.0.0.1");
  await once(listener, "listening");
  onTestFinished(async () => {
    await serving.close(0);
    listener.closeAllConnections();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  put(cwd, ".mcp.json", { mcpServers: { films: { url: `http://127.0.0.1:${port}/mcp` } } });
  await trust(cwd, "films");
  const { stdout } = await runPortolan(["call", `films.${tool}`, "--detach"], { cwd });
  const { task, next } = JSON.parse(stdout) as { task: { id: string }; next: string };
  return { cwd, id: task.id, next };
}

/** Messages whose step other tests type, and texts that are no steps. */
const elsewhere: { readonly [message: string]: string } = {
  "commands/login.ts: register a client there, then run in a terminal, which asks for its id: portolan login {}":
    "login.test.ts: asks for the client on a terminal",
  "commands/login.ts: The server may require an API key in a header instead, which portolan add --help explains":
    "typed above",
  "doctor/command.ts: it seems to need a variable: portolan ls {} {}": "a value for the person to replace",
  "doctor/command.ts: it seems to need a variable: portolan add{} {} {}": "a value for the person to replace",
  "servers/sign-in.ts: give it its credentials as variables, with --env: portolan add --help": "typed above",
  "commands/dev.ts: portolan ls {}": "journey-author.test.ts",
  "servers/find-server.ts: portolan ls {}": "journey-user.test.ts",
  "commands/login.ts: If the page does not know the app: press Ctrl-C, then run: portolan login {}": "login.test.ts",
  "commands/logout.ts: portolan login {}": "login.test.ts",
  "commands/tasks.ts: portolan tasks {} {}": "the beginning of a step; tasks.test.ts",
  "commands/login.ts: portolan ls {}": "login.test.ts",
  "commands/login.ts: portolan {}": "login.test.ts",
  "commands/dev.ts: portolan serve --stdio {}": "make-dev.test.ts",
  "commands/new.ts: npx portolan {}": "journey-author.test.ts",
  "commands/pack.ts: portolan add {}": "pack.test.ts",
  "sources/card.ts: portolan add {} {}": "sources.test.ts",
  "commands/new.ts: package.json uses portolan from {}": "a sentence",
  "portolan serve": "the name of the proxy server",
  "portolan dev": "the name of the server",
  "portolan login ": "the beginning of a step",
  "arguments/call-expression.ts: separate arguments are name=value: portolan call --help": "typed below cli.ts",
  "commands/gen.ts: portolan gen {} {}": "the first line of a generated file",
  "generate/only-server.ts: {} (portolan {})": "the version of a generated command",
  "generate/typescript.ts: Generated by portolan gen": "the first line of a generated file",
  "record/record-link.ts: portolan {}": "the version in a recording",
  "cli.ts: too many arguments; expected: portolan {} {}": "the usage of a command; its step is the help",
  "cli.ts: missing <{}>; expected: portolan {} {}": "the usage of a command; its step is the help",
  "doctor/examine.ts: it supports no revision that portolan supports": "a sentence",
  "console/examination.ts: portolan check --only {} --revision {} {}": "console-tools.test.ts",
  "console/examination.ts: portolan trust {}": "typed above",
  "console/sign-in.ts: portolan trust {}": "typed above",
  "console/sign-in.ts: register a client there, then run in a terminal, which asks for its id: portolan login {}":
    "login.test.ts: asks for the client on a terminal",
  "sources/find-source.ts: portolan add {}": "sources.test.ts",
  "portolan console": "console.test.ts",
  "commands/console.ts: && portolan console": "console.test.ts: the end of a step for another folder",
  "servers/saved-target.ts: configure the server with a variable: portolan add --help": "typed above",
  "portolan test": "saved-calls.test.ts",
};

describe("a next step that a message shows works when it is typed", () => {
  test.each(Object.keys(scenarios))("%s", async (message) => scenarios[message]?.());
});

interface SyntaxNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Yields every text in a syntax tree, with {} for values. */
function* textsIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  if (typeof value !== "object" || value === null || !("type" in value)) return;
  const node = value as SyntaxNode;
  if (node.type === "Literal" && typeof node["value"] === "string") yield node["value"];
  if (node.type === "TemplateLiteral") {
    yield (node["quasis"] as { value: { cooked: string } }[]).map((quasi) => quasi.value.cooked).join("{}");
  }
  for (const member of Object.values(node)) yield* textsIn(member);
}

/** Returns the texts of the command that contain a command line: `file: text`, or the text alone if it has no values. */
function messagesWithCommands(): string[] {
  const sources = join(root, "packages/cli/src");
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !/scaffold|command-table|completion\.ts/.test(name),
  );
  const found = files.flatMap((name) => {
    const program = parseAst(readFileSync(join(sources, name), "utf8"), { lang: "ts" });
    return [...textsIn(program)].flatMap((text) => {
      const line = text.split("\n").find((each) => /\bportolan [a-z{]/.test(each));
      if (line === undefined || (name === "cli.ts" && line.startsWith("Use Model"))) return [];
      const plain = line.replace(/^(?:\s*\{\})?\s+/, "");
      return [/^portolan [^{}]*$/.test(plain) ? plain : `${name.replaceAll("\\", "/")}: ${plain}`];
    });
  });
  return [...new Set(found)].toSorted();
}

test("every message with a command is in the table above", () => {
  const known = Object.keys({ ...scenarios, ...elsewhere });
  expect(messagesWithCommands()).toEqual(known.toSorted());
});

test("no step has a gap for the person to fill", () => {
  for (const message of messagesWithCommands()) expect(message.slice(message.indexOf("portolan "))).not.toMatch(/<|…/);
});
