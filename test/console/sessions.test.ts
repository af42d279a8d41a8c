import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startConsole } from "portolan-console";
import { expect, onTestFinished, test } from "vitest";
import { consoleOptions, makeFolder, openConsole, refusalOf, send, Tab } from "./kit.ts";

test("an address opens one session", async () => {
  const running = await openConsole();
  const { hash, origin } = new URL(running.openAddress());
  const tab = new Tab(origin);
  const { session, api } = await tab.do("hello", { launch: hash.slice("#launch=".length) });
  expect(api).toEqual([1]);
  expect(session.length).toBeGreaterThan(30);
  const refused = await refusalOf(tab.do("hello", { launch: hash.slice("#launch=".length) }));
  expect([refused.status, refused.error.code]).toEqual([401, "no-session"]);
  expect(refused.error.message).toContain("used already");
});

test("a forged or old token opens nothing", async () => {
  const running = await openConsole();
  const { hash, origin } = new URL(running.openAddress());
  const [claim, signature] = hash.slice("#launch=".length).split(".");
  const tab = new Tab(origin);
  for (const launch of [`${claim}x.${signature}`, `${claim}.${signature}x`, "x", "0-a.b", `NaN-a.${signature}`]) {
    expect((await refusalOf(tab.do("hello", { launch }))).error.code).toBe("no-session");
  }
});

test("programs that guess tokens use up no requests of a page", async () => {
  const running = await openConsole();
  const tab = await Tab.open(running);
  const stranger = new Tab(running.origin);
  const count = 400;
  const begun = performance.now();
  const guesses = Promise.all(
    Array.from({ length: count }, async () => (await refusalOf(stranger.do("hello", { launch: "x" }))).error.code),
  );
  const served = await Promise.all(Array.from({ length: 20 }, () => tab.do("found", {})));
  expect(served).toHaveLength(20);
  const codes = new Set(await guesses);
  const seconds = (performance.now() - begun) / 1_000;
  // 200 at once and 200 a second are heard, so a machine that is very slow sends no more than that.
  if (count > 200 * (1 + seconds)) expect(codes).toContain("too-many");
  expect([...codes].filter((code) => code !== "no-session" && code !== "too-many")).toEqual([]);
});

test("a verb or the events without a session are refused, whether the verb exists or not", async () => {
  const running = await openConsole();
  const tab = new Tab(running.origin);
  for (const verb of ["catalog", "nonsense"]) {
    const { status, text } = await send(running.origin, `/api/${verb}`, {
      method: "POST",
      headers: { ...tab.headers, "portolan-session": "guessed" },
      body: "{}",
    });
    expect([status, JSON.parse(text).error.code]).toEqual([401, "no-session"]);
  }
  expect((await tab.events()).status).toBe(401);
});

test.each([
  ["another Host, as DNS rebinding has", { host: "evil.example:80" }, 421],
  ["localhost as Host", { host: "localhost:1" }, 421],
  ["another Origin", { origin: "http://evil.example" }, 403],
  ["the origin null", { origin: "null" }, 403],
  ["another port of this machine as Origin", { origin: "http://127.0.0.1:1" }, 403],
  ["Sec-Fetch-Site: same-site", { "sec-fetch-site": "same-site" }, 403],
  ["Sec-Fetch-Site: cross-site", { "sec-fetch-site": "cross-site" }, 403],
  ["Sec-Fetch-Site: none", { "sec-fetch-site": "none" }, 403],
  ["a form's content type", { "content-type": "application/x-www-form-urlencoded" }, 415],
  ["plain text", { "content-type": "text/plain" }, 415],
  ["another charset", { "content-type": "application/json; charset=utf-16" }, 415],
  ["another version of the API", { "portolan-api": "2" }, 426],
])("refuses %s", async (_, headers, status) => {
  const running = await openConsole();
  const tab = await Tab.open(running);
  const reply = await send(running.origin, "/api/found", {
    method: "POST",
    headers: { ...tab.headers, ...headers },
    body: "{}",
  });
  expect(reply.status).toBe(status);
  expect(Object.keys(JSON.parse(reply.text))).toEqual(["error"]);
});

test("refuses a post without an origin, and a method that is not known", async () => {
  const running = await openConsole();
  const tab = await Tab.open(running);
  const { origin: _, ...headers } = tab.headers;
  expect((await send(running.origin, "/api/found", { method: "POST", headers, body: "{}" })).status).toBe(403);
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
    expect((await send(running.origin, "/api/found", { method, headers: tab.headers })).status).toBe(405);
  }
  expect((await send(running.origin, "/", { method: "POST" })).status).toBe(405);
});

test("names each member that is missing, unknown or wrong", async () => {
  const tab = await Tab.open(await openConsole());
  const request = crypto.randomUUID();
  const refused = await refusalOf(tab.do("server.enable", { server: "", isOn: "yes", extra: 1, request } as never));
  expect([refused.status, refused.error.code]).toEqual([400, "bad-request"]);
  expect(refused.error.paths?.map(({ path }) => path)).toEqual(["extra", "server", "isOn"]);
  const unnamed = await refusalOf(tab.do("server.enable", { server: "a", isOn: true, request: "x" }));
  expect(unnamed.error.paths?.map(({ path }) => path)).toEqual(["request"]);
  const broken = await send(tab.origin, "/api/found", { method: "POST", headers: tab.headers, body: "{" });
  expect([broken.status, JSON.parse(broken.text).error.code]).toEqual([400, "bad-request"]);
});

test("refuses a body that is too large, also one whose length is not announced", async () => {
  const tab = await Tab.open(await openConsole());
  const body = JSON.stringify({ text: "x".repeat(1024 * 1024) });
  const chunked = { ...tab.headers, "transfer-encoding": "chunked" };
  for (const headers of [tab.headers, chunked]) {
    const reply = await send(tab.origin, "/api/found", { method: "POST", headers, body }).catch(
      (reason) => reason.code,
    );
    // The server may close the connection before all of the body is sent.
    if (typeof reply === "string") expect(["EPIPE", "ECONNRESET"]).toContain(reply);
    else expect(reply.status).toBe(413);
  }
});

test("the page has a strict policy, a nonce of its own and no cache", async () => {
  const { origin } = await openConsole();
  const [first, second] = [await send(origin, "/"), await send(origin, "/")];
  const policy = String(first.headers["content-security-policy"]);
  const [, nonce] = /'nonce-([^']+)'/.exec(policy)!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(policy).not.toMatch(/unsafe/);
  expect(first.text).toContain(`nonce="${nonce}"`);
  expect(String(second.headers["content-security-policy"])).not.toContain(nonce);
  expect(first.headers).toMatchObject({
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  });
  expect(first.headers["set-cookie"]).toBeUndefined();
  expect((await send(origin, "/app.js")).headers["content-type"]).toContain("text/javascript");
});

test("serves nothing but the files of the page", async () => {
  const { origin } = await openConsole();
  for (const path of [
    "/../running.json",
    "/%2e%2e/running.json",
    "/.hidden.js",
    "/none.js",
    "/a/b.js",
    "/app",
    "/api",
  ]) {
    expect((await send(origin, path)).status).toBe(404);
  }
});

test("a second console of the same folder finds the first, whose addresses it can make", async () => {
  const options = await consoleOptions({});
  const first = await startConsole(options);
  onTestFinished(() => first.close());
  const second = await startConsole({
    ...options,
    createHost: () => Promise.reject(new Error("a second host was made")),
  });
  expect([second.isElsewhere, second.origin]).toEqual([true, first.origin]);
  const tab = await Tab.open(second);
  expect(await tab.do("found", {})).toEqual({ servers: [], problems: [] });
});

test("what a console says of itself is private, and is not believed without proof", async () => {
  const folder = await makeFolder();
  const options = await consoleOptions({ folder });
  const impostor = await openConsole();
  await mkdir(options.folder, { recursive: true });
  const { port } = new URL(impostor.origin);
  const file = join(options.folder, "running.json");
  await writeFile(file, JSON.stringify({ port: Number(port), pid: process.pid, boot: "x", secret: "other" }));
  const running = await startConsole(options);
  onTestFinished(() => running.close());
  expect(running.isElsewhere).toBe(false);
  expect(running.origin).not.toBe(impostor.origin);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(options.folder)).mode & 0o777).toBe(0o700);
  await running.close();
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ port: Number(new URL(running.origin).port) });
});

test("a restarted console takes the same port, and knows no session of the one before", async () => {
  const options = await consoleOptions({});
  const first = await startConsole(options);
  const tab = await Tab.open(first);
  await first.close();
  const second = await startConsole(options);
  onTestFinished(() => second.close());
  expect(second.origin).toBe(first.origin);
  expect((await refusalOf(tab.do("found", {}))).error.code).toBe("no-session");
});

test("the address for a browser is a private file that leads to the console, until it closes", async () => {
  const options = await consoleOptions({});
  const running = await startConsole(options);
  const file = fileURLToPath(running.browserAddress());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const [, address] = /url=([^"]+)"/.exec(await readFile(file, "utf8"))!;
  const tab = new Tab(running.origin);
  await tab.do("hello", { launch: new URL(address!).hash.slice("#launch=".length) });
  await running.close();
  expect((await readdir(options.folder)).filter((name) => name.endsWith(".html"))).toEqual([]);
});
