import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { busyServer, childOf, textOf } from "../../wire.ts";

/** The end of a server process. */
export const ending: readonly Requirement[] = [
  {
    row: "B14",
    says: "at the end of its input the server answers running calls and exits with 0",
    async test(open) {
      const peer = await open();
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 50 } });
      childOf(peer).child.stdin.end();
      expect(textOf(await running)).toBe("done");
      expect(await childOf(peer).exited).toBe(0);
      expect(childOf(peer).stderr).toBe("");
    },
  },
  {
    row: "X-R16",
    says: "on SIGTERM the server completes running calls and exits with 0",
    async test(open, { revision }) {
      const peer = await open();
      const listening = isStateless(revision)
        ? peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, "listen")
        : undefined;
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 100 } });
      await peer.settled();
      childOf(peer).child.kill("SIGTERM");
      expect(textOf(await running)).toBe("done");
      if (listening) expect((await listening).result.resultType).toBe("complete");
      expect(await childOf(peer).exited).toBe(0);
      expect(childOf(peer).stderr).toBe("");
    },
  },
  {
    row: "X-T35",
    says: "the process ends with its client, although a timer is active",
    async test(open) {
      const peer = await open({ server: busyServer });
      const running = peer.request("tools/call", { name: "wait", arguments: { ms: 20 } });
      childOf(peer).child.stdin.end();
      expect(textOf(await running)).toBe("waited");
      expect(await childOf(peer).exited).toBe(0);
    },
  },
];
