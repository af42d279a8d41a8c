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
import { makeHome } from "./kit.ts";
import { broken, errorOf, notes, put, type RunOptions, runPortolan, showOf, startPortolan } from "./manage-kit.ts";

const node = process.execPath;

interface Found {
  readonly id: string;
  readonly level: string;
  readonly server: string;
  readonly what: string;
  readonly why: string;
  readonly next: string;
}

/** Returns the findings and exit code of the doctor. */
async function findings(
  args: readonly string[],
  options: RunOptions,
): Promise<{ code: number | null; found: Found[] }> {
  const ran = await runPortolan(["doctor", ...args], options);
  const { findings: found } = JSON.parse(ran.stdout) as { findings: Found[] };
  if (ran.code !== 0) expect(errorOf(ran).message).toMatch(/errors? found/);
  return { code: ran.code, found };
}

/** Returns the only finding about a broken command. */
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

/** Starts a loopback server with the handler of a test. */
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

test("finds nothing wrong with a working server", async () => {
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
  test("names a missing variable and its location", async () => {
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
          place: expect.stringContaining("mcpServers.db in "),
          repair: { kind: "variable", name: "PGURL", isSecret: false },
        }),
      ],
    ]);
    expect(found[0]?.why).toContain("mcpServers.db.env.PGURL");
  });

  test("names an unreadable file and the line", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", '{\n  "mcpServers": {,}\n}');
    const { code, found } = await findings([], { cwd });
    expect([code, found[0]?.id, found[0]?.why]).toEqual([
      1,
      "unreadable-file",
      expect.stringContaining(".mcp.json:2:"),
    ]);
  });

  test("names an unusable entry", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", { mcpServers: { a: { url: "gopher://x" } } });
    const { code, found } = await findings([], { cwd });
    expect([code, found[0]?.id]).toEqual([1, "unusable-entry"]);
  });

  test("reports names that collide or look alike", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", { mcpServers: { files: { command: "a" }, fi1es: { command: "b" } } });
    put(cwd, ".cursor/mcp.json", { mcpServers: { files: { command: "c" } } });
    const { code, found } = await findings([], { cwd });
    expect(code).toBe(0);
    expect(found.filter(({ id }) => id === "name-collision").map(({ server, what }) => `${server}: ${what}`)).toEqual([
      "files: several files define it, and differently",
      "fi1es: its name looks like files",
    ]);
    expect(found.filter(({ id }) => id === "untrusted")).toHaveLength(2);
  });

  test("does not start an untrusted server", async () => {
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
  test("reports a missing command", async () => {
    const { code, found } = await findings(["--", "no-such-program-here"], { cwd: await makeHome() });
    expect([code, found]).toEqual([
      1,
      [expect.objectContaining({ id: "wrong-command", next: expect.stringContaining("install no-such-program-here") })],
    ]);
  });

  test("shows the path of a command that is not on the PATH", async () => {
    const cwd = await makeHome();
    const program = put(cwd, ".local/bin/my-server", "#!/bin/sh\n");
    chmodSync(program, 0o755);
    const { found } = await findings(["--", "my-server"], { cwd });
    expect(found[0]).toMatchObject({ id: "wrong-command", next: expect.stringContaining(`it is at ${program}`) });
  });

  test("splits a command that contains arguments", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", "node server.js --fast"], { cwd });
    const { found } = await findings(["a"], { cwd });
    expect(found[0]).toMatchObject({
      id: "wrong-command",
      next: expect.stringContaining('"node" as the command and ["server.js","--fast"] as args'),
    });
  });

  test("reports the exit code and last output of a command", async () => {
    expect(await ofFault("exits")).toMatchObject({
      code: 1,
      id: "command-exits",
      what: "its command exited with code 3",
      why: expect.stringContaining("there is no database at /nowhere"),
    });
  });

  test("recognizes a missing module", async () => {
    const { found } = await findings(["--", node, "/nowhere/server.js"], { cwd: await makeHome() });
    expect(found[0]).toMatchObject({ id: "command-exits", next: expect.stringContaining("correct the path") });
  });

  test("names a port in use", async () => {
    const taken = createTcpServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    expect(await ofFault("port", String(port))).toMatchObject({
      code: 1,
      id: "port-in-use",
      what: `the port ${port} is in use`,
      next: expect.stringContaining(`:${port}`),
    });
  });

  test("counts lines on standard output that are not messages, and shows the first", async () => {
    expect(await ofFault("polluting")).toMatchObject({
      code: 0,
      id: "stdout-pollution",
      what: "2 lines on its standard output are not a message",
      why: expect.stringContaining("Welcome to the server!"),
    });
  });

  test("reports a slow start", async () => {
    const args = ["--slow", "0.3", "--", node, broken, "slow", "600"];
    const { code, found } = await findings(args, { cwd: await makeHome() });
    expect([code, found.map(({ id }) => id)]).toEqual([0, ["slow-start"]]);
  });

  test("times out on a server that never answers", async () => {
    const { code, found } = await findings(["--timeout", "1", "--", node, broken, "silent"], { cwd: await makeHome() });
    expect([code, found.map(({ id }) => id)]).toEqual([1, ["no-answer"]]);
  });

  test("Ctrl-C ends the doctor and the server", async () => {
    const cwd = await makeHome();
    const mark = join(cwd, "started");
    const running = startPortolan(["doctor", "--", node, broken, "silent", mark], { cwd });
    const pid = () => Number(existsSync(mark) && readFileSync(mark, "utf8"));
    await vi.waitUntil(() => pid() > 0, { timeout: 20_000 });
    running.child.kill("SIGINT");
    expect(await running.ended).toBe(130);
    expect(running.said).toEqual([expect.stringContaining("interrupted")]);
    expect(() => process.kill(pid(), 0)).toThrow("ESRCH");
  });

  test("reports an unknown revision", async () => {
    expect(await ofFault("revision")).toMatchObject({
      id: "wrong-revision",
      why: expect.stringContaining("1999-01-01"),
    });
  });

  test("reports a server of the other era", async () => {
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
    ["twice", "tool-collision", "two features have the same name"],
  ])("reports %s as %s", async (fault, id, what) => {
    expect(await ofFault(fault)).toMatchObject({ code: 0, id, level: "warning", what: expect.stringContaining(what) });
  });
});

describe("addresses", () => {
  const ofUrl = async (url: string, options: Partial<RunOptions> = {}) => {
    const { code, found } = await findings([url], { cwd: await makeHome(), ...options });
    return { code, found, ids: found.map(({ id }) => id) };
  };

  test("reports a wrong path and finds the right one", async () => {
    const origin = await realServer();
    const { code, ids, found } = await ofUrl(`${origin}/wrong`);
    expect([code, ids, found[0]?.next]).toEqual([1, ["wrong-path"], `use ${origin}/mcp, where a server answers`]);
    expect(await ofUrl(`${origin}/mcp`)).toEqual({ code: 0, found: [], ids: [] });
  });

  test("reports a host name that the server refuses", async () => {
    const origin = await realServer({ allowedHosts: ["mcp.example"] });
    const { code, ids, found } = await ofUrl(`${origin}/mcp`);
    expect([code, ids]).toEqual([1, ["wrong-host"]]);
    expect(found[0]?.next).toContain("127.0.0.1");
  });

  test("reports that nothing listens, and a NO_PROXY that excludes the server", async () => {
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
    expect(spared.found[1]).toMatchObject({ level: "warning", next: expect.stringContaining("from NO_PROXY") });
  });

  test("reports a web page instead of a server", async () => {
    const origin = await site((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    });
    const { code, ids, found } = await ofUrl(`${origin}/mcp`);
    expect([code, ids, found[0]?.why]).toEqual([1, ["web-page"], expect.stringContaining("200 with HTML")]);
  });

  /** Starts a site with a self-signed certificate; a negative number of days makes it expired. */
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

  test("reports an untrusted certificate, and the suggested fix works", async () => {
    const { url, cert } = await secureSite(1);
    const { code, ids, found } = await ofUrl(url);
    expect([code, ids]).toEqual([1, ["tls"]]);
    expect(found[0]).toMatchObject({ next: expect.stringContaining("NODE_EXTRA_CA_CERTS") });
    expect((await ofUrl(url, { env: { NODE_EXTRA_CA_CERTS: cert } })).ids).toEqual(["odd-answer"]);
  });

  test("reports an expired certificate", async () => {
    const { url, cert } = await secureSite(-1);
    const { found } = await ofUrl(url, { env: { NODE_EXTRA_CA_CERTS: cert } });
    expect(found[0]).toMatchObject({ id: "tls", what: "its certificate has expired" });
  });

  test("reports http instead of https, and the reverse", async () => {
    const origin = await realServer();
    const { found } = await ofUrl(`${origin.replace("http:", "https:")}/mcp`);
    expect(found[0]).toMatchObject({ id: "tls", what: "it does not speak TLS" });
    const { url } = await secureSite(1);
    const reverse = await ofUrl(url.replace("https:", "http:"));
    expect(reverse.found[0]).toMatchObject({ id: "tls", what: "it does not speak HTTP" });
  });

  test("distinguishes a missing key, a refused and an expired token", async () => {
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
      ["none: missing-key", "wrong: refused-token", "ended: expired-token"],
    ]);
    expect(found[0]?.next).toBe("pass its key: portolan add none --header 'Authorization=…'");
    expect(found[2]?.what).toContain("2001-09-09");
    expect(JSON.stringify(found)).not.toContain("opaque");
  });

  test("refuses an address with a password", async () => {
    const { ids, found } = await ofUrl("http://ada:s3cret@127.0.0.1:9/mcp");
    expect([ids, found[0]?.why]).toEqual([
      ["unusable-entry"],
      expect.stringContaining("The address contains a user name or a password"),
    ]);
    expect(JSON.stringify(found)).not.toContain("s3cret");
  });

  test("blames the server for its own failure", async () => {
    const origin = await site((_, response) => response.writeHead(500).end("oops"));
    const { found } = await ofUrl(`${origin}/mcp`);
    expect(found[0]).toMatchObject({ id: "odd-answer", what: "it answered 500" });
  });
});
