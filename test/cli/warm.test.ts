// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { EventEmitter, once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { holdFileLock } from "portolan/storage/node";
import { expect, onTestFinished, test } from "vitest";
import { startWorld, type Way } from "../auth/client/kit/world.ts";
import { makeHome, root, runPortolan } from "./kit.ts";
import { until } from "./make-kit.ts";
import { startPortolan, stateOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const counter = join(root, "test/cli/fixtures/counter.mjs");

interface Counted {
  readonly count: number;
  readonly pid: number;
  readonly colour: string;
  readonly folder: string;
}

/** Creates a home with the trusted servers `a` and `b`. Every server that is kept running is stopped after the test. */
async function makeCounters(more: object = {}): Promise<string> {
  const cwd = makeHome();
  const server = { command: "node", args: [counter], ...more };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { a: server, b: server } }));
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  for (const name of ["a", "b"]) await succeed(["trust", name, "--yes"], cwd, { COLOUR: "red" });
  return cwd;
}

async function succeed(args: readonly string[], cwd: string, env: { [name: string]: string } = {}) {
  const { code, stdout, stderr } = await runPortolan(args, { cwd, env });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return JSON.parse(stdout);
}

async function count(cwd: string, env: { [name: string]: string } = {}, name = "a"): Promise<Counted> {
  return (await succeed(["call", `${name}.count`], cwd, env)).structuredContent;
}

async function failure(args: readonly string[], cwd: string) {
  const { code, stderr } = await runPortolan(args, { cwd });
  return { code, ...JSON.parse(stderr).error };
}

const warm = (cwd: string, file = "") => join(cwd, ".portolan/warm", file);

test("a server that is up keeps its state between commands until down", async () => {
  const cwd = await makeCounters();
  expect((await count(cwd)).count).toBe(1);
  expect((await count(cwd)).count).toBe(1);
  expect(await succeed(["up", "a"], cwd)).toMatchObject({ servers: [{ name: "a", idleMs: 1_800_000, uses: 0 }] });
  const first = await count(cwd);
  const second = await count(cwd);
  expect([first.count, second.count, second.pid, second.folder]).toEqual([1, 2, first.pid, cwd]);
  expect((await succeed(["read", "a", "counter://now"], cwd)).contents[0].text).toBe("2");
  expect((await succeed(["ls", "a"], cwd)).server.info.name).toBe("counter");
  expect((await count(cwd, {}, "b")).count).toBe(1);
  expect(await succeed(["down"], cwd)).toEqual({ stopped: ["a"] });
  expect((await count(cwd)).count).toBe(1);
  expect(await succeed(["down"], cwd)).toEqual({ stopped: [] });
});

test("up and servers tell servers that were named from others", async () => {
  const cwd = await makeCounters();
  const show = async (...args: string[]) => {
    const terminal = openTerminal(args, { cwd, env: { COLOUR: "red" }, columns: 100 });
    expect(await terminal.exited).toBe(0);
    return terminal.screen();
  };
  await succeed(["up", "--", "node", counter], cwd);
  const shown = await show("up", "a");
  expect(shown).toMatch(/^· counter was kept running before; it stops after 30 minutes without use$/m);
  expect(shown).toMatch(/^✓ a is kept running; it stops after 30 minutes without use$/m);
  expect(await show("servers", "--offline")).toMatch(/^ {2}· kept running besides: counter\n {2}→ portolan up$/m);
  const { next } = await failure(["call", "nothing", "--", "node", counter], cwd);
  expect(next).toBe(`portolan ls -- node ${counter}`);
});

test("a command says that a server which is up had ended, and was started again", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  const { pid } = await count(cwd);
  process.kill(pid, "SIGKILL");
  await until(() => !isRunning(pid));
  const said = "! a had ended, and is started again; what it kept in memory is lost\n";
  const called = await until(async () => {
    const ran = await runPortolan(["call", "a.count"], { cwd });
    return ran.stderr === said && ran;
  });
  expect(JSON.parse(called.stdout).structuredContent).toMatchObject({ count: 1 });
  expect((await count(cwd)).count).toBe(2);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("only the user can open the socket and its folder", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  expect(lstatSync(warm(cwd)).mode & 0o777).toBe(0o700);
  expect(lstatSync(warm(cwd, "socket")).mode & 0o777).toBe(0o600);
  await succeed(["down"], cwd);
  expect(existsSync(warm(cwd, "socket"))).toBe(false);
  expect(existsSync(warm(cwd, "pid"))).toBe(false);
});

test("a folder that others can open, or a link, is refused by up and not used by call", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  await count(cwd);
  chmodSync(warm(cwd), 0o755);
  expect((await count(cwd)).count).toBe(1);
  expect(await failure(["up", "a"], cwd)).toMatchObject({
    code: 1,
    message: `${warm(cwd)} can be opened by other users`,
    next: `remove it, then try again: rm -r ${warm(cwd)}`,
  });
  chmodSync(warm(cwd), 0o700);
  expect((await count(cwd)).count).toBe(2);
  renameSync(warm(cwd), join(cwd, "elsewhere"));
  symlinkSync(join(cwd, "elsewhere"), warm(cwd));
  expect((await count(cwd)).count).toBe(1);
  expect((await failure(["up", "a"], cwd)).message).toContain("is not a folder");
  // `down` must find it again.
  renameSync(join(cwd, ".portolan/warm"), join(cwd, "link"));
  renameSync(join(cwd, "elsewhere"), join(cwd, ".portolan/warm"));
});

test("the list of servers shows which are up, and uses them", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd, { COLOUR: "red" });
  const { count: before, pid } = await count(cwd, { COLOUR: "red" });
  const { servers } = await succeed(["servers"], cwd, { COLOUR: "red" });
  expect(servers).toMatchObject([
    { name: "a", state: "ready", isUp: true },
    { name: "b", state: "ready" },
  ]);
  expect(servers[1]).not.toHaveProperty("isUp");
  expect(await count(cwd, { COLOUR: "red" })).toMatchObject({ count: before + 1, pid });
  const terminal = openTerminal(["servers", "--offline"], { cwd, env: { COLOUR: "red" } });
  await terminal.exited;
  expect(terminal.screen()).toMatch(/ a .* ready \(up\)\n +b .* idle/);
});

test("a server with another configuration is not used, and nothing is said", async () => {
  const cwd = await makeCounters({ env: { COLOUR: "${COLOUR}" } });
  await succeed(["up", "a"], cwd, { COLOUR: "red" });
  expect(await count(cwd, { COLOUR: "red" })).toMatchObject({ count: 1, colour: "red" });
  expect(await count(cwd, { COLOUR: "blue" })).toMatchObject({ count: 1, colour: "blue" });
  expect(await count(cwd, { COLOUR: "red" })).toMatchObject({ count: 2, colour: "red" });
});

test("a background process of another version is not used, and up replaces it", async () => {
  const cwd = await makeCounters();
  mkdirSync(warm(cwd), { mode: 0o700 });
  writeFileSync(warm(cwd, "pid"), "1\n");
  const asked: string[] = [];
  const old = createServer((socket) => {
    socket.once("data", (chunk) => {
      const { do: what } = JSON.parse(String(chunk));
      asked.push(what);
      if (what === "stop") old.close();
      socket.end(`${JSON.stringify({ version: "0.0.1", pid: 1, isOk: what === "stop", servers: [] })}\n`);
    });
  });
  onTestFinished(() => void old.close());
  await new Promise<void>((resolve) => old.listen(warm(cwd, "socket"), resolve));
  expect((await count(cwd)).count).toBe(1);
  expect(asked).toEqual(["list"]);
  await succeed(["up", "a"], cwd);
  expect(asked).toEqual(["list", "list", "stop"]);
  await count(cwd);
  expect((await count(cwd)).count).toBe(2);
});

test("a server of an older revision looks the same when it is up", async () => {
  const cwd = await makeCounters();
  const odd = ["--", "node", join(root, "test/cli/fixtures/odd-names.mjs")];
  const { server, tools } = await succeed(["ls", ...odd], cwd);
  await succeed(["up", ...odd], cwd);
  const warmed = await succeed(["ls", ...odd], cwd);
  expect(warmed.server).toMatchObject({ version: "2025-06-18", era: "stateful", info: server.info });
  expect(warmed.tools).toEqual(tools);
  const { content } = await succeed(["call", "plain", "a b=x", ...odd], cwd);
  expect(content).toEqual([{ type: "text", text: "plain" }]);
});

test("several ups at once start one background process", async () => {
  const cwd = await makeCounters();
  await Promise.all([succeed(["up", "a"], cwd), succeed(["up", "b"], cwd), succeed(["up", "a"], cwd)]);
  const { servers } = await succeed(["up", "a"], cwd);
  expect(servers.map(({ name }: { name: string }) => name).sort()).toEqual(["a", "b"]);
  expect(await succeed(["down", "a"], cwd)).toEqual({ stopped: ["a"] });
  expect(await failure(["down", "a"], cwd)).toEqual({
    code: 2,
    kind: "usage",
    message: '"a" is not kept running; available: b',
    next: "portolan down",
  });
  expect((await count(cwd, {}, "b")).count).toBe(1);
  expect((await count(cwd, {}, "b")).count).toBe(2);
});

test("an unused server is stopped, and the background process ends with the last one", async () => {
  const cwd = await makeCounters();
  await runPortolan(["up", "a", "--idle", "0.001"], { cwd });
  await expect.poll(() => existsSync(warm(cwd, "pid")), { timeout: 20_000 }).toBe(false);
  expect(await failure(["up", "a", "--idle", "soon"], cwd)).toMatchObject({
    code: 2,
    message: '--idle: expected a number of minutes up to 20160, got "soon"',
  });
});

test("a server that dies is started again for the next call", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  await count(cwd);
  const { code } = await runPortolan(["call", "a.die"], { cwd });
  expect(code).not.toBe(0);
  const again = await runPortolan(["call", "a.count"], { cwd });
  expect(again.stderr).toBe("! a had ended, and is started again; what it kept in memory is lost\n");
  expect(JSON.parse(again.stdout).structuredContent).toMatchObject({ count: 1 });
  expect((await count(cwd)).count).toBe(2);
});

test("a background process that was killed is replaced, and until then nothing is said", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  const pid = Number(readFileSync(warm(cwd, "pid"), "utf8"));
  process.kill(pid, "SIGKILL");
  expect((await count(cwd)).count).toBe(1);
  await succeed(["up", "a"], cwd);
  await count(cwd);
  expect((await count(cwd)).count).toBe(2);
});

test("a server with keepAlive is kept running from its first use, and by up without a name", async () => {
  const cwd = await makeCounters({ keepAlive: true });
  expect((await count(cwd)).count).toBe(1);
  expect((await count(cwd)).count).toBe(2);
  const { servers } = await succeed(["up"], cwd);
  expect(servers.map(({ name }: { name: string }) => name)).toEqual(["a", "b"]);
  await succeed(["down"], cwd);
  expect((await count(cwd, { CI: "true" })).count).toBe(1);
  expect(existsSync(warm(cwd, "pid"))).toBe(false);
});

test("up names the server that failed, with the reason and the next step of the other commands", async () => {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  const node = process.execPath;
  const needs = 'console.error("MY_SECRET_KEY is missing"); process.exit(1)';
  const silent = [join(root, "test/cli/fixtures/broken.mjs"), "silent"];
  const servers = {
    dead: { command: node, args: ["-e", 'console.error("no disk"); process.exit(7)'] },
    hangs: { command: node, args: silent },
    needs: { command: node, args: ["-e", needs] },
  };
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  for (const name of Object.keys(servers)) await succeed(["trust", name, "--yes"], cwd);
  expect(await failure(["up", "dead"], cwd)).toMatchObject({
    code: 4,
    message: expect.stringMatching(/^dead: .*code 7[\s\S]*no disk/),
    next: "portolan doctor dead",
  });
  expect(await failure(["up", "hangs", "--timeout", "0.5"], cwd)).toMatchObject({
    code: 7,
    message: expect.stringMatching(/^hangs .*0\.5 s/),
    next: "portolan doctor hangs",
  });
  const typed = ["--", node, ...silent];
  expect(await failure(["up", "--timeout", "0.5", ...typed], cwd)).toMatchObject({
    code: 7,
    next: `portolan doctor ${typed.join(" ")}`,
  });
  const env = { MY_SECRET_KEY: "x" };
  const withheld = JSON.parse((await runPortolan(["up", "needs"], { cwd, env })).stderr).error;
  expect(withheld.message).toContain("MY_SECRET_KEY is set in your shell, but was not passed to the server");
  const called = JSON.parse((await runPortolan(["trust", "needs", "--changes"], { cwd, env })).stderr).error;
  expect(withheld.next).toBe(called.next);
});

test("up fails with the reason of a server that is not trusted, does not start or does not exist", async () => {
  const cwd = await makeCounters();
  expect(await failure(["up"], cwd)).toEqual({
    code: 2,
    kind: "usage",
    message: 'no server is named, and no configured server has "keepAlive": true',
    next: "portolan servers",
  });
  expect(await failure(["up", "c"], cwd)).toMatchObject({ code: 2, kind: "usage" });
  await succeed(["trust", "a", "--revoke"], cwd);
  expect(await failure(["up", "a"], cwd)).toMatchObject({ code: 6, next: "portolan trust a" });
  expect(await failure(["up", "--", "node", "missing.mjs"], cwd)).toMatchObject({
    code: 4,
    kind: "unreachable",
    message: expect.stringContaining("Cannot find module"),
  });
  expect(existsSync(warm(cwd, "pid"))).toBe(false);
});

/** Signs in at the server `far` without a browser. */
async function signIn(cwd: string): Promise<void> {
  const env = { PORTOLAN_HOME: join(cwd, ".portolan") };
  const running = startPortolan(["login", "far", "--no-browser"], { cwd, env });
  const { headers } = await fetch(await running.until(/^https?:\/\//), { redirect: "manual" });
  running.child.stdin.end(`${headers.get("location")}\n`);
  expect(await running.ended).toBe(0);
}

/** Creates a home where `far` requires sign-in, and is up as `ada`. */
async function makeSignedIn(way: Way = "stateless") {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  const { server, authority, clock } = await startWorld({ way });
  await succeed(["add", "far", server.url], cwd);
  const signedOut = await failure(["call", "far.whoami"], cwd);
  expect(signedOut).toMatchObject({ code: 3, kind: "auth", next: "portolan login far" });
  await signIn(cwd);
  await succeed(["up", "far"], cwd);
  const whoami = async () => (await succeed(["call", "far.whoami"], cwd)).content[0].text;
  expect(await whoami()).toMatch(/^ada by /);
  return { cwd, server, authority, clock, whoami, signedOut };
}

const isUp = async (cwd: string) => existsSync(warm(cwd, "pid"));

test.each<Way>(["stateless", "HTTP+SSE"])(
  "no call acts as the person who signed out, or as the one of before (%s)",
  async (way) => {
    const { cwd, authority, whoami, signedOut } = await makeSignedIn(way);
    await succeed(["logout", "far"], cwd);
    await expect.poll(() => isUp(cwd), { timeout: 20_000 }).toBe(false);
    expect(await failure(["call", "far.whoami"], cwd)).toEqual(signedOut);
    authority.subject = "bob";
    await signIn(cwd);
    expect(await whoami()).toMatch(/^bob by /);
    await succeed(["up", "far"], cwd);
    authority.subject = "eve";
    await signIn(cwd);
    expect(await whoami()).toMatch(/^eve by /);
    // It is still kept running, for the next person.
    expect((await succeed(["down"], cwd)).stopped).toEqual(["far"]);
  },
);

/** Sends a request to the background process. Returns its answer. */
async function askKeeper(cwd: string, request: object): Promise<{ isOk: boolean; servers?: { digest: string }[] }> {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  const socket = createConnection(warm(cwd, "socket"));
  onTestFinished(() => void socket.destroy());
  socket.write(`${JSON.stringify({ version, ...request })}\n`);
  for await (const line of createInterface({ input: socket })) return JSON.parse(line);
  throw new Error("no answer");
}

test("no call acts as the person who signed out while the server was being started", async () => {
  const { cwd, server, signedOut } = await makeSignedIn();
  await succeed(["down"], cwd);
  const { serve } = server.site;
  const gate = new EventEmitter();
  const [arrived, released] = [once(gate, "arrived"), once(gate, "released")];
  server.site.serve = async (...args) => {
    if (args[1].headers.authorization !== undefined) {
      gate.emit("arrived");
      await released;
    }
    return serve(...args);
  };
  const up = failure(["up", "far"], cwd);
  await arrived;
  await succeed(["logout", "far"], cwd);
  const [starting] = (await askKeeper(cwd, { do: "list" })).servers ?? [];
  const used = askKeeper(cwd, { do: "use", digests: [starting?.digest] });
  // Requests are read in their order.
  await askKeeper(cwd, { do: "list" });
  gate.emit("released");
  expect(await used).toMatchObject({ isOk: false });
  expect(await up).toMatchObject({
    kind: "failed",
    message: "far was stopped, or signed out, while it was being started",
  });
  expect(await failure(["call", "far.whoami"], cwd)).toEqual(signedOut);
});

test("up tells that the server it started does not run any more", async () => {
  const cwd = await makeCounters();
  expect(await failure(["up", "a", "--idle", "0.000001"], cwd)).toMatchObject({
    kind: "failed",
    message: expect.stringContaining("a was started, but does not run any more"),
    next: "portolan up a",
  });
});

test("tokens that another program deletes or replaces count too", async () => {
  const { cwd, authority, whoami, signedOut } = await makeSignedIn();
  const file = join(cwd, ".portolan/credentials.json");
  const ofAda = readFileSync(file, "utf8");
  rmSync(file);
  expect(await failure(["call", "far.whoami"], cwd)).toEqual(signedOut);
  authority.subject = "bob";
  await signIn(cwd);
  await succeed(["up", "far"], cwd);
  expect(await whoami()).toMatch(/^bob by /);
  writeFileSync(file, ofAda, { mode: 0o600 });
  expect(await whoami()).toMatch(/^ada by /);
});

test("a token that the server in the background renews itself does not end its connection", async () => {
  const { cwd, authority, clock, whoami } = await makeSignedIn();
  const [before] = (await succeed(["up", "far"], cwd)).servers;
  clock.pass(2 * 3_600_000);
  expect(await whoami()).toMatch(/^ada by /);
  expect(authority.accessTokens.length).toBe(2);
  expect((await succeed(["up", "far"], cwd)).servers).toEqual([before]);
});

test.each([
  ["trust", "a", "--revoke"],
  ["remove", "a"],
])("portolan %s stops the server, wherever it was started", async (...args) => {
  const cwd = makeHome();
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  const server = ["--", "node", counter];
  for (const name of ["a", "b"]) await succeed(["add", name, "--user", ...server], cwd);
  const folder = join(cwd, "below");
  mkdirSync(folder);
  const env = { PORTOLAN_HOME: join(cwd, ".portolan"), HOME: cwd };
  await succeed(["up", "a", "b"], folder, env);
  const { pid } = await count(folder, env);
  await succeed(args, cwd);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect((await succeed(["down"], cwd)).stopped).toEqual(["b"]);
});

test.each([
  ["trust", "a", "--revoke"],
  ["remove", "a"],
])("portolan %s stops the server and revokes its trust, also after its entry was edited", async (...args) => {
  const cwd = await makeCounters();
  const file = join(cwd, ".mcp.json");
  const first = readFileSync(file, "utf8");
  await succeed(["up", "a", "b"], cwd, { COLOUR: "red" });
  const { pid } = await count(cwd, { COLOUR: "red" });
  const edit = (word: string) =>
    writeFileSync(file, first.replace(JSON.stringify(counter), `${JSON.stringify(counter)},"${word}"`));
  edit("second");
  await succeed(["trust", "a", "--yes"], cwd);
  edit("third");
  const { revoked } = await succeed(args, cwd);
  expect(revoked).toBe(4);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  writeFileSync(file, first);
  expect(await failure(["call", "a.count"], cwd)).toMatchObject({ code: 6, next: "portolan trust a" });
  expect((await succeed(["down"], cwd)).stopped).toEqual(["b"]);
  const { screen, exited } = openTerminal(["trust", "a", "--revoke"], { cwd });
  await exited;
  expect(screen()).toContain("a was not trusted: nothing was revoked");
});

test("a command after -- and a server file can be kept running too", async () => {
  const cwd = await makeCounters();
  const server = ["--", "node", counter];
  await succeed(["up", ...server], cwd);
  await succeed(["call", "count", ...server], cwd);
  expect((await succeed(["call", "count", ...server], cwd)).structuredContent.count).toBe(2);
  writeFileSync(join(cwd, "own.mjs"), `await import(${JSON.stringify(counter)}); // serveStdio(\n`);
  await succeed(["up", "./own.mjs"], cwd);
  await succeed(["call", "./own.mjs", "count"], cwd);
  expect((await succeed(["call", "./own.mjs", "count"], cwd)).structuredContent.count).toBe(2);
});

test("questions of a server that is up reach the person who calls it", async () => {
  const cwd = await makeCounters();
  await succeed(["up", "a"], cwd);
  await count(cwd);
  const terminal = openTerminal(["call", "a.reset"], { cwd });
  await terminal.answer(/Forget 1 calls\?[\s\S]*c cancel/, "y\r");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).toContain("forgotten");
  expect((await count(cwd)).count).toBe(1);
});

test("works where the path of the state folder is too long for a socket", async () => {
  const cwd = await makeCounters();
  const env = { PORTOLAN_HOME: join(cwd, "long".repeat(30)), XDG_RUNTIME_DIR: cwd };
  onTestFinished(async () => void (await runPortolan(["down"], { cwd, env })));
  await succeed(["trust", "a", "--yes"], cwd, env);
  await succeed(["up", "a"], cwd, env);
  await count(cwd, env);
  expect((await count(cwd, env)).count).toBe(2);
});

test("up and down say on a terminal what they did and what comes next", async () => {
  const cwd = await makeCounters();
  const up = openTerminal(["up", "a", "b", "--idle", "5"], { cwd, columns: 80 });
  expect(await up.exited).toBe(0);
  expect(up.screen()).toBe(
    "✓ a is kept running; it stops after 5 minutes without use\n✓ b is kept running; it stops after 5 minutes without use\n  → portolan ls a",
  );
  const narrow = openTerminal(["up"], { cwd, columns: 40 });
  expect(await narrow.exited).toBe(0);
  expect(narrow.broken()).toEqual([]);
  expect(narrow.screen()).toContain("✓ a is kept running; it stops after 5\n  minutes without use\n");
  expect(narrow.screen()).toMatch(/→ portolan down$/);
  const down = openTerminal(["down"], { cwd, columns: 80 });
  expect(await down.exited).toBe(0);
  expect(down.screen()).toBe("✓ a is stopped\n✓ b is stopped");
  const again = openTerminal(["down"], { cwd, columns: 80 });
  expect(await again.exited).toBe(0);
  expect(again.screen()).toBe("no server is kept running");
});

test("SIGTERM ends the background process with its servers, and removes its files", async () => {
  const cwd = await makeCounters();
  const env = { PORTOLAN_HOME: stateOf(cwd) };
  await succeed(["trust", "a", "--yes"], cwd, env);
  const keeper = startPortolan(["keep-warm"], { cwd });
  await keeper.until(/ready/);
  await succeed(["up", "a"], cwd, env);
  const { pid } = await count(cwd, env);
  keeper.child.kill("SIGTERM");
  expect(await keeper.ended).toBe(0);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(existsSync(join(stateOf(cwd), "warm/socket"))).toBe(false);
});

test("Ctrl-C during up ends the start, and nothing is kept", async () => {
  const cwd = await makeCounters();
  const terminal = openTerminal(["up", "--", "node", "-e", "setInterval(() => {}, 1000)"], { cwd, columns: 80 });
  await terminal.see("waiting for");
  terminal.type("\u0003");
  expect(await terminal.exited).toBe(130);
  await expect.poll(() => existsSync(warm(cwd, "pid")), { timeout: 20_000 }).toBe(false);
});

test("Ctrl-C while the background process is being started ends up, and nothing is kept", async () => {
  const cwd = await makeCounters();
  mkdirSync(warm(cwd), { mode: 0o700 });
  const release = await holdFileLock(warm(cwd, "start.lock"));
  const terminal = openTerminal(["up", "--", "node", "-e", "setInterval(() => {}, 1000)"], { cwd, columns: 80 });
  await terminal.see("waiting for");
  terminal.type("\u0003");
  await terminal.see("^C");
  release();
  expect(await terminal.exited).toBe(130);
  await expect.poll(() => existsSync(warm(cwd, "pid")), { timeout: 20_000 }).toBe(false);
});

test("down ends a server that is still being started", async () => {
  const cwd = await makeCounters();
  const waiting = runPortolan(["up", "--", "node", "-e", "setInterval(() => {}, 1000)"], { cwd });
  await expect.poll(() => existsSync(warm(cwd, "pid")), { timeout: 20_000 }).toBe(true);
  await expect.poll(async () => (await succeed(["down"], cwd)).stopped, { timeout: 20_000 }).toEqual(["node"]);
  expect((await waiting).code).not.toBe(0);
});

test("a server that dies in a call is unreachable, as without up", async () => {
  const cwd = makeHome();
  const file = join(root, "test/cli/fixtures/dying.mjs");
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { dying: { command: "node", args: [file] } } }));
  onTestFinished(async () => void (await runPortolan(["down"], { cwd })));
  await succeed(["trust", "dying", "--yes"], cwd);
  const cold = await runPortolan(["call", "dying.die"], { cwd });
  await succeed(["up", "dying"], cwd);
  const warm = await runPortolan(["call", "dying.die"], { cwd });
  const seen = [cold, warm].map(({ code, stdout, stderr }) => ({ code, stdout, ...JSON.parse(stderr).error }));
  for (const one of seen) {
    expect(one).toMatchObject({ code: 4, stdout: "", kind: "unreachable", next: "portolan doctor dying" });
    expect(one.message).toContain("exited with code 9");
  }
});
