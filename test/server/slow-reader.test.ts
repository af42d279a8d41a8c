import type { Channel } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { describe, expect, test } from "vitest";
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
      params: { name: "noise", arguments: { n: 15_000 }, _meta },
    });
  call(0);
  expect(sent.length).toBeLessThan(10_100);
  for (let id = 1; !isClosed && id < 30_000; id += 1) call(id);
  expect(isClosed).toBe(true);
  await serving.closed;
  expect(String(errors[0])).toContain("has not read");
});

/** A channel whose peer reads only when the test lets it, and what was sent on it. */
function makeSlowChannel(writesText: boolean) {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  const sent: any[] = [];
  let release: () => void = () => {};
  let unread: Promise<void>;
  const wait = () => {
    unread = new Promise((resolve) => {
      release = resolve;
    });
  };
  wait();
  let incoming: Parameters<Channel["open"]>[0] | undefined;
  let isClosed = false;
  const channel: Channel = {
    writesText,
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
  const call = (id: number, name: string) =>
    incoming?.message({ jsonrpc: "2.0", id, method: "tools/call", params: { name, _meta } });
  const readAll = async () => {
    release();
    wait();
    await new Promise(setImmediate);
  };
  return { channel, sent, call, readAll, isClosed: () => isClosed };
}

const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/logLevel": "debug",
  progressToken: 1,
};

describe.each([true, false])("a client that leaves large answers unread (channel with text: %s)", (writesText) => {
  const text = "x".repeat(10_000_000);
  const server = createServer(info)
    .tool("large", { run: () => text })
    .tool("log", {
      run(_, ctx) {
        ctx.log("info", text);
        return "logged";
      },
    });
  const sizeOf = (message: object) => JSON.stringify(message).length;

  test("gets errors instead of further answers, and answers again once it has read", async () => {
    const { channel, sent, call, readAll, isClosed } = makeSlowChannel(writesText);
    const serving = serveChannel(server, channel);
    for (let id = 0; id < 60; id += 1) call(id, "large");
    const bytes = sent.reduce((sum, message) => sum + sizeOf(message), 0);
    expect(bytes).toBeLessThan(70 * 1024 * 1024);
    const refused = sent.filter(({ error }) => error);
    expect(sent).toHaveLength(60);
    expect(refused).toHaveLength(54);
    expect(refused[0]).toMatchObject({ id: 6, error: { code: -31429, message: expect.stringContaining("dropped") } });
    await readAll();
    call(100, "large");
    expect(sizeOf(sent.at(-1))).toBeGreaterThan(text.length);
    expect(isClosed()).toBe(false);
    await serving.close();
  });

  test("loses log messages first", async () => {
    const { channel, sent, call } = makeSlowChannel(writesText);
    const serving = serveChannel(server, channel);
    call(0, "log");
    for (let id = 1; id < 10; id += 1) call(id, "log");
    expect(sent.filter(({ method }) => method === "notifications/message")).toHaveLength(1);
    expect(sent.filter((message) => "id" in message)).toHaveLength(10);
    await serving.close();
  });
});
