import type { JsonObject } from "portolan";
import { expect } from "vitest";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import type { Requirement } from "../../requirement.ts";
import { received } from "../../wire.ts";

function progressed(peer: RawPeer, token: string | number): (JsonObject | undefined)[] {
  const notified = peer.notifications
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => params);
  return notified.filter((params) => params?.["progressToken"] === token);
}

/** Progress of calls. */
export const progress: readonly Requirement[] = [
  {
    row: "J3",
    says: "tokens are returned with their type for their own call, and without a token no progress is sent",
    async test(open) {
      const peer = await open();
      const tokens = ["text", "7", 7, 0, ""];
      await Promise.all(
        tokens.map((progressToken, index) =>
          peer.callTool("progress", { steps: index + 1 }, { _meta: { progressToken, "example.com/kept": 1 } }),
        ),
      );
      for (const [index, token] of tokens.entries())
        expect(progressed(peer, token), String(token)).toHaveLength(index + 1);
      const before = peer.notifications.length;
      await peer.callTool("progress", { steps: 3 });
      await peer.callTool("progress", { steps: 3 }, { _meta: { progressToken: { no: "token" } } });
      await peer.callTool("progress", { steps: 3 }, { _meta: { progressToken: null } });
      await peer.settled();
      expect(peer.notifications).toHaveLength(before);
    },
  },
  {
    row: "J4",
    says: "progress increases, may be fractional, and is sent before the result only",
    async test(open, { revision }) {
      const peer = await open();
      await peer.request(
        "tools/call",
        { name: "progress", arguments: { steps: 3 }, _meta: { progressToken: "p" } },
        "call",
      );
      await peer.callTool("wait", { ms: 10 });
      const notified = [0.5, 1, 1.5].map((progress, index) => ({
        progressToken: "p",
        progress,
        total: 1.5,
        ...(revision !== "2024-11-05" && { message: `step ${index + 1}` }),
      }));
      expect(progressed(peer, "p")).toEqual(notified);
      const messages = received(peer);
      const result = messages.findIndex(({ id, method }) => id === "call" && method === undefined);
      const last = messages.findLastIndex(({ method }) => method === "notifications/progress");
      expect(last).toBeLessThan(result);
    },
  },
];
