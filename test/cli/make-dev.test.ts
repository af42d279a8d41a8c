import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect } from "portolan/client";
import { afterEach, describe, expect, test } from "vitest";
import { Tab } from "../console/kit.ts";
import { pathTo } from "../examples/example.ts";
import { revisions } from "../kit/revisions.ts";
import { portolan, runPortolan } from "./kit.ts";
import { makeProject, type Running, startPortolan, until, weather } from "./make-kit.ts";

const started: Running[] = [];
afterEach(async () => {
  for (const running of started.splice(0)) await running.end("SIGKILL");
});

async function dev(folder: string, file: string, env: { [name: string]: string } = {}) {
  const running = startPortolan(["dev", file, "--http", "0"], folder, env);
  started.push(running);
  const ready = await running.event("ready");
  return { running, ready, url: String(ready["url"]) };
}

describe("a server file in development", () => {
  test.each(["2025-11-25", "2026-07-28"])(
    "is reloaded after a change for clients connected on %s",
    async (revision) => {
      const folder = makeProject(weather);
      const { running, ready, url } = await dev(folder, "server.ts");
      expect(ready).toMatchObject({ name: "weather", version: "1.0.0", stdio: "portolan serve --stdio server.ts" });
      expect(ready["tokens"]).toBeGreaterThan(10);
      const client = await connect(url, { era: revision });
      const watch = await client.watch({ tools: true });
      const changes = watch[Symbol.asyncIterator]();
      expect(await client.callTool("forecast", { city: "Oslo" })).toMatchObject({ content: [{ text: "[4,6,5]" }] });

      const more = weather["server.ts"]!.replace(
        'properties: { city: { type: "string" },',
        'properties: { city: { type: "string" }, days: { type: "integer" },',
      ).replace("Highs of the next days", "Highs");
      writeFileSync(join(folder, "server.ts"), more);
      expect(await running.event("changed")).toMatchObject({
        file: "server.ts",
        changes: ["forecast: description, input +days"],
      });
      expect((await changes.next()).value).toEqual({ kind: "tools" });
      const [tool] = await client.listTools({ fresh: true });
      expect(tool).toMatchObject({ description: "Highs", inputSchema: { properties: { days: { type: "integer" } } } });

      // Imports are watched, too.
      writeFileSync(join(folder, "highs.ts"), "export const highs: Record<string, number[]> = { Oslo: [40] };\n");
      expect(await running.event("changed")).toMatchObject({ file: "highs.ts", changes: [] });
      expect(await client.callTool("forecast", { city: "Oslo" })).toMatchObject({ content: [{ text: "[40]" }] });
      await client.close();
      expect(await running.end()).toBe(0);
    },
  );

  test("stays unchanged while a tool has an invalid schema, and reports the tool and the place", async () => {
    const folder = makeProject(weather);
    const { running, url } = await dev(folder, "server.ts");
    const client = await connect(url);
    const { "server.ts": text = "" } = weather;
    writeFileSync(join(folder, "server.ts"), text.replace('{ type: "string" }', '{ type: "strnig" }'));
    const { message } = await running.event("error");
    expect(message).toMatch(/^Tool "forecast": input: JSON Schema: properties\/city\/type: /);
    expect(await client.callTool("forecast", { city: "Oslo" })).toMatchObject({ content: [{ text: "[4,6,5]" }] });
    await client.close();
    expect(await running.end()).toBe(0);
  });

  test("stays unchanged while the file cannot be loaded, and reports the error and its location", async () => {
    const folder = makeProject(weather);
    const { running, url } = await dev(folder, "server.ts");
    const client = await connect(url);
    writeFileSync(join(folder, "highs.ts"), "export const other = 1;\nconst = ;\n");
    const { message } = await running.event("error");
    expect(message).toMatch(/highs\.ts:2:\d+: .*Unexpected token/);
    expect(await client.callTool("forecast", { city: "Oslo" })).toMatchObject({ content: [{ text: "[4,6,5]" }] });
    writeFileSync(join(folder, "highs.ts"), "export const highs: Record<string, number[]> = { Oslo: [7] };\n");
    await running.event("changed");
    expect(await client.callTool("forecast", { city: "Oslo" })).toMatchObject({ content: [{ text: "[7]" }] });
    await client.close();
  });

  test("reports added and removed features", async () => {
    const base = (features: string) =>
      `import { createServer } from "portolan/server";\nexport default createServer({ name: "x", version: "1" })${features};\n`;
    const folder = makeProject({
      "server.mjs": base('.tool("a", { run: () => "a" }).prompt("p", { get: () => "p" })'),
    });
    const { running } = await dev(folder, "./server.mjs");
    writeFileSync(
      join(folder, "server.mjs"),
      base(
        '.tool("b", { run: () => "b" }).resource("x://y", { read: () => "" }).template("x://{z}", { read: () => "" })',
      ),
    );
    expect((await running.event("changed"))["changes"]).toEqual([
      "- tool a",
      "+ tool b",
      "+ resource x://y",
      "+ template x://{z}",
      "- prompt p",
    ]);
  });

  test("may change by itself", async () => {
    const folder = makeProject({
      "server.mjs": `import { createServer, live } from "portolan/server";
const server = live(createServer({ name: "x", version: "1" }).tool("a", { run: () => "first" }));
export default server;
`,
    });
    const { running, url } = await dev(folder, "server.mjs");
    const client = await connect(url);
    expect(await client.callTool("a")).toMatchObject({ content: [{ text: "first" }] });
    writeFileSync(
      join(folder, "server.mjs"),
      `import { createServer, live } from "portolan/server";
export default Promise.resolve(live(createServer({ name: "x", version: "1" }).tool("a", { run: () => "second" })));
`,
    );
    await running.event("changed");
    expect(await client.callTool("a")).toMatchObject({ content: [{ text: "second" }] });
    await client.close();
  });
});

test("restarts a server that serves itself, and clients stay connected", async () => {
  const server = (text: string) => `import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
serveStdio(createServer({ name: "own", version: "1" }).tool("a", { run: () => "${text}" }).tool("${text}", { run: () => "" }));
export default undefined;
`;
  const folder = makeProject({ "server.mjs": server("first") });
  const { running, ready, url } = await dev(folder, "server.mjs");
  expect(ready).toMatchObject({ name: "own" });
  const client = await connect(url, { era: "2025-11-25" });
  expect(await client.callTool("a")).toMatchObject({ content: [{ text: "first" }] });
  writeFileSync(join(folder, "server.mjs"), "nope(;");
  expect((await running.event("error"))["message"]).toMatch(/server\.mjs:1/);
  expect(await client.callTool("a")).toMatchObject({ content: [{ text: "first" }] });
  writeFileSync(join(folder, "server.mjs"), server("second"));
  expect((await running.event("changed"))["changes"]).toEqual(["- tool first", "+ tool second"]);
  expect(await client.callTool("a")).toMatchObject({ content: [{ text: "second" }] });
  await client.close();
  expect(await running.end()).toBe(0);
});

test("requires the token in PORTOLAN_TOKEN", async () => {
  const folder = makeProject(weather);
  const { ready, url } = await dev(folder, "server.ts", { PORTOLAN_TOKEN: "let-me-in-please" });
  expect(ready["isProtected"]).toBe(true);
  await expect(connect(url)).rejects.toThrow();
  const refused = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  expect(refused.status).toBe(401);
  expect((await fetch(new URL("/other", url))).status).toBe(404);
});

test("serves every revision", async () => {
  const folder = makeProject(weather);
  const { url } = await dev(folder, "server.ts");
  for (const revision of revisions.slice(1)) {
    const client = await connect(url, { era: revision });
    expect(client.server.version).toBe(revision);
    await client.close();
  }
});

test("opens a console that is connected to the served file, also after a change", async () => {
  const folder = makeProject(weather);
  const { running, ready } = await dev(folder, "server.ts");
  const tab = await Tab.open({ openAddress: () => String(ready["console"]) });
  const events = await tab.events();
  const isReady = ({ server }: { server: { name: string; state: string } }) =>
    server.name === "weather" && server.state === "ready";
  await events.ever("server", isReady);
  expect((await tab.do("catalog", { server: "weather" })).tools.map(({ name }) => name)).toEqual(["forecast"]);
  writeFileSync(join(folder, "server.ts"), weather["server.ts"]!.replace('"forecast"', '"predict"'));
  await running.event("changed");
  const namesNow = async () => (await tab.do("catalog", { server: "weather" })).tools.map(({ name }) => name);
  await expect.poll(namesNow).toEqual(["predict"]);
  expect(await running.end()).toBe(0);
});

test("prints an overview on a terminal, and Ctrl-C ends it", async () => {
  const folder = makeProject(weather);
  const command = `stty rows 24 cols 100; exec '${process.execPath}' '${portolan}' dev server.ts --http 0`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder, LANG: "C.UTF-8", NO_COLOR: "1" },
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  await until(() => shown.includes("press Ctrl-C to stop"));
  expect(shown).toMatch(
    / {2}weather 1\.0\.0 {3}1 tool {3}about \d+ tokens\r\n {2}http {3}http:\/\/127\.0\.0\.1:\d+\/mcp/,
  );
  writeFileSync(join(folder, "server.ts"), weather["server.ts"]!.replace('"forecast"', '"predict"'));
  await until(() => /⟳ server\.ts changed → - tool forecast; \+ tool predict/.test(shown));
  child.stdin.write("\u0003");
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(code).toBe(0);
});

test.each([
  ["no file", "none.ts", 2, /file not found: none\.ts/],
  ["nothing to serve", "nothing.mjs", 1, /expected a server as the default export, or a file that serves itself/],
  ["another thing", "thing.mjs", 1, /expected a server of createServer as its default export, got number/],
  ["a mistake", "wrong.mjs", 1, /wrong\.mjs:2.*nope is not defined/],
])("fails with the reason: %s", async (_, file, code, says) => {
  const folder = makeProject({
    "nothing.mjs": "export const x = 1;\n",
    "thing.mjs": "export default 5;\n",
    "wrong.mjs": "// x\nnope();\n",
  });
  const ran = await runPortolan(["dev", file, "--http", "0"], { cwd: folder });
  expect(ran.code).toBe(code);
  expect(JSON.parse(ran.stderr.trim().split("\n").at(-1)!).error.message).toMatch(says);
});

test("--apps serves a page of the apps of a file, and of any other server", async () => {
  const folder = makeProject(weather);
  const running = startPortolan(["dev", "server.ts", "--apps", "--http", "0"], folder);
  started.push(running);
  const { apps } = await running.event("ready");
  const page = await fetch(String(apps));
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<title>Apps - Portolan</title>")]);
  expect(page.headers.get("content-security-policy")).toMatch(/frame-src http:\/\/localhost:\d+; /);
  const server = pathTo("examples/apps/server.mjs");
  const other = startPortolan(["dev", "--apps", "--", process.execPath, server], folder);
  started.push(other);
  expect((await fetch(String((await other.event("preview"))["apps"]))).status).toBe(200);
});

test.each([
  ["a command without --apps", ["dev", "--", "node", "x.js"], /needs --apps/],
  ["a port for another server", ["dev", "--apps", "--http", "0", "--", "node", "x.js"], /--http is for a file/],
  ["nothing", ["dev"], /no file given/],
  ["nothing to show", ["dev", "--apps"], /no server given/],
])("dev refuses %s", async (_, args, message) => {
  const { code, stderr } = await runPortolan(args, { cwd: makeProject({}) });
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error.message).toMatch(message);
});

test("fails if the requested port is in use", async () => {
  const folder = makeProject(weather);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await runPortolan(["dev", "server.ts", "--http", String(port)], { cwd: folder });
  server.close();
  expect(code).toBe(2);
  expect(JSON.parse(stderr).error).toMatchObject({ message: `port ${port} is in use` });
  const wrong = await runPortolan(["dev", "server.ts", "--http", "many"], { cwd: folder });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("expected a port") });
});
