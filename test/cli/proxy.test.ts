import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, request, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createServer as createMcpServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { startFakeProvider } from "portolan-host/models/fake";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { makeHome, type Ran } from "./kit.ts";
import { errorOf, fileOf, type RunOptions, runPortolan, showOf, startPortolan } from "./manage-kit.ts";

const program = fileOf("test/cli/fixtures/proxy.mjs");
const secret = "pa@ss/w#rd";

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly authorization?: string;
}

interface ProxyOptions {
  readonly routes?: { readonly [host: string]: number };
  readonly credentials?: string;
  readonly wants?: string;
  readonly fault?: "page" | "forbidding";
  readonly key?: string;
  readonly cert?: string;
}

/** Starts a forwarding proxy in a process of its own, with a log of its requests. */
async function startProxy(options: ProxyOptions): Promise<{ host: string; asked: Asked[] }> {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const asked: Asked[] = [];
  const lines = createInterface({ input: child.stdout });
  const [first] = await once(lines, "line");
  lines.on("line", (line) => asked.push(JSON.parse(line)));
  return { host: `127.0.0.1:${JSON.parse(first).port}`, asked };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Created once, because a key takes time. */
let certificate: Certificate;
beforeAll(() => {
  const home = makeHome();
  const [key, cert] = [join(home, "key.pem"), join(home, "cert.pem")];
  const subject = ["-subj", "/CN=mcp.example", "-addext", "subjectAltName=DNS:mcp.example,IP:127.0.0.1"];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2", ...subject],
    { stdio: "ignore" },
  );
  certificate = { key, cert };
});

/** Serves a listener at a name that only the proxy resolves, over http, or https with its own certificate. */
async function site(answer: RequestListener, isSecure: boolean): Promise<ProxyOptions["routes"] & {}> {
  if (!isSecure) return { "mcp.example:80": await listen(createServer(answer)) };
  const { key, cert } = certificate;
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
  return { "mcp.example:443": await listen(server as unknown as Server) };
}

interface Heard {
  readonly headers: { readonly [name: string]: unknown }[];
  readonly routes: ProxyOptions["routes"] & {};
}

/** A real server at `mcp.example`. */
async function startServer(isSecure: boolean): Promise<Heard> {
  const server = createMcpServer({ name: "far", version: "1.0.0" }).tool("hi", {
    async run(_, context) {
      await context.progress(1, 2, "half");
      return "hello";
    },
  });
  const serving = serveHttp(server, { allowedHosts: ["mcp.example"], httpSse: true });
  onTestFinished(() => serving.close(0));
  const headers: Heard["headers"] = [];
  const routes = await site((incoming, response) => {
    headers.push(incoming.headers);
    serving.node(incoming, response);
  }, isSecure);
  return { headers, routes };
}

const trusting = (): { [name: string]: string } => ({ NODE_EXTRA_CA_CERTS: certificate.cert });
const call = (url: string, options: RunOptions): Promise<Ran> => runPortolan(["call", url, "hi"], options);
const hello = { code: 0, stdout: expect.stringContaining("hello"), stderr: "" };

describe("the proxy variables", () => {
  test.each(["HTTP_PROXY", "http_proxy", "ALL_PROXY"])("%s is used for an http server", async (name) => {
    const { headers, routes } = await startServer(false);
    const { host, asked } = await startProxy({ routes });
    const ran = await call("http://mcp.example/mcp", { cwd: makeHome(), env: { [name]: `http://${host}` } });
    expect(ran).toMatchObject(hello);
    expect(asked[0]).toEqual({ method: "POST", target: "http://mcp.example/mcp" });
    expect(headers[0]).toMatchObject({ host: "mcp.example" });
  });

  test.each(["HTTPS_PROXY", "https_proxy", "all_proxy"])("%s opens a tunnel to an https server", async (name) => {
    const { routes } = await startServer(true);
    const { host, asked } = await startProxy({ routes });
    const env = { [name]: host, ...trusting() };
    expect(await call("https://mcp.example/mcp", { cwd: makeHome(), env })).toMatchObject(hello);
    expect(new Set(asked.map(({ method, target }) => `${method} ${target}`))).toEqual(
      new Set(["CONNECT mcp.example:443"]),
    );
  });

  test("accepts a proxy over TLS for both", async () => {
    const routes = { ...(await startServer(true)).routes, ...(await startServer(false)).routes };
    const { host } = await startProxy({ routes, ...certificate });
    const env = { ALL_PROXY: `https://${host}`, ...trusting() };
    expect(await call("https://mcp.example/mcp", { cwd: makeHome(), env })).toMatchObject(hello);
    expect(await call("http://mcp.example/mcp", { cwd: makeHome(), env })).toMatchObject(hello);
  });

  test("reaches an HTTP+SSE server", async () => {
    const { routes } = await startServer(false);
    const { host, asked } = await startProxy({ routes });
    const ran = await call("http://mcp.example/sse", { cwd: makeHome(), env: { HTTP_PROXY: `http://${host}` } });
    expect(ran).toMatchObject(hello);
    expect(asked.map(({ target }) => target)).toContainEqual(expect.stringContaining("http://mcp.example/messages"));
  });

  test("NO_PROXY excludes a server; loopback is excluded by default", async () => {
    const { host, asked } = await startProxy({});
    const env = { HTTP_PROXY: `http://${host}` };
    const spared = await call("http://mcp.example/mcp", { cwd: makeHome(), env: { ...env, NO_PROXY: ".example" } });
    expect([spared.code, asked]).toEqual([4, []]);
    const serving = serveHttp(createMcpServer({ name: "near", version: "1" }).tool("hi", { run: () => "hello" }));
    const { url } = await serving.listen(0);
    onTestFinished(() => serving.close(0));
    expect(await call(url, { cwd: makeHome(), env })).toMatchObject(hello);
    expect(asked).toEqual([]);
    await call(url, { cwd: makeHome(), env: { ...env, NO_PROXY: "<-loopback>" } });
    expect(asked[0]).toMatchObject({ target: url });
  });

  test("record and serve use the proxy", async () => {
    const { routes } = await startServer(false);
    const { host, asked } = await startProxy({ routes });
    const env = { HTTP_PROXY: `http://${host}` };
    const cwd = makeHome();
    const recorded = await runPortolan(["call", "http://mcp.example/mcp", "hi", "--record", "x.jsonl"], { cwd, env });
    expect(recorded).toMatchObject(hello);
    const before = asked.length;
    const standIn = startPortolan(["serve", "http://mcp.example/mcp", "--http", "0"], { cwd, env });
    const { url } = JSON.parse(await standIn.until(/"ready"/));
    expect(await call(url, { cwd })).toMatchObject(hello);
    expect(asked.length).toBeGreaterThan(before);
  });

  test("check refuses a proxy", async () => {
    const { host, asked } = await startProxy({});
    const env = { HTTPS_PROXY: `http://${host}` };
    const ran = await runPortolan(["check", "https://mcp.example/mcp"], { cwd: makeHome(), env });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining("HTTPS_PROXY")]);
    expect(asked).toEqual([]);
  });

  test("sign-in uses the proxy", async () => {
    const json = { "content-type": "application/json" };
    const origin = "https://mcp.example";
    const pages: { readonly [path: string]: object } = {
      "/.well-known/oauth-protected-resource/mcp": { resource: `${origin}/mcp`, authorization_servers: [origin] },
      "/.well-known/oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      },
    };
    const routes = await site((incoming, response) => {
      const page = pages[incoming.url ?? ""];
      if (page) response.writeHead(200, json).end(JSON.stringify(page));
      else if (incoming.url === "/register") {
        incoming.setEncoding("utf8").once("data", (text: string) => {
          response.writeHead(201, json).end(JSON.stringify({ ...JSON.parse(text), client_id: "me" }));
        });
      } else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    }, true);
    const { host } = await startProxy({ routes });
    const env = { HTTPS_PROXY: `http://${host}`, ...trusting() };
    const ran = await runPortolan(["login", `${origin}/mcp`, "--no-browser"], { cwd: makeHome(), env });
    expect(ran.stderr).toContain(`${origin}/authorize?`);
    expect(ran.code).toBe(3);
  });

  test("models use the proxy", async () => {
    await using provider = await startFakeProvider({ dialect: "openai", turns: [{ say: "through the proxy" }] });
    const { port, pathname } = new URL(provider.url);
    const routes = await site((incoming, response) => {
      const { method, url: path, headers } = incoming;
      const onward = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(onward);
    }, true);
    const { host, asked } = await startProxy({ routes });
    const env = { OPENAI_BASE_URL: `https://mcp.example${pathname}`, https_proxy: `http://${host}`, ...trusting() };
    const notes = ["--", process.execPath, fileOf("examples/notes/server.mjs")];
    const ran = await runPortolan(["run", "hi", "--model", "openai:x", ...notes], { cwd: makeHome(), env });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("through the proxy") });
    expect(asked).toEqual([{ method: "CONNECT", target: "mcp.example:443" }]);
  });
});

/** Returns the only finding of the doctor and the error of a call. Neither contains the password. */
async function trouble(url: string, env: { [name: string]: string }) {
  const cwd = makeHome();
  const ran = await runPortolan(["doctor", url], { cwd, env });
  const { findings } = JSON.parse(ran.stdout);
  expect([ran.code, findings]).toEqual([1, [expect.anything()]]);
  const called = await call(url, { cwd, env });
  for (const hidden of [secret, encodeURIComponent(secret), Buffer.from(`ada:${secret}`).toString("base64")]) {
    expect(JSON.stringify([ran, called])).not.toContain(hidden);
  }
  return { ...findings[0], called: { code: called.code, ...errorOf(called) } };
}

describe.each(["http", "https"])("a proxy for an %s server", (scheme) => {
  const isSecure = scheme === "https";
  const url = `${scheme}://mcp.example/mcp`;
  const variable = `${scheme.toUpperCase()}_PROXY`;
  const through = (place: string): { [name: string]: string } => ({ [variable]: `http://${place}`, ...trusting() });

  test("gets the user and password of its address", async () => {
    const { routes, headers } = await startServer(isSecure);
    const { host, asked } = await startProxy({ routes, credentials: `ada:${secret}` });
    const env = through(`ada:${encodeURIComponent(secret)}@${host}`);
    expect(await call(url, { cwd: makeHome(), env })).toMatchObject(hello);
    expect(asked[0]?.authorization).toBe(`Basic ${Buffer.from(`ada:${secret}`).toString("base64")}`);
    expect(JSON.stringify(headers)).not.toMatch(/proxy-authorization/i);
  });

  test("is reported if it requires other credentials, or any", async () => {
    const { host } = await startProxy({ credentials: "ada:other" });
    expect(await trouble(url, through(`ada:${encodeURIComponent(secret)}@${host}`))).toMatchObject({
      id: "proxy",
      level: "error",
      what: `the proxy ${host} rejects the user and password in ${variable}`,
      called: { code: 4, kind: "unreachable", message: expect.stringContaining("407") },
    });
    expect(await trouble(url, through(host))).toMatchObject({
      what: `the proxy ${host} requires a user and a password`,
      next: `export ${variable}=http://user:password@${host}`,
      called: { code: 4, next: `export ${variable}=http://user:password@${host}` },
    });
  });

  test("is reported if it requires an unsupported scheme", async () => {
    const { host } = await startProxy({ credentials: "ada:x", wants: "NTLM" });
    const { what } = await trouble(url, through(host));
    expect(what).toBe(`the proxy ${host} requires NTLM, but only Basic is supported`);
  });

  test("is reported if it is down or not a proxy", async () => {
    const closed = createTcpServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    expect(await trouble(url, through(`ada:${encodeURIComponent(secret)}@127.0.0.1:${port}`))).toMatchObject({
      id: "proxy",
      what: `the proxy 127.0.0.1:${port} cannot be reached`,
      why: `set in ${variable}; ECONNREFUSED`,
      next: `correct ${variable}, or reach it directly: add mcp.example to NO_PROXY`,
      called: { code: 4, message: expect.stringContaining(`the proxy 127.0.0.1:${port} cannot be reached`) },
    });
    const chatty = createTcpServer((socket) => socket.on("error", () => {}).end("220 mail.example ready\r\n"));
    chatty.listen(0, "127.0.0.1");
    await once(chatty, "listening");
    onTestFinished(() => void chatty.close());
    const { what } = await trouble(url, through(`127.0.0.1:${(chatty.address() as AddressInfo).port}`));
    expect(what).toContain("does not answer like a proxy");
  });

  test("is reported if it is silent", async () => {
    const silent = createTcpServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const env = through(`127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const ran = await runPortolan(["doctor", url, "--timeout", "1"], { cwd: makeHome(), env });
    const why = expect.stringContaining(`or the proxy in ${variable} is silent`);
    expect(JSON.parse(ran.stdout).findings).toEqual([expect.objectContaining({ id: "no-answer", why })]);
  });

  test("is reported if it cannot reach the server", async () => {
    const { host } = await startProxy({});
    const found = await trouble(url, through(host));
    expect(JSON.stringify(found)).toContain(variable);
    expect(found).toMatchObject(
      isSecure
        ? { id: "proxy", what: `the proxy ${host} cannot reach mcp.example` }
        : { id: "odd-answer", what: "it answered 502", why: expect.stringContaining(`or the proxy in ${variable}`) },
    );
  });

  test("is reported if it answers with a page", async () => {
    const { host } = await startProxy({ fault: "page" });
    expect(await trouble(url, through(host))).toMatchObject(
      isSecure
        ? { id: "proxy", what: `the proxy ${host} answers itself instead of the server` }
        : { id: "web-page", why: expect.stringContaining(`or the proxy in ${variable}`) },
    );
  });

  test.each([
    "socks5://ada:pa%40ss%2Fw%23rd@127.0.0.1:1080",
    `http://ada:${secret}@127.0.0.1:1`,
    "http://127.0.0.1:99999",
  ])("is reported if its address is invalid: %s", async (address) => {
    expect(await trouble(url, { [variable]: address })).toMatchObject({
      id: "proxy",
      what: `${variable} is not a proxy address`,
    });
  });
});

test("reports a proxy that forbids a server, and an untrusted certificate behind one", async () => {
  const url = "https://mcp.example/mcp";
  const forbidding = await startProxy({ fault: "forbidding" });
  expect(await trouble(url, { HTTPS_PROXY: `http://${forbidding.host}` })).toMatchObject({
    id: "proxy",
    what: `the proxy ${forbidding.host} refuses connections to mcp.example`,
    next: expect.stringContaining("ask for mcp.example to be allowed there"),
  });
  const { routes } = await startServer(true);
  const { host } = await startProxy({ routes });
  expect(await trouble(url, { HTTPS_PROXY: `http://${host}` })).toMatchObject({
    id: "tls",
    why: expect.stringContaining("or the proxy in HTTPS_PROXY puts in its own"),
  });
});

test("warns about an unreachable server in NO_PROXY, and one bad variable affects no other server", async () => {
  const cwd = makeHome();
  const env = { HTTPS_PROXY: "socks5://127.0.0.1:1", NO_PROXY: "spared.invalid" };
  await showOf(["add", "near", "--", process.execPath, fileOf("examples/notes/server.mjs")], { cwd });
  await showOf(["add", "far", "https://spared.invalid/mcp"], { cwd });
  const ran = await runPortolan(["doctor"], { cwd, env });
  const { servers, findings } = JSON.parse(ran.stdout);
  expect(servers).toContainEqual(expect.objectContaining({ name: "near", state: "ready" }));
  expect(findings).toEqual([
    expect.objectContaining({ id: "unreachable" }),
    expect.objectContaining({
      id: "proxy",
      level: "warning",
      what: "NO_PROXY excludes it from the proxy in HTTPS_PROXY",
    }),
  ]);
});
