import { appendFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveHttp } from "portolan/server/http";
import { createClock } from "portolan/testing";
import type { Host, HostOptions } from "portolan-host";
import { expect, onTestFinished, test, vi } from "vitest";
import { allow, greeter, initializeResult, makeFolder, makeHost, nextEvent, rawServer, textOf } from "./kit.ts";

const stateOf = (host: Host) => host.servers[0]?.state;

/** Starts a host with a server in memory that counts pings and answers them while `isAlive`. */
async function makePinged(options: HostOptions = {}) {
  const clock = createClock();
  const server = { pings: 0, isAlive: true, closings: 0 };
  const pinged = rawServer((method) => {
    if (method === "initialize") return initializeResult;
    if (method === "tools/list") return { tools: [{ name: "act", inputSchema: { type: "object" } }] };
    if (method !== "ping") return { content: [{ type: "text", text: "acted" }] };
    server.pings += 1;
    return server.isAlive ? {} : undefined;
  });
  const host = await makeHost({ servers: { s: pinged }, policy: allow, clock, ...options });
  await host.start("s");
  return { host, clock, server };
}

test("a silent server is pinged every 30 seconds, and stays ready while it answers", async () => {
  const { host, clock, server } = await makePinged();
  await clock.advance(29_000);
  expect(server.pings).toBe(0);
  await clock.advance(1_500);
  expect(server.pings).toBe(1);
  for (let at = 0; at < 10; at += 1) await clock.advance(30_000);
  expect(server.pings).toBe(11);
  expect(stateOf(host)).toBe("ready");
});

test("a server that was heard from is not pinged", async () => {
  const { host, clock, server } = await makePinged();
  for (let at = 0; at < 10; at += 1) {
    await clock.advance(20_000);
    await host.callTool("s", "act");
  }
  expect(server.pings).toBe(0);
});

test("a missing answer changes the state and ends nothing; the next answer changes it back", async () => {
  const { host, clock, server } = await makePinged();
  const events = host.events({ kinds: ["server"] });
  server.isAlive = false;
  await clock.advance(41_000);
  expect(host.servers[0]).toMatchObject({
    state: "unresponsive",
    reason: "no answer to a ping within 10 s",
    restarts: 0,
  });
  expect((await nextEvent(events, "server")).status.state).toBe("unresponsive");
  server.isAlive = true;
  await clock.advance(41_000);
  expect(host.servers[0]).toMatchObject({ state: "ready", restarts: 0 });
  expect((await nextEvent(events, "server")).status.state).toBe("ready");
});

test("the result of a call shows that a server answers again", async () => {
  const { host, clock, server } = await makePinged();
  server.isAlive = false;
  await clock.advance(41_000);
  expect(stateOf(host)).toBe("unresponsive");
  expect(textOf(await host.callTool("s", "act"))).toBe("acted");
  expect(host.servers[0]).toMatchObject({ state: "ready" });
  expect(host.servers[0]).not.toHaveProperty("reason");
});

test("pingMs sets the interval, and 0 turns the check off", async () => {
  const often = await makePinged({ pingMs: 1_000 });
  await often.clock.advance(1_500);
  expect(often.server.pings).toBe(1);
  const never = await makePinged({ pingMs: 0 });
  await never.clock.advance(3_600_000);
  expect(never.server.pings).toBe(0);
  await expect(makePinged({ pingMs: -1 })).rejects.toThrow("pingMs: expected a number of at least 0");
});

/** A stdio server that writes the methods it receives to a file. */
const recorder = `
import { appendFileSync } from "node:fs";
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
const server = createServer({ name: "s", version: "1.0.0" }).tool("act", { run: () => "acted" });
process.stdin.on("data", (chunk) => {
  for (const line of String(chunk).split("\\n").filter(Boolean)) appendFileSync(process.argv[2], JSON.parse(line).method + "\\n");
});
await serveStdio(server);
`;

test.each([
  ["stateless", "server/discover"],
  ["stateful", "ping"],
])("a %s server over stdio is asked by %s", async (era, method) => {
  const folder = fileURLToPath(new URL("./fixtures/", import.meta.url));
  const script = join(folder, `recorder-${process.pid}-${era}.mjs`);
  await writeFile(script, recorder);
  const { rm } = await import("node:fs/promises");
  onTestFinished(() => rm(script, { force: true }));
  const heard = join(await makeFolder(), "heard");
  appendFileSync(heard, "");
  const server = { command: process.execPath, args: [script, heard], era };
  const host = await makeHost({ servers: { s: server }, pingMs: 50 });
  await host.start("s");
  const countOf = async () => (await readFile(heard, "utf8")).split("\n").filter((line) => line === method).length;
  const before = await countOf();
  await vi.waitFor(async () => expect(await countOf()).toBeGreaterThan(before + 1));
  expect(stateOf(host)).toBe("ready");
});

test("a stateless server over HTTP is never asked", async () => {
  const clock = createClock();
  const serving = serveHttp(greeter());
  const { url } = await serving.listen(0);
  onTestFinished(() => serving.close(0));
  let requests = 0;
  const via = () => (to: Parameters<typeof fetch>[0], init?: RequestInit) => {
    requests += 1;
    return fetch(to, init);
  };
  const host = await makeHost({ servers: { s: { url, era: "stateless" } }, clock, via: via as never });
  await host.start("s");
  const before = requests;
  await clock.advance(600_000);
  expect([requests - before, stateOf(host)]).toEqual([0, "ready"]);
});
