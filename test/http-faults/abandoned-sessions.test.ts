import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { plainHeaders, send, toInitialize } from "../http/kit.ts";
import { ServerProcess } from "./processes.ts";

const idleMs = 10 * 60_000;

/** Begins a session that is never used again; resolves to its id. */
function abandon(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers: plainHeaders as { [name: string]: string } });
    sent.on("response", async (response) => {
      await text(response);
      resolve(String(response.headers["mcp-session-id"]));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(toInitialize("2025-11-25", { experimental: { filler: "x".repeat(1_000) } })));
  });
}

async function abandonMany(url: string, count: number): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const ids = await Promise.all(Array.from({ length: count }, () => abandon(url, agent)));
  agent.destroy();
  return ids;
}

test("10,000 abandoned sessions are removed from memory after they expire", async () => {
  const count = 10_000;
  const server = await ServerProcess.start({ sessions: { max: 2 * count, perMinute: 10 * count, idleMs } });
  // Memory for modules that are loaded and compiled once does not count.
  await abandonMany(server.url, 500);
  const before = await server.heapUsed();
  const ids = await abandonMany(server.url, count);
  expect(new Set(ids).size).toBe(count);
  const added = (await server.heapUsed()) - before;
  expect(added).toBeGreaterThan(count * 1_000);
  await server.ask("advance", { ms: idleMs + 1_000 });
  const last = { ...plainHeaders, "mcp-session-id": ids.at(-1) };
  const { status } = await send(server.url, { headers: last, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
  expect(status).toBe(404);
  // An idle server does no clean-up: expired sessions are removed while new ones begin.
  let left = added;
  for (let round = 0; round < 20 && left > added / 10; round += 1) {
    await abandonMany(server.url, 10);
    left = (await server.heapUsed()) - before;
  }
  expect(left).toBeLessThan(added / 10);
});
