import { connect, type Link } from "portolan/client";
import { createServer } from "portolan/server";
import { connectInMemory, createClock } from "portolan/testing";
import { expect, test } from "vitest";

/** A link to a server that never answers. It can be opened any number of times. */
function createSilentLink() {
  let lost: (reason: Error) => void = () => {};
  const counted = { opened: 0, sent: [] as string[] };
  const waiting: ((reason: Error) => void)[] = [];
  const link: Link = {
    silenceMeans: "outage",
    async open(events) {
      counted.opened += 1;
      lost = (reason) => events.lost(reason);
    },
    exchange({ method }, { failed }) {
      counted.sent.push(method);
      waiting.push(failed);
    },
    cancel() {},
    notify() {},
    async close() {
      const reason = new Error("closed");
      for (const fail of waiting.splice(0)) fail(reason);
      lost(reason);
    },
  };
  return { link, counted };
}

test("an aborted connect does not open its link again", async () => {
  const { link, counted } = createSilentLink();
  const stop = new AbortController();
  const attempt = connect(link, { signal: stop.signal }).catch((thrown: Error) => thrown.name);
  while (counted.sent.length === 0) await turn();
  stop.abort();
  expect(await attempt).toBe("AbortError");
  await turn();
  expect(counted).toEqual({ opened: 1, sent: ["server/discover"] });
});

test("a connect that times out does not open its link again", async () => {
  const { link, counted } = createSilentLink();
  expect(await connect(link, { connectMs: 5 }).catch((thrown: Error) => thrown.name)).toBe("TimeoutError");
  await turn();
  expect(counted).toEqual({ opened: 1, sent: ["server/discover"] });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test.each(["auto", "2025-11-25", "2026-07-28"])("a closed connection leaves no timers: %s", async (era) => {
  const clock = createClock();
  const server = createServer({ name: "s", version: "1.0.0" }).tool("act", { run: () => "done" });
  const client = await connectInMemory(server, { era, clock });
  await client.callTool("act");
  await client.close();
  expect(clock.pending).toBe(0);
});
