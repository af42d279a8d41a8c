import { expect } from "vitest";
import type { PeerClient, Progress } from "../../peers/clients/peer.d.mts";
import { type Column, type Feature, textOf } from "../feature.ts";
import { type Relay, startRelay } from "../relay.ts";

const ticks = "counter://ticks";
const until = "2025-11-25";

/** Streams that are interrupted and resumed; this needs sessions. */
export const resumptionFeatures: Feature[] = [
  {
    name: "resumption: of an interrupted call",
    over: "http",
    until,
    async check(_, column) {
      const { peer, relay } = await openThroughRelay(column);
      const seen: number[] = [];
      let start = () => {};
      const started = new Promise<void>((resolve) => {
        start = resolve;
      });
      const onProgress = ({ progress }: Progress) => {
        seen.push(progress);
        start();
      };
      const call = peer.callTool("progress", { steps: 1 }, { onProgress });
      await started;
      relay.cut();
      await retry(() => peer.callTool("release"));
      expect(textOf(await call)).toBe("done");
      expect(seen).toEqual([1]);
      await peer.close();
    },
  },
  {
    name: "resumption: of the session's stream",
    over: "http",
    until,
    async check(_, column) {
      const { peer, relay } = await openThroughRelay(column);
      const heard = () => peer.heard.filter(({ params }) => params?.uri === ticks).length;
      await peer.follow(ticks);
      await peer.callTool("tick");
      await peer.hears("notifications/resources/updated");
      relay.cut();
      await retry(() => peer.callTool("tick"));
      await peer.hears("notifications/resources/updated", () => heard() > 1);
      await peer.close();
    },
  },
];

async function openThroughRelay({ open }: Column): Promise<{ peer: PeerClient; relay: Relay }> {
  let relay: Relay | undefined;
  const via = async (url: string) => {
    relay = await startRelay(url);
    return relay.url;
  };
  const peer = await open({ via });
  return { peer, relay: relay! };
}

/** Retries while the client still uses a connection from before the cut. */
async function retry(call: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      await call();
      return;
    } catch (error) {
      expect(String(error)).toContain("fetch failed");
    }
  }
}
