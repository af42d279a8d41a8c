import { expect } from "vitest";
import type { Progress } from "../../peers/clients/peer.d.mts";
import { type Feature, textOf, untilJournal } from "../feature.ts";

export const signalFeatures: Feature[] = [
  {
    name: "progress",
    async check(peer, { version }) {
      const seen: Progress[] = [];
      const onProgress = (progress: Progress) => {
        seen.push(progress);
        if (progress.progress === 3) void peer.callTool("release");
      };
      expect(textOf(await peer.callTool("progress", { steps: 3 }, { onProgress }))).toBe("done");
      const messages = version < "2025-03-26" ? {} : undefined;
      expect(seen).toEqual(
        [1, 2, 3].map((n) => ({ progress: n, total: 3, ...(messages ?? { message: `step ${n}` }) })),
      );
    },
  },
  {
    name: "cancellation",
    async check(peer) {
      const controller = new AbortController();
      const cancelled = peer.callTool(
        "slow",
        { label: "cancel-me" },
        { signal: controller.signal, onProgress: () => controller.abort(new Error("enough")) },
      );
      const untouched = peer.callTool("progress", { steps: 1 });
      await expect(cancelled).rejects.toThrow("enough");
      await untilJournal(peer, "cancel-me", ["started cancel-me", "aborted cancel-me"]);
      await peer.callTool("release");
      expect(textOf(await untouched)).toBe("done");
    },
  },
  {
    name: "log level",
    async check(peer) {
      const levelsOf = (label: string) =>
        peer.heard.flatMap(({ params }) => (String(params?.data).startsWith(`${label} `) ? [params.level] : []));
      await peer.setLogLevel("warning");
      await peer.callTool("log", { label: "quiet" });
      await peer.hears("notifications/message", ({ data }) => data === "quiet error");
      expect(levelsOf("quiet")).toEqual(["warning", "error"]);
      await peer.setLogLevel("debug");
      await peer.callTool("log", { label: "loud" });
      await peer.hears("notifications/message", ({ data }) => data === "loud error");
      expect(levelsOf("loud")).toEqual(["debug", "info", "warning", "error"]);
    },
  },
  {
    name: "list changes",
    async check(peer) {
      const { stop } = await peer.followLists();
      const count = () => peer.heard.filter(({ method }) => method.endsWith("/list_changed")).length;
      const before = count();
      await peer.callTool("grow");
      for (const list of ["tools", "prompts", "resources"]) await peer.hears(`notifications/${list}/list_changed`);
      while (count() < before + 3) await peer.callTool("text", { text: "are they here?" });
      expect(count()).toBe(before + 3);
      expect(textOf(await peer.callTool("grown"))).toBe("I am new");
      expect((await peer.listTools()).all.map(({ name }) => name)).toContain("grown");
      expect((await peer.listPrompts()).all.map(({ name }) => name)).toContain("grown");
      expect((await peer.readResource("grown://new")).contents[0].text).toBe("I am new");
      await peer.callTool("shrink");
      await expect(peer.callTool("grown")).rejects.toMatchObject({ code: -32602 });
      while (count() < before + 6) await peer.callTool("text", { text: "are they here?" });
      expect(count()).toBe(before + 6);
      await stop();
    },
  },
  {
    name: "ping",
    until: "2025-11-25",
    async check(peer) {
      expect(await peer.ping()).toEqual({});
    },
  },
  {
    name: "only messages on the wire",
    async check(peer) {
      await peer.callTool("noise");
      expect(textOf(await peer.callTool("text", { text: "after the noise" }))).toBe("after the noise");
      // The official clients resume the stream of an aborted call, and finally request a second session stream.
      const aboutStreams = /SSE stream|reconnection/;
      expect(peer.errors.filter((error) => !aboutStreams.test(error))).toEqual([]);
    },
  },
  {
    name: "closing ends the server",
    over: "stdio",
    async check(_, { open }) {
      const brief = await open();
      expect(textOf(await brief.callTool("text", { text: "hello" }))).toBe("hello");
      await brief.close();
      expect(await brief.exit).toEqual({ code: 0, signal: null, wasKilled: false });
    },
  },
];
