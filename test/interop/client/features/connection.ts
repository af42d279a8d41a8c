import { expect } from "vitest";
import { journalOf, outcomeOf, type ServerFeature, textOf } from "../feature.ts";
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
    name: "requests of one's own",
    async check({ client }) {
      expect(await client.request("prompts/list")).toMatchObject({ prompts: [{ name: "greet" }] });
      await expect(client.request("example/nonesuch", { any: 1 })).rejects.toMatchObject({ code: -32601 });
    },
  },
  {
    name: "time-outs",
    async check(peer) {
      const call = peer.client.callTool("slow", { label: "late" }, { idleMs: 100 });
      await expect(call).rejects.toMatchObject({ name: "TimeoutError", code: "timeout", requestMayHaveRun: true });
      expect(await journalOf(peer, "late")).toEqual(["started late", "aborted late"]);
    },
  },
  {
    name: "closing with a call under way",
    async check(_, { open }) {
      const peer = await open();
      let call = Promise.resolve({ hasFailed: false, text: "" });
      await new Promise<void>((started) => {
        const onProgress = () => started();
        call = outcomeOf(peer.client.callTool("slow", { label: "left alone" }, { onProgress }));
      });
      await Promise.all([
        peer.client.close(),
        expect(call).resolves.toMatchObject({ hasFailed: true, text: expect.stringContaining("closed") }),
      ]);
      await expect(peer.client.callTool("echo", { text: "?" })).rejects.toMatchObject({ code: "connection-closed" });
      expect(isRunning(peer)).toBe(false);
    },
  },
  {
    name: "closing ends the server",
    async check(_, { open }) {
      const peer = await open();
      // It has asked something by then: servers that still wait for an answer do not leave.
      expect(textOf(await peer.client.callTool("sample", { text: "hello" }))).toContain("hello");
      await peer.client.close();
      expect(await peer.client.closed).toBeUndefined();
      expect(isRunning(peer)).toBe(false);
      // Nobody had to kill it.
      await peer.until(() => peer.stderr.includes("exit 0"));
      expect(peer.errors).toEqual([]);
    },
  },
];

function isRunning({ stderr }: Peer): boolean {
  const pid = Number(stderr[0]?.replace("pid ", ""));
  expect(pid).toBeGreaterThan(0);
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
