import { connect } from "portolan/client";
import { expect, test } from "vitest";
import { begin, StatelessPeer } from "../http/peer.ts";
import { closing, textOf, until } from "../http-client/kit.ts";
import { Forked, ServerProcess } from "./processes.ts";

const half = 2_500;
const filter = { notifications: { toolsListChanged: true } };

/** Starts two processes that together hold the greatest allowed number of streams. */
async function fill(server: ServerProcess): Promise<Forked[]> {
  const holders = ["listen", "get"].map((kind) => new Forked("listeners.mjs", [server.url, kind, String(half)]));
  for (const holder of holders) await holder.received(({ opened }) => opened === half);
  return holders;
}

test("5,000 streams stay open, another is refused, and calls are served", async () => {
  const server = await ServerProcess.start({ sessions: { perMinute: 10_000 } });
  const holders = await fill(server);

  const peer = new StatelessPeer(server.url);
  const session = await begin(server.url, "2025-11-25");
  for (const refused of [await peer.request("subscriptions/listen", filter), await session.get()]) {
    expect([refused.status, refused.isStream]).toEqual([503, false]);
    expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
    expect((await refused.json()).error?.code).toBe(-31429);
  }
  for (const era of ["stateless", "stateful"]) {
    const client = closing(await connect(server.url, { era }));
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
    expect(results.map(textOf)).toEqual(texts);
    // No stream is left for progress; the result arrives anyway.
    expect(textOf(await client.callTool("count", { to: 3 }))).toBe("counted to 3");
  }

  await server.ask("publish", { topic: "tools/list_changed", payload: {} });
  for (const holder of holders) {
    await until(async () => (await holder.ask("counts"))["changed"] === half);
    expect(await holder.ask("counts")).toEqual({ changed: half, ended: 0 });
  }

  await holders[0]?.kill();
  await until(async () => (await peer.request("subscriptions/listen", filter)).isStream);
  expect(await holders[1]?.ask("counts")).toEqual({ changed: half, ended: 0 });
});
