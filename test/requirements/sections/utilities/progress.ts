import type { JsonObject } from "portolan";
import { expect } from "vitest";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import type { Requirement } from "../../requirement.ts";
import { received } from "../../wire.ts";

function progressed(peer: RawPeer, token: string | number): (JsonObject | undefined)[] {
  const told = peer.notifications
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => params);
  return told.filter((params) => params?.["progressToken"] === token);
}

/** Progress of calls. */
export const progress: readonly Requirement[] = [
  {
    row: "J3",
    says: "tokens come back with their type, each with its own call, and without one nothing is told",
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
    says: "values grow, fractions pass, and all is told before the result and nothing after",
    async test(open, { revision }) {
      const peer = await open();
      await peer.request(
        "tools/call",
        { name: "progress", arguments: { steps: 3 }, _meta: { progressToken: "p" } },
        "call",
      );
      await peer.callTool("wait", { ms: 10 });
      const told = [0.5, 1, 1.5].map((progress, index) => ({
        progressToken: "p",
        progress,
        total: 1.5,
        ...(revision !== "2024-11-05" && { message: `step ${index + 1}` }),
      }));
      expect(progressed(peer, "p")).toEqual(told);
      const messages = received(peer);
      const result = messages.findIndex(({ id, method }) => id === "call" && method === undefined);
      const last = messages.findLastIndex(({ method }) => method === "notifications/progress");
      expect(last).toBeLessThan(result);
    },
  },
];
