import type { Progress } from "portolan/client";
import { expect } from "vitest";
import type { Data } from "../../../peers/clients/peer.d.mts";
import { journalOf, type ServerFeature, textOf, untilJournal } from "../feature.ts";
import type { Peer } from "../peer.ts";

export const signalFeatures: ServerFeature[] = [
  {
    name: "progress",
    async check({ client }) {
      const steps = 100;
      const seen: Progress[] = [];
      const onProgress = (progress: Progress) => seen.push(progress);
      expect(textOf(await client.callTool("progress", { steps }, { onProgress }))).toBe("done");
      const expected = Array.from({ length: steps }, (_, index) => index + 1);
      expect(seen).toEqual(expected.map((step) => ({ progress: step, total: steps, message: `step ${step}` })));
    },
  },
  {
    name: "progress: of two calls at once",
    async check({ client }) {
      const follow = async (steps: number) => {
        const totals = new Set<number | undefined>();
        await client.callTool("progress", { steps }, { onProgress: ({ total }) => totals.add(total) });
        return [...totals];
      };
      expect(await Promise.all([follow(5), follow(7)])).toEqual([[5], [7]]);
    },
  },
  {
    name: "cancellation",
    async check(peer) {
      const { client } = peer;
      const controller = new AbortController();
      const options = {
        signal: controller.signal,
        onProgress: () => controller.abort(new Error("enough")),
      };
      const cancelled = client.callTool("slow", { label: "cancel-me" }, options);
      const untouched = client.callTool("echo", { text: "untouched" });
      await expect(cancelled).rejects.toMatchObject({
        name: "AbortError",
        code: "cancelled",
        cause: { message: "enough" },
        requestMayHaveRun: true,
      });
      expect(textOf(await untouched)).toBe("untouched");
      await untilJournal(peer, "cancel-me", ["started cancel-me", "aborted cancel-me"]);
      const refused = client.callTool("slow", { label: "never sent" }, { signal: AbortSignal.abort() });
      await expect(refused).rejects.toMatchObject({ name: "AbortError", requestMayHaveRun: false });
      expect(await journalOf(peer, "never sent")).toEqual([]);
    },
  },
  {
    name: "log",
    async check(peer) {
      await peer.client.setLogLevel("debug");
      await peer.client.callTool("log", { label: "loud" });
      await peer.until(() => levelsOf(peer, "loud").length === 4);
      expect(levelsOf(peer, "loud")).toEqual(["debug", "info", "warning", "error"]);
    },
  },
  {
    name: "log: level",
    async check(peer) {
      await peer.client.setLogLevel("warning");
      await peer.client.callTool("log", { label: "quiet" });
      await peer.until(() => levelsOf(peer, "quiet").includes("error"));
      expect(levelsOf(peer, "quiet")).toEqual(["warning", "error"]);
    },
  },
];

function levelsOf({ logs }: Peer, label: string): string[] {
  const isOurs = ({ data }: Data) => String(data?.message ?? data).startsWith(`${label} `);
  return logs.filter(isOurs).map(({ level }) => level);
}
