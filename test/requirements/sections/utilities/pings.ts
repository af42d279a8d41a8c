import { expect } from "vitest";
import { stateful, stateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { hold, wireServer } from "../../wire.ts";

/** Pings. */
export const pings: readonly Requirement[] = [
  {
    row: "J6",
    says: "a ping is answered with an empty result, also while calls run",
    on: stateful,
    async test(open) {
      const peer = await open({ server: wireServer });
      await hold(peer, "k", "held");
      expect(await peer.request("ping", {}, "p")).toEqual({ jsonrpc: "2.0", id: "p", result: {} });
      expect((await peer.requestExactly({ jsonrpc: "2.0", id: "q", method: "ping" })).result).toEqual({});
      expect((await peer.request("ping", { _meta: { "example.com/x": 1 } })).result).toEqual({});
      await peer.callTool("release", { keys: ["k"] });
    },
  },
  {
    row: "J6",
    says: "ping is an unknown method",
    on: stateless,
    async test(open) {
      const peer = await open();
      expect((await peer.request("ping")).error?.code).toBe(-32601);
    },
  },
];
