import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, onTestFinished, test } from "vitest";

const program = (source: string) => ({ command: process.execPath, args: ["-e", source], graceMs: 100 });
const why = (reason: Error) => reason.message;

describe.each(["auto", "stateless", "stateful", "2025-06-18"])("connect with era %s", (era) => {
  test("says why a program cannot be started", async () => {
    const message = await connect({ command: "no-such-program" }, { era }).catch(why);
    expect(message).toBe(
      'The server "no-such-program" could not be started: ' +
        "there is no program no-such-program on the PATH; install it, or give its path",
    );
  });

  test("shows the output of a server that exits, from its first line on", async () => {
    const usage = "console.error('usage: server --token TOKEN\\n'.repeat(8)); process.exit(2)";
    const message = await connect(program(`console.error("Set the variable TOKEN"); ${usage}`), { era }).catch(why);
    expect(message).toMatch(/exited with code 2: Set the variable TOKEN \| … \| usage: server --token TOKEN/);
  });

  test("shows the output of a server that does not answer", async () => {
    const source = "console.error('Waiting for the database at db.example'); setInterval(() => {}, 1_000)";
    const reason = await connect(program(source), { era, connectMs: 1_500, probeMs: 200 }).catch((error) => error);
    expect(reason).toMatchObject({ code: "timeout" });
    expect(reason.message).toBe(
      "connect: the server did not answer within 1500 ms; its latest output: Waiting for the database at db.example; " +
        "raise connectMs if it starts slowly",
    );
  });
});

test("a program that sends back what it reads is named as such", async () => {
  const message = await connect(program("process.stdin.pipe(process.stdout)")).catch(why);
  expect(message).toContain("A program that sends back what it reads is not an MCP server");
});

test("an https address of a server without TLS is named as such", async () => {
  const endpoint = serveHttp(createServer({ name: "s", version: "1" }).tool("t", { run: () => "" }));
  const { port } = await endpoint.listen();
  const message = await connect(`https://127.0.0.1:${port}/mcp`).catch(why);
  expect(message).toBe(`POST https://127.0.0.1:${port}/mcp failed: this port does not speak TLS; use http:`);
  await endpoint.close();
});

test("another path than that of the endpoint is named, and the usual one", async () => {
  const server = createServer({ name: "s", version: "1" }).tool("t", { run: () => "" });
  for (const [path, known] of [
    [undefined, "; it is at /mcp"],
    ["/hidden", ""],
  ] as const) {
    const endpoint = serveHttp(server, path === undefined ? {} : { path });
    const { port } = await endpoint.listen();
    const response = await fetch(`http://127.0.0.1:${port}/other`, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
    expect(((await response.json()) as { error: Error }).error.message).toBe(`No endpoint at /other${known}`);
    await endpoint.close();
  }
});

test("a program that cannot be started is explained although its era was stored", async () => {
  const { kv: eraCache } = createMemoryStorage();
  const profile = { version: "2025-11-25", era: "stateful", capabilities: {} };
  await eraCache.set("portolan/era/x", JSON.stringify(profile));
  const message = await connect({ command: "no-such-program" }, { eraCache, eraCacheKey: "x" }).catch(why);
  expect(message).toContain("there is no program no-such-program on the PATH");
});

test("the output of a silent server is shown without its secrets", async () => {
  const source = 'console.error("token", process.env.API_TOKEN); setInterval(() => {}, 1_000)';
  const target = { ...program(source), env: { API_TOKEN: "hunter2" } };
  const message = await connect(target, { connectMs: 1_000, probeMs: 200 }).catch(why);
  expect(message).toContain("its latest output: token ***");
  expect(message).not.toContain("hunter2");
});

/** A program that counts its starts in a file. */
function counted(source: string) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-starts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "starts");
  const text = `require("node:fs").appendFileSync(${JSON.stringify(file)}, "x"); ${source}`;
  return { target: program(text), starts: () => readFileSync(file, "utf8").length };
}

test.each([
  ["a missing variable", "console.error('Error: DATABASE_URL is not set'); process.exit(1)", "DATABASE_URL is not set"],
  ["a missing module", "require('no-such-module')", "Cannot find module 'no-such-module'"],
  ["a missing file", "require('node:fs').readFileSync('/nowhere/config.json')", "ENOENT: no such file"],
])("a server that dies at start for want of %s is started once", async (_, source, cause) => {
  const { target, starts } = counted(source);
  expect(await connect(target).catch(why)).toContain(cause);
  expect(starts()).toBe(1);
  const { kv: eraCache } = createMemoryStorage();
  const profile = { version: "2025-11-25", era: "stateful", capabilities: {} };
  await eraCache.set("portolan/era/x", JSON.stringify(profile));
  expect(await connect(target, { eraCache, eraCacheKey: "x" }).catch(why)).toContain(cause);
  expect(starts()).toBe(2);
});

test.each([
  ["without a word", ""],
  ["with an error about the message", "console.error('Error: ExpectedInitializeRequest(Some(server/discover))');"],
  ["with an error of its own", "console.error(\"TypeError: Cannot read properties of undefined (reading 'call')\");"],
])("a server that exits with code 1 on the probe, %s, is started again for the handshake", async (_, words) => {
  const { target, starts } = counted(`
    require("node:readline").createInterface(process.stdin).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "server/discover") { ${words} process.exit(1); }
      const serverInfo = { name: "old", version: "1" };
      const result = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`);
  const client = await connect(target);
  expect(client.server).toMatchObject({ era: "stateful", info: { name: "old" } });
  await client.close();
  expect(starts()).toBe(2);
});
