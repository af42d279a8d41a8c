import type { Channel } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { info } from "./peers.ts";

test("a client that does not read first loses progress and is then disconnected", async () => {
  const errors: unknown[] = [];
  const noisy = createServer(info, { onError: (error) => errors.push(error) }).tool("noise", {
    input: z.object({ n: z.number() }),
    run({ n }, ctx) {
      for (let step = 1; step <= n; step += 1) ctx.progress(step);
      return "done";
    },
  });
  const sent: unknown[] = [];
  let isClosed = false;
  let incoming: Parameters<Channel["open"]>[0] | undefined;
  const unread = new Promise<void>(() => {});
  const channel: Channel = {
    open: (owner) => {
      incoming = owner;
    },
    send: (message) => {
      sent.push(message);
      return unread;
    },
    close: async () => {
      isClosed = true;
      incoming?.closed();
    },
  };
  const serving = serveChannel(noisy, channel);
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    progressToken: 1,
  };
  const call = (id: number) =>
    incoming?.message({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "noise", arguments: { n: 5_000 }, _meta },
    });
  call(0);
  expect(sent.length).toBeLessThan(1_100);
  for (let id = 1; !isClosed && id < 30_000; id += 1) call(id);
  expect(isClosed).toBe(true);
  await serving.closed;
  expect(String(errors[0])).toContain("has not read");
});
