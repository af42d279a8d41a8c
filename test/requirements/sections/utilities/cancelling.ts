import { expect } from "vitest";
import { stateful } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, hold, received, textOf, wireServer } from "../../wire.ts";

/** Cancelled requests. */
export const cancelling: readonly Requirement[] = [
  {
    row: "J5",
    says: "cancelling aborts the handler with the reason, and no response is sent",
    async test(open) {
      const peer = await open();
      await peer.callTool("aborted");
      peer.request("tools/call", { name: "wait", arguments: { ms: 60_000 } }, "long");
      await peer.settled();
      peer.notify("notifications/cancelled", { requestId: "long", reason: "the user left" });
      expect(JSON.parse(textOf(await peer.callTool("aborted")))).toEqual(["the user left"]);
      expect(answersTo(peer, "long")).toBe(0);
      expect(
        (await peer.request("tools/call", { name: "echo", arguments: { message: "free" } }, "long")).result.content[0]
          .text,
      ).toBe("free");
    },
  },
  {
    row: "J5",
    says: "cancelling a call cancels its request to the client",
    on: stateful,
    async test(open) {
      const peer = await open({ capabilities: { roots: {} } });
      peer.request("tools/call", { name: "ask_roots" }, "asking");
      const question = await peer.until(({ questions }) => questions[0]);
      peer.notify("notifications/cancelled", { requestId: "asking" });
      const { params } = await peer.notification("notifications/cancelled");
      expect(params).toMatchObject({ requestId: question.id });
      peer.send({ jsonrpc: "2.0", id: question.id, result: { roots: [] } });
      await peer.settled();
      expect(answersTo(peer, "asking")).toBe(0);
    },
  },
  {
    row: "X-R08",
    says: "requests with the ids 0 and the empty string can be cancelled, and only by exactly that id",
    async test(open) {
      const peer = await open({ server: wireServer });
      for (const [id, other] of [
        [0, "0"],
        ["", 0],
        ["7", 7],
      ] as const) {
        await hold(peer, `k${typeof id}${id}`, id);
        peer.notify("notifications/cancelled", { requestId: other });
        await peer.settled();
        expect(JSON.parse(textOf(await peer.callTool("aborts")))).not.toHaveProperty(`k${typeof id}${id}`);
        peer.notify("notifications/cancelled", { requestId: id });
        peer.notify("notifications/cancelled", { requestId: id });
        expect(JSON.parse(textOf(await peer.callTool("aborts")))).toHaveProperty(`k${typeof id}${id}`, 1);
        expect(answersTo(peer, id)).toBe(0);
      }
    },
  },
  {
    row: "X-R08",
    says: "a cancel of an answered or unknown request is ignored",
    async test(open) {
      const peer = await open({ server: wireServer });
      await peer.request("tools/call", { name: "any" }, "done");
      const before = received(peer).length;
      for (const params of [
        { requestId: "done" },
        { requestId: "done", reason: 5 },
        { requestId: "nobody" },
        { requestId: null },
        {},
      ]) {
        peer.notify("notifications/cancelled", params);
      }
      await peer.settled();
      expect(received(peer)).toHaveLength(before + 1);
      expect(JSON.parse(textOf(await peer.callTool("aborts")))).toEqual({});
    },
  },
  {
    row: "X-T28",
    says: "a handshake is answered although its sender cancels it",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "x", version: "1" } };
      const response = peer.request("initialize", params, "init");
      peer.notify("notifications/cancelled", { requestId: "init" });
      expect((await response).result.protocolVersion).toBe(revision);
      expect((await peer.request("tools/list")).result.tools).toBeDefined();
    },
  },
];
