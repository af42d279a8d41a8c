// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { createServer as createMcpServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { broken, errorOf, notes, put, type RunOptions, runPortolan, showOf, startPortolan } from "./care-kit.ts";
import { makeHome } from "./kit.ts";

const node = process.execPath;

interface Found {
  readonly id: string;
  readonly level: string;
  readonly server: string;
  readonly what: string;
  readonly why: string;
  readonly next: string;
}

/** What the doctor finds, and how it ends. */
async function findings(
  args: readonly string[],
  options: RunOptions,
): Promise<{ code: number | null; found: Found[] }> {
  const ran = await runPortolan(["doctor", ...args], options);
  const { findings: found } = JSON.parse(ran.stdout) as { findings: Found[] };
  if (ran.code !== 0) expect(errorOf(ran).message).toMatch(/errors? found/);
  return { code: ran.code, found };
}

/** The only finding about a server whose command is broken in some way. */
async function ofFault(fault: string, ...args: readonly string[]): Promise<Found & { code: number | null }> {
  const { code, found } = await findings(["--", node, broken, fault, ...args], { cwd: await makeHome() });
  expect(found).toHaveLength(1);
  return { ...found[0]!, code };
}

async function listen(server: Server, host = "127.0.0.1"): Promise<string> {
  server.listen(0, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Something on loopback that answers as a test says. */
async function site(answer: RequestListener): Promise<string> {
  return `http://${await listen(createServer(answer))}`;
}

/** A real server over HTTP, at /mcp. */
async function realServer(options: Parameters<typeof serveHttp>[1] = {}): Promise<string> {
  const serving = serveHttp(
    createMcpServer({ name: "real", version: "1.0.0" }).tool("hi", { run: () => "hi" }),
    options,
  );
  onTestFinished(() => serving.close(0));
  return site((request, response) => {
    if (request.url === "/mcp") serving.node(request, response);
    else response.writeHead(404).end();
  });
}

test("a server that works is found to be well", async () => {
  const cwd = await makeHome();
  await showOf(["add", "notes", "--", node, notes], { cwd });
  const ran = await runPortolan(["doctor"], { cwd });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toEqual({
    servers: [expect.objectContaining({ name: "notes", state: "ready", tools: 4 })],
    findings: [],
  });
});

describe("files and names", () => {
  test("a missing variable is named, with its place", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", { mcpServers: { db: { command: node, args: [broken], env: { PGURL: "${PGURL}" } } } });
    const { code, found } = await findings(["db"], { cwd });
    expect([code, found]).toEqual([
      1,
      [
        expect.objectContaining({
          id: "missing-variable",
          server: "db",
          next: expect.stringContaining("export PGURL="),
        }),
      ],
    ]);
    expect(found[0]?.why).toContain("mcpServers.db.env.PGURL");
  });

  test("a file that cannot be read is named, with the line", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", '{\n  "mcpServers": {,}\n}');
    const { code, found } = await findings([], { cwd });
    expect([code, found[0]?.id, found[0]?.why]).toEqual([
      1,
      "unreadable-file",
      expect.stringContaining(".mcp.json:2:"),
    ]);
  });

  test("an entry that makes no sense is named", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", { mcpServers: { a: { url: "gopher://x" } } });
    const { code, found } = await findings([], { cwd });
    expect([code, found[0]?.id]).toEqual([1, "unusable-entry"]);
  });

  test("names that collide, or look alike, are told", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", { mcpServers: { files: { command: "a" }, fi1es: { command: "b" } } });
    put(cwd, ".cursor/mcp.json", { mcpServers: { files: { command: "c" } } });
    const { code, found } = await findings([], { cwd });
    expect(code).toBe(0);
    expect(found.filter(({ id }) => id === "name-collision").map(({ server, what }) => `${server}: ${what}`)).toEqual([
      "files: several files name it",
      "fi1es: it looks like files",
    ]);
    expect(found.filter(({ id }) => id === "untrusted")).toHaveLength(2);
  });

  test("what nobody has agreed to is not started", async () => {
    const cwd = await makeHome();
    const mark = join(cwd, "started");
    put(cwd, ".mcp.json", {
      mcpServers: { a: { command: node, args: [broken, "marking", mark] }, b: { command: node, disabled: true } },
    });
    const { found } = await findings(["a"], { cwd });
    expect(found).toEqual([expect.objectContaining({ id: "untrusted", next: "portolan trust a" })]);
    expect(() => readFileSync(mark)).toThrow();
    await showOf(["trust", "a", "--yes"], { cwd });
    expect(await findings(["a"], { cwd })).toEqual({ code: 0, found: [] });
    expect(readFileSync(mark, "utf8")).toBe("1");
  });
});

describe("commands", () => {
  test("a command that is not there is told", async () => {
    const { code, found } = await findings(["--", "no-such-program-here"], { cwd: await makeHome() });
    expect([code, found]).toEqual([
      1,
      [expect.objectContaining({ id: "wrong-command", next: expect.stringContaining("install no-such-program-here") })],
    ]);
  });

  test("a command that is there, but not on the PATH, is shown with its path", async () => {
    const cwd = await makeHome();
    const program = put(cwd, ".local/bin/my-server", "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const { found } = await findings(["--", "my-server"], { cwd });
    expect(found[0]).toMatchObject({ id: "wrong-command", next: expect.stringContaining(`it is at ${program}`) });
  });

  test("a command that is a whole line is taken apart", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", "node server.js --fast"], { cwd });
    const { found } = await findings(["a"], { cwd });
    expect(found[0]).toMatchObject({
      id: "wrong-command",
      next: expect.stringContaining('"node" as the command and ["server.js","--fast"] as args'),
    });
  });

  test("a command that exits is told with its code and last words", async () => {
    expect(await ofFault("exits")).toMatchObject({
      code: 1,
      id: "command-exits",
      what: "its command exited with code 3",
      why: expect.stringContaining("there is no database at /nowhere"),
    });
  });

  test("a module that is missing is told apart", async () => {
    const { found } = await findings(["--", node, "/nowhere/server.js"], { cwd: await makeHome() });
    expect(found[0]).toMatchObject({ id: "command-exits", next: expect.stringContaining("correct the path") });
  });

  test("a port that is taken is named", async () => {
    const taken = createTcpServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    expect(await ofFault("port", String(port))).toMatchObject({
      code: 1,
      id: "port-in-use",
      what: `the port ${port} is taken`,
      next: expect.stringContaining(`:${port}`),
    });
  });

  test("lines on standard output that are no messages are counted, and the first is shown", async () => {
    expect(await ofFault("polluting")).toMatchObject({
      code: 0,
      id: "stdout-pollution",
      what: "2 lines on its standard output are no message",
      why: expect.stringContaining("Welcome to the server!"),
    });
  });

  test("a slow start is told", async () => {
    const args = ["--slow", "0.3", "--", node, broken, "slow", "600"];
    const { code, found } = await findings(args, { cwd: await makeHome() });
    expect([code, found.map(({ id }) => id)]).toEqual([0, ["slow-start"]]);
  });

  test("a server that never answers is given up", async () => {
    const { code, found } = await findings(["--timeout", "1", "--", node, broken, "silent"], { cwd: await makeHome() });
    expect([code, found.map(({ id }) => id)]).toEqual([1, ["no-answer"]]);
  });

  test("Ctrl-C ends it, and the server with it", async () => {
    const cwd = await makeHome();
    const mark = join(cwd, "started");
    const running = startPortolan(["doctor", "--", node, broken, "silent", mark], { cwd });
    await vi.waitUntil(() => existsSync(mark), { timeout: 20_000 });
    running.child.kill("SIGINT");
    expect(await running.ended).toBe(130);
    expect(running.said).toEqual([expect.stringContaining("interrupted")]);
  });

  test("a revision that nobody knows is told", async () => {
    expect(await ofFault("revision")).toMatchObject({
      id: "wrong-revision",
      why: expect.stringContaining("1999-01-01"),
    });
  });

  test("a server of the other era is told", async () => {
    const args = (era: string) => ["--era", era, "--", node, broken, "fine"];
    const { code, found } = await findings(args("stateless"), { cwd: await makeHome() });
    expect([code, found.map(({ id }) => id)]).toEqual([1, ["era-mismatch"]]);
    expect(await findings(args("stateful"), { cwd: await makeHome() })).toEqual({ code: 0, found: [] });
    const dated = await findings(args("2025-11-25"), { cwd: await makeHome() });
    expect(dated.found.map(({ id }) => id)).toEqual(["wrong-revision"]);
    const unknown = await runPortolan(["doctor", ...args("1999-01-01")], { cwd: await makeHome() });
    expect([unknown.code, errorOf(unknown).kind]).toEqual([2, "usage"]);
  });
});

describe("tools", () => {
  test.each([
    ["anyof", "rejected-schema", "echo (anyOf)"],
    ["deep", "deep-schema", "echo"],
    ["long", "long-name", "(70)"],
    ["odd", "odd-name", "say it/again"],
    ["many", "too-many-tools", "130 tools"],
    ["twice", "tool-collision", "two things have one name"],
  ])("%s is found as %s", async (fault, id, what) => {
    expect(await ofFault(fault)).toMatchObject({ code: 0, id, level: "warning", what: expect.stringContaining(what) });
  });
});

describe("addresses", () => {
  const ofUrl = async (url: string, options: Partial<RunOptions> = {}) => {
    const { code, found } = await findings([url], { cwd: await makeHome(), ...options });
    return { code, found, ids: found.map(({ id }) => id) };
  };

  test("a wrong path is told, and the right one found", async () => {
    const origin = await realServer();
    const { code, ids, found } = await ofUrl(`${origin}/wrong`);
    expect([code, ids, found[0]?.next]).toEqual([1, ["wrong-path"], `use ${origin}/mcp, where there is one`]);
    expect(await ofUrl(`${origin}/mcp`)).toEqual({ code: 0, found: [], ids: [] });
  });

  test("a name that the server refuses is told", async () => {
    const origin = await realServer({ allowedHosts: ["mcp.example"] });
    const { code, ids, found } = await ofUrl(`${origin}/mcp`);
    expect([code, ids]).toEqual([1, ["wrong-host"]]);
    expect(found[0]?.next).toContain("127.0.0.1");
  });

  test("nobody who listens is told, and a list that spares it from a proxy beside it", async () => {
    const server = createTcpServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    const url = `http://127.0.0.1:${port}/mcp`;
    expect((await ofUrl(url)).found).toEqual([expect.objectContaining({ id: "unreachable", why: "ECONNREFUSED" })]);
    const env = { HTTP_PROXY: "http://proxy.example:3128" };
    expect((await ofUrl(url, { env })).ids).toEqual(["unreachable"]);
    const spared = await ofUrl(url, { env: { ...env, NO_PROXY: "127.0.0.1" } });
    expect(spared.ids).toEqual(["unreachable", "proxy"]);
    expect(spared.found[1]).toMatchObject({ level: "warning", next: expect.stringContaining("out of NO_PROXY") });
  });

  test("a web page in place of a server is told", async () => {
    const origin = await site((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    });
    const { code, ids, found } = await ofUrl(`${origin}/mcp`);
    expect([code, ids, found[0]?.why]).toEqual([1, ["web-page"], expect.stringContaining("200 with HTML")]);
  });

  /** A site with a certificate that it made itself; a negative number of days makes one that has expired. */
  async function secureSite(days: number): Promise<{ url: string; cert: string }> {
    const home = await makeHome();
    const [key, request, cert] = [join(home, "key.pem"), join(home, "request.pem"), join(home, "cert.pem")];
    const names = put(home, "names", "subjectAltName=IP:127.0.0.1");
    const run = (...args: string[]) => execFileSync("openssl", args, { stdio: "ignore" });
    run("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=127.0.0.1");
    run("x509", "-req", "-in", request, "-signkey", key, "-days", String(days), "-extfile", names, "-out", cert);
    const https = createHttpsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) =>
      response.end(),
    );
    return { url: `https://${await listen(https as unknown as Server)}/mcp`, cert };
  }

  test("a certificate that nobody here knows is told, and what to do helps", async () => {
    const { url, cert } = await secureSite(1);
    const { code, ids, found } = await ofUrl(url);
    expect([code, ids]).toEqual([1, ["tls"]]);
    expect(found[0]).toMatchObject({ next: expect.stringContaining("NODE_EXTRA_CA_CERTS") });
    expect((await ofUrl(url, { env: { NODE_EXTRA_CA_CERTS: cert } })).ids).toEqual(["odd-answer"]);
  });

  test("a certificate that has expired is told", async () => {
    const { url, cert } = await secureSite(-1);
    const { found } = await ofUrl(url, { env: { NODE_EXTRA_CA_CERTS: cert } });
    expect(found[0]).toMatchObject({ id: "tls", what: "its certificate has expired" });
  });

  test("http where https is spoken, and the reverse, are told", async () => {
    const origin = await realServer();
    const { found } = await ofUrl(`${origin.replace("http:", "https:")}/mcp`);
    expect(found[0]).toMatchObject({ id: "tls", what: "it does not speak TLS" });
    const { url } = await secureSite(1);
    const reverse = await ofUrl(url.replace("https:", "http:"));
    expect(reverse.found[0]).toMatchObject({ id: "tls", what: "what answers does not speak http" });
  });

  test("a missing, a refused and an expired token are told apart", async () => {
    const cwd = await makeHome();
    const origin = await site((_, response) => {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    const jwt = (exp: number) => `e30.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.x`;
    const add = (name: string, token: string) =>
      showOf(["add", name, `${origin}/mcp`, "--header", `Authorization=Bearer ${token}`], { cwd });
    await showOf(["add", "none", `${origin}/mcp`], { cwd });
    await add("wrong", "opaque");
    await add("ended", jwt(1_000_000_000));
    const { code, found } = await findings([], { cwd });
    expect([code, found.map(({ server, id }) => `${server}: ${id}`)]).toEqual([
      1,
      ["none: missing-token", "wrong: refused-token", "ended: expired-token"],
    ]);
    expect(found[0]?.next).toBe("portolan login none");
    expect(found[2]?.what).toContain("2001-09-09");
    expect(JSON.stringify(found)).not.toContain("opaque");
  });

  test("an address with a password in it is refused", async () => {
    const { ids, found } = await ofUrl("http://ada:s3cret@127.0.0.1:9/mcp");
    expect([ids, found[0]?.why]).toEqual([["unusable-entry"], expect.stringContaining("without user name and password")]);
    expect(JSON.stringify(found)).not.toContain("s3cret");
  });

  test("a server that fails is blamed itself", async () => {
    const origin = await site((_, response) => response.writeHead(500).end("oops"));
    const { found } = await ofUrl(`${origin}/mcp`);
    expect(found[0]).toMatchObject({ id: "odd-answer", what: "it answered 500" });
  });
});
