import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHost, type Host, type ServerEntry } from "portolan-host";
import { expect, onTestFinished, test } from "vitest";
import type { CommandContext } from "../../packages/cli/src/command.ts";
import { createConsoleTools } from "../../packages/cli/src/console/tools.ts";
import { readConfiguration, userFile } from "../../packages/cli/src/servers/find-server.ts";
import { authFor } from "../../packages/cli/src/servers/sign-in.ts";
import { openState } from "../../packages/cli/src/state.ts";
import { createSystem } from "../../packages/cli/src/system.ts";
import { Screen } from "../../packages/cli/src/terminal/screen.ts";
import { Secrets } from "../../packages/cli/src/terminal/secrets.ts";
import { Terminal } from "../../packages/cli/src/terminal/terminal.ts";
import type { LoginStep } from "../../packages/console/src/api.ts";
import type { ConsoleTools } from "../../packages/console/src/server/options.ts";
import { startWorld } from "../auth/client/kit/world.ts";
import { environment, makeHome, portolan } from "./kit.ts";
import { broken, notes, put } from "./manage-kit.ts";

/** Returns the context of a command that runs in a folder, without a terminal. */
function contextIn(home: string, env: { [name: string]: string } = {}): CommandContext {
  const own = { cwd: home, home, argv: ["console"], env: environment(home, env) };
  const system = { ...createSystem(portolan), ...own };
  const screen = new Screen(system);
  const rest = { isJson: true, command: [], signal: new AbortController().signal } as const;
  const silent = () => {};
  return {
    ...rest,
    ...{ system, screen, secrets: new Secrets(), terminal: new Terminal(system, screen) },
    ...{ print: silent, note: silent, warn: silent, forwardStderr: silent, onInterrupt: () => silent },
    state: openState(system, silent),
    untilStopped: async () => {},
  };
}

interface Opened {
  readonly context: CommandContext;
  readonly host: Host;
  readonly tools: ConsoleTools;
}

/** Opens a host over the servers that are configured in a folder, and the tools of its console. */
async function open(home: string, env?: { [name: string]: string }): Promise<Opened> {
  const context = contextIn(home, env);
  const { entries } = await readConfiguration(context);
  return openWith(context, entries);
}

async function openWith(context: CommandContext, servers: readonly ServerEntry[]): Promise<Opened> {
  const auth = (entry: ServerEntry) => authFor(context, entry);
  const host = await createHost({ servers, auth, answers: { trust: "later" } });
  onTestFinished(() => host.close());
  return { context, host, tools: createConsoleTools(context, servers, () => host) };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const options = { signal: new AbortController().signal };
const node = process.execPath;

test("lists the servers of other products, and adds one that then waits for trust", async () => {
  const home = makeHome();
  put(home, ".mcp.json", { mcpServers: { notes: { command: node, args: [notes] } } });
  const { context, host, tools } = await open(home);
  const file = put(home, ".cursor/mcp.json", {
    mcpServers: {
      far: { url: "https://far.example/mcp?api_key=hunter2secret" },
      bad: { command: "x", args: ["${env:NOWHERE}"] },
    },
  });
  put(home, ".vscode/mcp.json", "{ broken");
  const { servers, problems } = await tools.findServers();
  expect(servers.map(({ name, product, isKnown }) => [name, product, isKnown])).toEqual([
    ["notes", "claude-code", true],
    ["far", "cursor", false],
    ["bad", "cursor", false],
  ]);
  expect(servers.find(({ name }) => name === "bad")?.problem).toContain("missing ${env:NOWHERE}");
  expect(JSON.stringify(servers)).not.toContain("hunter2secret");
  expect(problems).toEqual([expect.stringContaining(".vscode/mcp.json")]);

  await tools.adopt(host, "far", file);
  expect(host.servers.map(({ name, state }) => [name, state])).toContainEqual(["far", "untrusted"]);
  expect((await tools.findServers()).servers.find(({ name }) => name === "far")?.isKnown).toBe(true);
  await host.remove("far");
  expect((await tools.findServers()).servers.find(({ name }) => name === "far")?.isKnown).toBe(false);
  await expect(tools.adopt(host, "nobody", file)).rejects.toThrow('has no server "nobody"');
  expect((await readConfiguration(context)).entries).toHaveLength(3);
});

test("adds a typed command, file or address, which needs no trust", async () => {
  const home = makeHome();
  const { host, tools } = await open(home);
  await tools.add(host, { name: "typed", target: `${node} '${notes}'` });
  await tools.add(host, { name: "file", target: notes });
  await tools.add(host, { name: "far", target: " http://127.0.0.1:1/mcp", headers: { "x-key": "1" } });
  expect(host.servers.map(({ name, state }) => [name, state])).toEqual([
    ["typed", "idle"],
    ["file", "idle"],
    ["far", "idle"],
  ]);
  expect([(await host.start("typed")).state, (await host.start("file")).state]).toEqual(["ready", "ready"]);

  const refused = [
    [{ name: "typed", target: "node" }, "exists already"],
    [{ name: " ", target: "node" }, "expected a name"],
    [{ name: "a", target: "node 'x" }, "no closing"],
    [{ name: "a", target: "" }, "expected a command or an address"],
    [{ name: "a", target: "node", headers: { a: "b" } }, "a command has no headers"],
    [{ name: "a", target: "http://127.0.0.1/", env: { A: "b" } }, "an address has no variables"],
    [{ name: "a", target: "node", env: { "A B": "b" } }, "no name of a variable"],
  ] as const;
  for (const [server, why] of refused) await expect(tools.add(host, server)).rejects.toThrow(why);
  expect(host.servers).toHaveLength(3);
});

test("writes a typed server to the file of the user if it is kept, and trusts it", async () => {
  const home = makeHome();
  const { context, host, tools } = await open(home);
  await tools.add(host, { name: "kept", target: `${node} ${notes}`, env: { COLOUR: "red" }, keep: true });
  expect((await host.start("kept")).state).toBe("ready");
  const { entries } = await readConfiguration(context);
  expect(entries).toMatchObject([
    { name: "kept", target: { command: node, args: [notes], env: { COLOUR: "red" } }, source: { scope: "user" } },
  ]);
  await expect(tools.add(host, { name: "kept", target: "node", keep: true })).rejects.toThrow("exists already");
});

/** Writes a server that starts only if the variable COLOUR is its argument. */
function putPicky(home: string): string {
  const file = join(home, "picky.mjs");
  const check = 'if ((process.env.COLOUR ?? "") !== (process.argv[2] ?? "")) process.exit(1);';
  writeFileSync(file, `${check}\nprocess.argv.splice(2);\nawait import(${JSON.stringify(broken)});\n`);
  return file;
}

test("changes the command, variables and headers of a typed server, without telling its secrets", async () => {
  const home = makeHome();
  const picky = putPicky(home);
  const { host, tools } = await open(home);
  const state = () => host.servers[0]?.state;
  await tools.add(host, {
    name: "it",
    target: `${node} ${picky} red`,
    env: { COLOUR: "red", API_KEY: "hunter2secret" },
  });
  const shown = { isAddress: false, file: expect.stringContaining("mcp.json") };
  const names = ["COLOUR", "API_KEY"];
  expect(tools.entry(host, "it")).toEqual({ ...shown, target: `${node} ${picky} red`, names });
  await tools.replace(host, "it", { target: `${node} ${picky} blue`, env: { COLOUR: "blue", API_KEY: null } });
  await expect.poll(state).toBe("ready");
  expect(tools.entry(host, "it")).toEqual({ ...shown, target: `${node} ${picky} blue`, names });
  await tools.replace(host, "it", { target: `${node} ${picky}`, env: {} });
  await expect.poll(state).toBe("ready");
  expect(tools.entry(host, "it").names).toEqual([]);

  await tools.replace(host, "it", { target: `${node} ${picky} --api-key hunter2secret` });
  expect(tools.entry(host, "it").target).toBe("");
  const far = { target: "http://127.0.0.1:1/mcp", headers: { "x-key": "1" } };
  await tools.replace(host, "it", far);
  expect(tools.entry(host, "it")).toEqual({ ...shown, target: far.target, isAddress: true, names: ["x-key"] });
  for (const [change, why] of [
    [{ env: { A: "b" } }, "an address has no variables"],
    [{ headers: { B: null } }, "B has no value that could be kept"],
    // The key of one place must not go to another unseen.
    [{ target: "http://127.0.0.1:2/mcp", headers: { "x-key": null } }, "x-key has no value that could be kept"],
    [{ target: "node 'x" }, "no closing"],
    [{ target: "node", headers: { A: "b" } }, "a command has no headers"],
  ] as const) {
    await expect(tools.replace(host, "it", change)).rejects.toThrow(why);
  }
  expect(tools.entry(host, "it").target).toBe(far.target);
});

test("a server of a file stays the trusted one if only its variables change, and its file stays as it is", async () => {
  const home = makeHome();
  const picky = putPicky(home);
  const server = (colour: string) => ({ command: node, args: [picky, "red"], env: { COLOUR: colour } });
  const file = put(home, ".mcp.json", { mcpServers: { it: server("blue"), other: server("red") } });
  const before = readFileSync(file, "utf8");
  const { host, tools } = await open(home);
  const stateOf = (name: string) => host.servers.find((one) => one.name === name)?.state;
  await host.trust("it", true);
  const subject = host.trustSubject("it");
  await tools.replace(host, "it", { env: { COLOUR: "red" } });
  await expect.poll(() => stateOf("it")).toBe("ready");
  expect(host.trustSubject("it").lines).toEqual(subject.lines);
  // A repair keeps the change.
  await tools.setVariables(host, "it", { OTHER: "1" });
  await expect.poll(() => stateOf("it")).toBe("ready");
  expect(tools.entry(host, "it").names).toEqual(["COLOUR", "OTHER"]);
  // Nobody has agreed to the command of the other one.
  await tools.replace(host, "other", { env: { COLOUR: "red", MORE: "1" } });
  expect(stateOf("other")).toBe("untrusted");
  await tools.replace(host, "other", { target: `${node} ${picky} green`, env: { COLOUR: "green" } });
  await expect.poll(() => stateOf("other")).toBe("ready");

  expect(tools.entry(host, "it").file).toBeUndefined();
  const kept = tools.replace(host, "it", { env: {}, keep: true });
  await expect(kept).rejects.toThrow(`it is configured in ${file}, which the console does not change`);
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("a change is kept in the file of the user, with the placeholders that are there", async () => {
  const home = makeHome();
  const picky = putPicky(home);
  const context = contextIn(home, { SHADE: "red" });
  const file = userFile(context.system);
  const env = { COLOUR: "${SHADE}" };
  put("/", file, { mcpServers: { it: { command: node, args: [picky, "red"], env } } });
  const { host, tools } = await openWith(context, (await readConfiguration(context)).entries);
  await host.trust("it", true);
  const written = () => JSON.parse(readFileSync(file, "utf8")).mcpServers.it;
  await tools.replace(host, "it", { env: { COLOUR: null, MORE: "1" } });
  expect(written().env).toEqual(env);
  await tools.setVariables(host, "it", { TYPED_HERE: "hunter2secret" });
  await tools.replace(host, "it", { keep: true });
  expect(written()).toMatchObject({ command: node, args: [picky, "red"] });
  expect(written().env).toEqual({ ...env, MORE: "1" });
  expect(tools.entry(host, "it").names).toContain("TYPED_HERE");
  await expect.poll(() => host.servers[0]?.state).toBe("ready");
  await tools.replace(host, "it", { target: `${node} ${picky} blue`, env: { COLOUR: "blue" }, keep: true });
  expect(written()).toMatchObject({ args: [picky, "blue"], env: { COLOUR: "blue" } });
  await expect.poll(() => host.servers[0]?.state).toBe("ready");
});

test("an answer holds after a change of variables for this run, and ends with one that is kept in the file", async () => {
  const home = makeHome();
  const context = contextIn(home);
  put("/", userFile(context.system), { mcpServers: { it: { command: node, args: [notes] } } });
  const { host, tools } = await openWith(context, (await readConfiguration(context)).entries);
  await host.trust("it", true);
  let asked = 0;
  const approve = () => {
    asked += 1;
    return { allow: true, for: "always" } as const;
  };
  const timesAsked = async () => {
    await host.callTool("it", "add_note", { title: "a", text: "b" }, { by: "model", answers: { approve } });
    return asked;
  };
  expect(await timesAsked()).toBe(1);
  await tools.replace(host, "it", { env: { COLOUR: "red" } });
  expect(await timesAsked()).toBe(1);
  await tools.replace(host, "it", { env: { COLOUR: "red" }, keep: true });
  expect(await timesAsked()).toBe(2);
});

test("a missing variable is a finding with a repair, and the server works after it", async () => {
  const home = makeHome();
  put(home, ".mcp.json", { mcpServers: { db: { command: node, args: [broken], env: { DB_TOKEN: "${DB_TOKEN}" } } } });
  const { host, tools } = await open(home);
  const [finding] = await all(tools.examine(host, "db", options));
  expect(finding).toMatchObject({
    id: "missing-variable",
    step: "Configuration",
    level: "error",
    what: "the variable DB_TOKEN is not set",
    place: expect.stringContaining(".mcp.json"),
    fix: {
      verb: "server.set-variables",
      takes: { server: "db", env: {} },
      asks: { name: "DB_TOKEN", isSecret: true },
    },
  });
  await host.trust("db", true).catch(() => {});
  await tools.setVariables(host, "db", { DB_TOKEN: "hunter2secret" });
  await host.trust("db", true);
  const after = await all(tools.examine(host, "db", options));
  expect(after.map(({ step, level }) => [step, level])).toEqual(
    ["Configuration", "Trust", "Start", "Lists", "Tools", "Messages"].map((step) => [step, "ok"]),
  );
  await host.stop("db");
  await tools.setVariables(host, "db", { OTHER: "1" });
  expect((await host.start("db")).state).toBe("ready");
});

test("an input of another product is asked for, and never becomes a variable of the server", async () => {
  const home = makeHome();
  const env = { KEY: "${input:api-key}" };
  put(home, ".vscode/mcp.json", {
    inputs: [{ id: "api-key", type: "promptString", password: true }],
    servers: { db: { command: node, args: [broken], env } },
  });
  const { host, tools } = await open(home);
  const [finding] = await all(tools.examine(host, "db", options));
  expect(finding?.fix?.asks).toEqual({ name: "PORTOLAN_INPUT_API_KEY", isSecret: true });
  await tools.setVariables(host, "db", { PORTOLAN_INPUT_API_KEY: "hunter2secret" });
  await host.trust("db", true);
  expect((await host.start("db")).state).toBe("ready");
  const { lines } = host.trustSubject("db");
  expect(JSON.stringify(lines)).not.toContain("hunter2secret");
});

test("a repair that cannot be made leaves the server as it was", async () => {
  const home = makeHome();
  put(home, ".mcp.json", { mcpServers: { a: { command: node, args: [notes] }, far: { url: "http://127.0.0.1:1/" } } });
  const { host, tools } = await open(home);
  await host.trust("a", true);
  await expect(tools.setVariables(host, "a", { "NO NAME": "1" })).rejects.toThrow("no name of a variable");
  await expect(tools.setVariables(host, "nobody", { A: "1" })).rejects.toThrow("no server nobody");
  put(home, ".mcp.json", { mcpServers: {} });
  await expect(tools.setVariables(host, "a", { A: "1" })).rejects.toThrow("any more");
  expect((await host.start("a")).state).toBe("ready");
});

test("passes a variable of the shell that a server asks for, without telling its value", async () => {
  const home = makeHome();
  const server = join(home, "needy.mjs");
  const lines = [
    `if (!process.env.NEEDY_API_KEY) { console.error("NEEDY_API_KEY is not set"); process.exit(1); }`,
    `await import(${JSON.stringify(broken)});`,
  ];
  writeFileSync(server, lines.join("\n"));
  const { host, tools } = await openWith(contextIn(home, { NEEDY_API_KEY: "hunter2secret" }), []);
  await tools.add(host, { name: "needy", target: `${node} ${server}` });
  const findings = await all(tools.examine(host, "needy", options));
  const failed = findings.find(({ level }) => level === "error");
  expect(failed).toMatchObject({
    step: "Start",
    fix: {
      label: "Pass NEEDY_API_KEY of your shell",
      verb: "server.set-variables",
      takes: { server: "needy", env: { NEEDY_API_KEY: "${env:NEEDY_API_KEY}" } },
    },
  });
  expect(JSON.stringify(findings)).not.toContain("hunter2secret");
  await tools.setVariables(host, "needy", { NEEDY_API_KEY: "${env:NEEDY_API_KEY}" });
  expect((await host.start("needy")).state).toBe("ready");
  await expect(tools.setVariables(host, "needy", { A: "${env:NOWHERE}" })).rejects.toThrow("no variable NOWHERE");
});

test("an examination stops at a server that is not trusted, and ends with its signal", async () => {
  const home = makeHome();
  put(home, ".mcp.json", { mcpServers: { a: { command: node, args: [notes] } } });
  const { host, tools } = await open(home);
  expect((await all(tools.examine(host, "a", options))).map(({ id }) => id)).toEqual(["entry-ok", "untrusted"]);
  await expect(tools.grade(host, "a", () => {}, options)).rejects.toThrow("not trusted");
  await tools.add(host, { name: "silent", target: `${node} ${broken} silent` });
  const stop = new AbortController();
  const examined = all(tools.examine(host, "silent", { signal: stop.signal }));
  await expect.poll(() => host.servers.find(({ name }) => name === "silent")?.state).toBe("starting");
  stop.abort(new Error("enough"));
  await expect(examined).rejects.toThrow("enough");
});

test("grades a server, and tells each verdict", async () => {
  const home = makeHome();
  const { host, tools } = await open(home);
  await tools.add(host, { name: "notes", target: `${node} ${notes}` });
  const levels: string[] = [];
  const summary = await tools.grade(host, "notes", ({ level, step }) => levels.push(`${step}: ${level}`), options);
  expect(summary).toBe("passed");
  expect(levels).toContain("2025-11-25 over stdio: ok");
  expect(levels.filter((level) => level.endsWith("error"))).toEqual([]);
});

test("signs in at the address that the page opens, and signs out", async () => {
  const home = makeHome();
  const { server, authority } = await startWorld();
  const { host, tools } = await open(home);
  await tools.add(host, { name: "far", target: server.url });
  const steps: LoginStep[] = [];
  const watch = { visit: (address: string) => void fetch(address), step: (step: LoginStep) => steps.push(step) };
  await tools.signIn(host, "far", watch, options);
  expect(steps.filter(({ state }) => state === "done").map(({ standard }) => standard)).toContain("RFC 9728");
  expect(JSON.stringify(steps)).not.toContain(authority.accessTokens[0]);
  await expect.poll(() => host.servers[0]?.state).toBe("ready");
  const findings = await all(tools.examine(host, "far", options));
  expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
  await tools.signOut(host, "far");
  expect(authority.revoked.length).toBeGreaterThan(0);
  await tools.add(host, { name: "near", target: `${node} ${notes}` });
  await expect(tools.signIn(host, "near", watch, options)).rejects.toThrow("has no sign-in");
});
