import type { CallOptions } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { type ServerFeature, textOf, untilJournal } from "../feature.ts";
import type { Peer } from "../peer.ts";

export const connectionFeatures: ServerFeature[] = [
  {
    name: "negotiation",
    async check({ client }, { server, version, era }) {
      expect(client.server).toMatchObject({ version, era, instructions: "One of everything." });
      expect(client.server.info).toMatchObject({ name: server, version: "1.2.3" });
      const offered = Object.keys(client.server.capabilities).sort();
      expect(offered).toEqual(["completions", "logging", "prompts", "resources", "tools"]);
    },
  },
  {
    name: "ping",
    async check({ client }) {
      expect(await client.ping()).toBeUndefined();
    },
  },
  {
    name: "custom requests",
    async check({ client }) {
      expect(await client.request("prompts/list")).toMatchObject({ prompts: [{ name: "greet" }] });
      await expect(client.request("example/nonesuch", { any: 1 })).rejects.toMatchObject({ code: -32601 });
    },
  },
  {
    name: "timeouts",
    async check(_, { open }) {
      const clock = createClock();
      const peer = await open({ clock });
      const { call } = await callSlowly(peer, "late", { idleMs: 1_000 });
      const refused = { name: "TimeoutError", code: "timeout", requestMayHaveRun: true };
      await Promise.all([expect(call).rejects.toMatchObject(refused), clock.advance(1_000)]);
      await untilJournal(peer, "late", ["started late", "aborted late"]);
      await peer.client.close();
    },
  },
  {
    name: "closing during a call",
    async check(_, { open, transport }) {
      const peer = await open();
      const { client } = peer;
      const watch = await client.watch({ prompts: true });
      let isWatching = true;
      const change = watch[Symbol.asyncIterator]().next();
      const ended = Promise.allSettled([change]).then(() => {
        isWatching = false;
      });
      const { call } = await callSlowly(peer, "left alone");
      await Promise.all([
        client.close(),
        expect(call).rejects.toMatchObject({ code: "connection-closed", requestMayHaveRun: true }),
      ]);
      expect(isWatching).toBe(false);
      await ended;
      expect(await client.closed).toBeUndefined();
      await expect(client.callTool("echo", { text: "?" })).rejects.toMatchObject({ code: "connection-closed" });
      if (transport === "stdio") expect(isRunning(peer)).toBe(false);
    },
  },
  {
    name: "killed server",
    over: "stdio",
    async check(_, { open }) {
      const peer = await open();
      const { client } = peer;
      const watch = await client.watch({ prompts: true });
      const change = watch[Symbol.asyncIterator]().next();
      const { call } = await callSlowly(peer, "killed");
      process.kill(pidOf(peer), "SIGKILL");
      await expect(call).rejects.toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
      await expect(change).rejects.toThrow("SIGKILL");
      expect((await client.closed)?.message).toContain("SIGKILL");
      await client.close();
    },
  },
  {
    name: "closing ends the server",
    over: "stdio",
    async check(_, { open }) {
      const peer = await open();
      // The server must have its answers: servers that wait for one do not exit.
      expect(textOf(await peer.client.callTool("sample", { text: "hello" }))).toContain("hello");
      await peer.client.close();
      expect(await peer.client.closed).toBeUndefined();
      expect(isRunning(peer)).toBe(false);
      // The server exited without a signal.
      await peer.until(() => peer.stderr.includes("exit 0"));
      expect(peer.errors).toEqual([]);
    },
  },
];

/** Starts a call that runs until it is cancelled; resolves when the handler has started. */
async function callSlowly({ client }: Peer, label: string, options: CallOptions = {}) {
  let call: Promise<unknown> = Promise.resolve();
  await new Promise<void>((started) => {
    call = client.callTool("slow", { label }, { ...options, onProgress: () => started() });
    // Prevents an unhandled rejection; the test still sees the rejection of `call`.
    call.catch(() => {});
  });
  return { call };
}

function isRunning(peer: Peer): boolean {
  const pid = pidOf(peer);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function pidOf({ stderr }: Peer): number {
  const pid = Number(stderr[0]?.replace("pid ", ""));
  expect(pid).toBeGreaterThan(0);
  return pid;
}
